"""How does a service send requests to the Kubernetes API for as long as it runs? (httpx)

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
from dataclasses import dataclass, field
from typing import Any

import httpx

from nodenet import __version__
from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services.kubeconfig import Access
from nodenet.core.persistent_ips.api import ApiAway
from nodenet.edge.kubernetes import credentials
from nodenet.edge.kubernetes.answers import Answer

CONNECT_SECONDS, ANSWER_SECONDS = 5.0, 10.0
WATCH_SECONDS = 300
"""After so long the server ends a watch, and the next one goes on from its version."""
MOST_BYTES = 64 << 20
LINE_BYTES = 4 << 20
"""etcd keeps no object of more than 1.5 MiB."""
CONNECTIONS = 12
"""More of them make no request faster: each costs a TLS handshake, and the API answers in a few milliseconds."""
TOO_MANY_REQUESTS = 429
LONGEST_PAUSE, PAUSES = 2.0, 3
"""How long and how often a request waits that the API asks to send later (Retry-After, RFC 9110)."""
FAILURES = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError, ValueError, RecursionError)
_Stamp = tuple[tuple[int, int, int] | None, ...]


@dataclass(slots=True)
class _Connections:
    """The connections with one state of the credentials."""

    client: Any
    access: Access
    stamp: _Stamp
    users: int = 0
    retired: bool = False
    extensions: dict[str, Any] = field(default_factory=dict)


class Session:
    """Requests to one API server."""

    def __init__(self, kubeconfig: str, weak: Callable[[tuple[str, ...]], None]) -> None:
        """*kubeconfig*: its path, empty for the usual ones. *weak* gets its weaknesses whenever it is read."""
        self._paths = [kubeconfig] if kubeconfig else list(credentials.USUAL)
        self._kubeconfig = kubeconfig
        self._weak = weak
        self._connections: _Connections | None = None
        self._retired: list[_Connections] = []
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
        """Return the answer, whatever its status is; *kind*: the media type of *body*. Raises ApiAway."""
        content = None if body is None else json.dumps(body).encode()
        headers = {} if body is None else {"Content-Type": kind}
        try:
            async with asyncio.timeout(ANSWER_SECONDS), self._borrowed() as connections:
                for pause in range(PAUSES + 1):
                    self.requests += 1
                    request = connections.client.build_request(
                        method, path, params=parameters, content=content, headers=headers,
                        extensions=connections.extensions,
                    )  # fmt: skip
                    answer = await self._answer(connections, request)
                    if answer.status != TOO_MANY_REQUESTS or pause == PAUSES:
                        return answer
                    await asyncio.sleep(answer.retry_after(LONGEST_PAUSE))
        except TimeoutError as error:
            raise ApiAway(f"The API does not answer {method} {path} within {ANSWER_SECONDS:g} s") from error
        except FAILURES as error:
            raise _away(f"{method} {path}", error) from error
        raise AssertionError("unreachable")  # for the type checker: the last round returns

    async def _answer(self, connections: _Connections, request: Any) -> Answer:  # noqa: ANN401  (httpx's own)
        response = await connections.client.send(request, stream=True)
        try:
            content = bytearray()
            async for part in response.aiter_bytes():
                content += part
                if len(content) > MOST_BYTES:
                    raise ApiAway(f"The API's answer for {request.url.path} is longer than {MOST_BYTES} bytes")
        finally:
            await response.aclose()
        if response.status_code == 401:
            self._retire()  # with the files as they are by then, the next request may be accepted
        return Answer(response.status_code, bytes(content), response.headers.get("Retry-After", ""))

    async def watch(self, path: str, parameters: Mapping[str, str]) -> AsyncIterator[Answer | Mapping[str, Any]]:
        """Yield the events of a watch until the server ends it; an Answer, and nothing else, for another status.

        Raises ApiAway.
        """
        asked = {**parameters, "watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(WATCH_SECONDS)}
        timeout = httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS, read=WATCH_SECONDS + ANSWER_SECONDS)
        try:
            async with self._borrowed() as connections:
                self.requests += 1
                client = connections.client
                extensions = connections.extensions
                async with client.stream("GET", path, params=asked, timeout=timeout, extensions=extensions) as response:
                    if response.status_code != 200:
                        content = (await response.aread())[:LINE_BYTES]
                        yield Answer(response.status_code, content, response.headers.get("Retry-After", ""))
                        return
                    async for line in _lines(response):
                        yield json.loads(line)
        except FAILURES as error:
            raise _away(f"the watch of {path}", error) from error

    async def close(self) -> None:
        """Close all connections."""
        self._retire()
        for connections in self._retired:
            await connections.client.aclose()
        self._retired.clear()

    @contextlib.asynccontextmanager
    async def _borrowed(self) -> AsyncIterator[_Connections]:
        """Lend the connections with the credentials as they are now. Raises ApiAway."""
        stamp = self._stamp()
        if self._connections is not None and self._connections.stamp != stamp:
            self._retire()
        if self._connections is None:
            self._connections = self._open()
        connections = self._connections
        connections.users += 1
        try:
            yield connections
        finally:
            connections.users -= 1
            if connections.retired and not connections.users and connections in self._retired:
                self._retired.remove(connections)
                await connections.client.aclose()

    def _retire(self) -> None:
        if self._connections is not None:
            self._connections.retired = True
            self._retired.append(self._connections)
            self._connections = None

    def _open(self) -> _Connections:
        try:
            access, weaknesses = credentials.load(self._kubeconfig)
            self._weak(weaknesses)
            bearer, context = credentials.token(access), credentials.context(access)
        except Unavailable as error:
            raise ApiAway(error.cause, remedy=error.remedy) from error
        headers = {
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": f"nodenet-ipam/{__version__}",
            **({"Authorization": f"Bearer {bearer}"} if bearer else {}),
        }
        client = httpx.AsyncClient(
            base_url=access.server,
            verify=context,
            headers=headers,
            timeout=httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS),
            limits=httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS),
            trust_env=False,
        )
        extensions = {"sni_hostname": access.server_name} if access.server_name else {}
        return _Connections(client, access, self._stamp(access), extensions=extensions)

    def _stamp(self, access: Access | None = None) -> _Stamp:
        """Return the state of each file of the credentials: another one means that it was replaced or written."""
        if access is None and self._connections is not None:
            access = self._connections.access
        parts = (access.ca, access.certificate, access.key, access.token) if access else ()
        files = [str(part.file) for part in parts if part is not None and part.file is not None]
        return tuple(map(_state, [*self._paths, *files]))


async def _lines(response: Any) -> AsyncIterator[bytes]:  # noqa: ANN401  (httpx's own)
    rest = bytearray()
    async for part in response.aiter_bytes():
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
    return ApiAway(f"The API does not answer {what}: {text}")
