"""How does a service send requests to the Kubernetes API for as long as it runs?

Connections are kept and shared. The files of the credentials are looked at before each request: a renewed certificate
or token is used at once, by new connections; requests under way end on the old ones. Everything is bounded: the time of
an answer, its size, and the length of a line of a watch.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from nodenet import __version__
from nodenet.core.errors import NodenetError, Unavailable
from nodenet.core.hosted_services.kubeconfig import Access
from nodenet.core.persistent_ips.model import ApiAway, Conflict, Expired, Forbidden, NotFound, TooLarge
from nodenet.core.value import frozen
from nodenet.edge.kubernetes import credentials
from nodenet.edge.kubernetes.http import HttpError, HttpPool, TooLong

# What does an answer of the Kubernetes API mean? Its status code, and the Status object that comes with an error.
#
# https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/

LONGEST_REASON = 300
UNPROCESSABLE = 422
ERRORS: Mapping[int, type[NodenetError]] = {
    401: Forbidden,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Expired,
}
REMEDIES: Mapping[type[NodenetError], str] = {
    Forbidden: "Apply the manifests of /usr/share/nodenet/cluster, and look at the token",
    ApiAway: "Look at the API server; it is asked again",
}


@frozen
class Answer:
    """One answer; *pause*: its header Retry-After."""

    status: int
    content: bytes
    pause: str = ""

    @property
    def document(self) -> Any:  # noqa: ANN401
        """The JSON document of a success. Raises what ``error`` returns, ApiAway for what is not an object."""
        if not 200 <= self.status < 300:
            raise self.error("The API refuses a request")
        try:
            found = json.loads(self.content)
        except (ValueError, RecursionError) as error:
            raise ApiAway("The API's answer is not JSON", remedy=REMEDIES[ApiAway]) from error
        if not isinstance(found, dict):
            raise ApiAway("The API's answer is not an object", remedy=REMEDIES[ApiAway])
        return found

    def retry_after(self, most: float) -> float:
        """Return the seconds after which the request may be sent again, *most* at most."""
        return min(float(self.pause) if self.pause.isascii() and self.pause.isdigit() else 1.0, most)

    def error(self, what: str, others: Mapping[int, type[NodenetError]] | None = None) -> NodenetError:
        """Return the error that this answer is; *others*: status codes that mean another one here."""
        kind = {**ERRORS, **(others or {})}.get(self.status)
        if kind is None:
            # A request that is malformed stays so: not ApiAway, which is tried again.
            kind = Forbidden if 400 <= self.status < 500 and self.status not in (408, 429) else ApiAway
        return kind(f"{what}: {self._reason()} (status {self.status})", remedy=REMEDIES.get(kind, ""))

    def _reason(self) -> str:
        try:
            found = json.loads(self.content)
            text = found["message"] if isinstance(found["message"], str) else ""
        except (ValueError, LookupError, TypeError, RecursionError):  # no JSON, or no Status object
            text = self.content[:LONGEST_REASON].decode(errors="replace")
        return " ".join(text.split())[:LONGEST_REASON] or "no reason is given"


def event_error(event: Mapping[str, Any]) -> NodenetError | None:
    """Return the error that an event of a watch reports, None for any other event."""
    if event.get("type") != "ERROR":
        return None
    status = event.get("object")
    status = status if isinstance(status, Mapping) else {}
    code = status.get("code")
    kind = Expired if code == 410 else ApiAway
    return kind(f"The API ends a watch: {str(status.get('message', 'no reason is given'))[:LONGEST_REASON]}")


# How is a request sent?

ANSWER_SECONDS = 10.0
WATCH_SECONDS = 300
"""After so long the server ends a watch, and the next one goes on from its version."""
MOST_BYTES = 16 << 20
"""A thousand claims as controllers make them have two megabytes. Other text may take four times that in memory."""
MOST_WATCH_BYTES = 1 << 40
"""A watch has no length; it ends by time."""
LINE_BYTES = 4 << 20
"""etcd keeps no object of more than 1.5 MiB."""
TOO_MANY_REQUESTS = 429
LONGEST_PAUSE, PAUSES = 2.0, 3
"""How long and how often a request waits that the API asks to send later (Retry-After, RFC 9110)."""
FAILURES = (HttpError, OSError, EOFError, ValueError, RecursionError)
"""``ssl.SSLError`` is an OSError, and so is TimeoutError."""
_Stamp = tuple[tuple[int, int, int] | None, ...]


@dataclass(slots=True)
class _Connections:
    """The connections with one state of the credentials."""

    pool: HttpPool
    access: Access
    stamp: _Stamp
    users: int = 0
    retired: bool = False


class Session:
    """Requests to one API server."""

    def __init__(
        self,
        kubeconfig: str,
        weak: Callable[[tuple[str, ...]], None],
        program: str = "nodenet-ipam",
        table: str = "ipam",
    ) -> None:
        """*kubeconfig*: its path, empty for the usual ones. *weak* gets its weaknesses whenever it is read.

        *program*: its name, by which the API's logs and audits know it. *table*: as in ``credentials.load``.
        """
        self._program, self._table = program, table
        self._paths = [kubeconfig] if kubeconfig else list(credentials.USUAL)
        self._kubeconfig = kubeconfig
        self._weak = weak
        self._connections: _Connections | None = None
        self.requests = 0
        """How many requests were sent."""

    async def request(
        self,
        method: str,
        path: str,
        parameters: Mapping[str, str] | None = None,
        *,
        body: object = None,
        kind: str = "application/json",
    ) -> Answer:
        """Return the answer, whatever its status is; *kind*: the media type of *body*. Raises ApiAway, TooLarge."""
        target = f"{path}?{urlencode(parameters)}" if parameters else path
        content = None if body is None else json.dumps(body).encode()
        try:
            async with asyncio.timeout(ANSWER_SECONDS), self._borrowed() as connections:
                for pause in range(PAUSES + 1):
                    self.requests += 1
                    head, found = await connections.pool.request(method, target, content, kind, most=MOST_BYTES)
                    if head.status == 401:
                        self._retire(connections)  # with the files as they are by then, the next one may be accepted
                    answer = Answer(head.status, found, head.fields.get("retry-after", ""))
                    if answer.status != TOO_MANY_REQUESTS or pause == PAUSES:
                        return answer
                    await asyncio.sleep(answer.retry_after(LONGEST_PAUSE))
        except TimeoutError as error:
            raise ApiAway(f"The API does not answer {method} {path} within {ANSWER_SECONDS:g} s") from error
        except FAILURES as error:
            raise _away(f"{method} {path}", error) from error
        raise AssertionError("unreachable")  # for the type checker: the last round returns

    async def watch(self, path: str, parameters: Mapping[str, str]) -> AsyncIterator[Answer | Mapping[str, Any]]:
        """Yield the events of a watch until the server ends it; an Answer, and nothing else, for another status.

        Raises ApiAway.
        """
        asked = {**parameters, "watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(WATCH_SECONDS)}
        target = f"{path}?{urlencode(asked)}"
        try:
            async with self._borrowed() as connections:
                self.requests += 1
                async with connections.pool.stream(target, most=MOST_WATCH_BYTES) as (head, parts):
                    if head.status != 200:
                        content = b"".join([part async for part in parts])[:LINE_BYTES]
                        yield Answer(head.status, content, head.fields.get("retry-after", ""))
                        return
                    async for line in lines_of(parts):
                        yield json.loads(line)
        except FAILURES as error:
            raise _away(f"the watch of {path}", error) from error

    async def close(self) -> None:
        """Close all connections."""
        if self._connections is not None:
            self._retire(self._connections)

    @contextlib.asynccontextmanager
    async def _borrowed(self) -> AsyncIterator[_Connections]:
        """Lend the connections with the credentials as they are now. Raises ApiAway."""
        if self._connections is not None and self._connections.stamp != self._stamp(self._connections.access):
            self._retire(self._connections)
        if self._connections is None:
            self._connections = self._open()
        connections = self._connections
        connections.users += 1
        try:
            yield connections
        finally:
            connections.users -= 1
            if connections.retired and not connections.users:
                connections.pool.close()

    def _retire(self, connections: _Connections) -> None:
        connections.retired = True
        if not connections.users:
            connections.pool.close()
        if self._connections is connections:
            self._connections = None

    def _open(self) -> _Connections:
        try:
            access, weaknesses = credentials.load(self._kubeconfig, self._table)
            self._weak(weaknesses)
            bearer, context = credentials.token(access), credentials.context(access)
        except Unavailable as error:
            raise ApiAway(error.cause, remedy=error.remedy) from error
        fields = {
            "Accept": "application/json",
            "User-Agent": f"{self._program}/{__version__}",
            **({"Authorization": f"Bearer {bearer}"} if bearer else {}),
        }
        pool = HttpPool(access.server, context, fields, access.server_name)
        return _Connections(pool, access, self._stamp(access))

    def _stamp(self, access: Access) -> _Stamp:
        """Return the state of each file of the credentials: another one means that it was replaced or written."""
        parts = (access.ca, access.certificate, access.key, access.token)
        files = [str(part.file) for part in parts if part is not None and part.file is not None]
        return tuple(map(_state, [*self._paths, *files]))


async def lines_of(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the lines of a watch. The limit holds for the reads alone: what takes the lines may take its time."""
    rest = bytearray()
    end = asyncio.get_running_loop().time() + WATCH_SECONDS + ANSWER_SECONDS
    while True:
        async with asyncio.timeout_at(end):
            part = await anext(parts, None)
        if part is None:
            return
        rest += part
        *lines, last = rest.split(b"\n")
        rest = bytearray(last)
        for line in lines:
            yield bytes(line)
        if len(rest) > LINE_BYTES:
            raise ValueError(f"a line is longer than {LINE_BYTES} bytes")


def _state(path: str) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116  (before every request)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def _away(what: str, error: Exception) -> ApiAway:
    text = " ".join(str(error).split())[:200] or type(error).__name__
    if isinstance(error, EOFError):
        text = "the connection was closed"
    kind = TooLarge if isinstance(error, TooLong) else ApiAway
    return kind(f"The API does not answer {what}: {text}")
