"""How does a node ask the Kubernetes API about its cluster, at whichever of the ways to the API answers?

Everything is bounded: how long an answer may take, how large it may be, and how long a line of a watch is. One thing is
changed: an annotation of this node's own Node object.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

from nodenet import __version__
from nodenet.core.errors import Forbidden, Postponed, Unavailable, Unreachable
from nodenet.core.hosted_services.kubeconfig import Access
from nodenet.core.since import spread
from nodenet.edge.kubernetes import credentials
from nodenet.edge.kubernetes.credentials import expired_ca, refusal, refused
from nodenet.edge.kubernetes.http import CONNECT_SECONDS, Head, HttpPool
from nodenet.edge.kubernetes.session import FAILURES, MOST_WATCH_BYTES, WATCH_SECONDS, lines_of

ANSWER_SECONDS = 30.0
MOST_BYTES = 64 << 20
"""A page of a hundred Nodes with all their images has some megabytes."""
RETURN_SECONDS = 300.0
"""The longest pause between two tries of the server of the kubeconfig while another way is used."""
MERGE_PATCH = "application/merge-patch+json"
FIELD_MANAGER = "nodenet-hosted"
REMEDY = "See `nodenetctl hosted`; nodes go on from what they have on disk"
RENEW = "Renew it; nodes go on from what they have on disk"
Parts = AsyncIterator[bytes]


class Api:
    """One way to the API, with credentials as they are now; each question has a connection of its own."""

    def __init__(self, access: Access, *, provisional: bool = False) -> None:
        """Connect at the first question. Raises Unavailable for credentials that cannot be used.

        *provisional*: a better way may be there when the next watch begins.
        """
        bearer = credentials.token(access)
        self.provisional = provisional
        self._access = access
        self._context = credentials.context(access)
        fields = {
            "Accept": "application/json",
            "User-Agent": f"{FIELD_MANAGER}/{__version__}",
            **({"Authorization": f"Bearer {bearer}"} if bearer else {}),
        }
        self._pool = HttpPool(access.server, self._context, fields, access.server_name, ANSWER_SECONDS)

    async def get(self, path: str, parameters: Mapping[str, str] | None = None) -> Any:  # noqa: ANN401
        """Return the JSON document at *path*. Raises Forbidden, Unavailable."""
        return await self._ask(path, parameters or {})

    async def merge(self, path: str, change: object) -> Any:  # noqa: ANN401
        """Change the object at *path* by a merge patch (RFC 7386) and return it. Raises Forbidden, Unavailable."""
        return await self._ask(path, {"fieldManager": FIELD_MANAGER}, json.dumps(change).encode())

    async def _ask(self, path: str, parameters: Mapping[str, str], change: bytes | None = None) -> Any:  # noqa: ANN401
        async with self._answer(path, parameters, change, most=MOST_BYTES) as parts, asyncio.timeout(ANSWER_SECONDS):
            return json.loads(b"".join([part async for part in parts]))

    async def watch(self, path: str, parameters: Mapping[str, str]) -> AsyncIterator[Any]:
        """Yield the events of a watch until the server ends it. Raises Forbidden, Unavailable."""
        asked = {**parameters, "watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(WATCH_SECONDS)}
        async with self._answer(path, asked, most=MOST_WATCH_BYTES) as parts:
            async for line in lines_of(parts):
                yield json.loads(line)

    async def is_served(self) -> bool:
        """Return whether an API server that is ready answers, also where it does not know these credentials."""
        try:
            async with asyncio.timeout(CONNECT_SECONDS), self._pool.stream("/readyz", most=MOST_BYTES) as (head, _):
                return head.status in (200, 401, 403)
        except FAILURES:
            return False

    @contextlib.asynccontextmanager
    async def _answer(
        self, path: str, parameters: Mapping[str, str], change: bytes | None = None, *, most: int
    ) -> AsyncIterator[Parts]:
        """Yield the body of a success. Raises Forbidden, Postponed, Unavailable; Unreachable without an answer."""
        target = f"{path}?{urlencode(parameters)}" if parameters else path
        patch = () if change is None else ("PATCH", change, MERGE_PATCH)
        answered = False
        try:
            async with self._pool.stream(target, *patch, most=most) as (head, parts):
                answered = True
                _judge(path, head)
                yield parts
        except FAILURES as error:
            found = await self._unavailable(path, error)
            # A server that ends an answer is there; one that stops in the middle may have lost its power.
            stopped = isinstance(error, TimeoutError)
            raise (Unreachable(found.cause, remedy=found.remedy) if stopped or not answered else found) from error

    async def _unavailable(self, path: str, error: Exception) -> Unavailable:
        if (distrust := refused(error)) is not None:
            return Unavailable(f"The API cannot be verified: {await self._why(distrust)}", remedy=RENEW)
        text = " ".join(str(error).split())[:200] or type(error).__name__
        return Unavailable(f"The API does not answer {path}: {text}", remedy=REMEDY)

    async def _why(self, distrust: ssl.SSLCertVerificationError) -> str:
        if date := expired_ca(self._context):
            return f"the CA of the kubeconfig has expired on {date}"
        server = urlsplit(self._access.server)
        host, port = server.hostname or "", server.port or 443
        return await refusal(distrust, host, port, self._access.server_name or host, CONNECT_SECONDS)


def _judge(path: str, head: Head) -> None:
    status = head.status
    if status == 401:  # kubelet renews them: they are read again for the next connection
        raise Unavailable("The API does not accept the credentials of the kubeconfig (401)", remedy=REMEDY)
    if status in (403, 404):
        raise Forbidden(f"The API refuses {path} with status {status}", remedy=REMEDY)
    if status != 200:
        cause, pause = f"The API answers {path} with status {status}", head.fields.get("retry-after", "")
        if pause.isascii() and pause.isdigit():
            raise Postponed(cause, remedy=REMEDY, seconds=float(pause))
        raise Unavailable(cause, remedy=REMEDY)


class KubernetesCluster:
    """The cluster that a kubeconfig names, read again for each connection: kubelet renews its certificate."""

    def __init__(
        self,
        kubeconfig: str,
        weak: Callable[[tuple[str, ...]], None],
        elsewhere: Callable[[Access], tuple[Access, ...]] = lambda _: (),
    ) -> None:
        """*weak* is called with the weaknesses of the file at each connection.

        *elsewhere* returns other ways to the same API. Where no server answers, the next connection uses another way.
        The server of the kubeconfig is tried again from time to time, and used again when it is ready.
        """
        self._kubeconfig = kubeconfig
        self._weak = weak
        self._elsewhere = elsewhere
        self._way = 0
        self._due = 0.0
        """When the server of the kubeconfig is tried again."""

    @contextlib.asynccontextmanager
    async def connect(self) -> AsyncIterator[Api]:
        """Connect with the credentials as they are now, for as long as the block lasts. Raises Unavailable."""
        access, weaknesses = await asyncio.to_thread(credentials.load, self._kubeconfig)  # a file may be long
        self._weak(weaknesses)
        ways = (access, *self._elsewhere(access))
        if self._way and await self._is_back(access):
            self._way = 0
        used = self._way % len(ways)
        try:
            yield Api(ways[used], provisional=used != 0)
        except Unreachable:
            if used == 0:
                self._due = _next_try()
            self._way = (used + 1) % len(ways)
            raise

    async def _is_back(self, access: Access) -> bool:
        """Return whether the server of the kubeconfig is ready; False while it is not due to be tried."""
        if asyncio.get_running_loop().time() < self._due:
            return False
        self._due = _next_try()
        return await Api(access).is_served()


def _next_try() -> float:
    """Return a time that differs from node to node: all of them may have lost the same server."""
    return asyncio.get_running_loop().time() + spread(RETURN_SECONDS, random.SystemRandom().random())
