"""How is the Kubernetes API asked for objects, and how are their changes followed? (httpx)

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
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import httpx

from nodenet.core.backoff import spread
from nodenet.core.errors import Forbidden, Postponed, Unavailable, Unreachable
from nodenet.core.hosted_services.kubeconfig import Access
from nodenet.edge.kubernetes import credentials
from nodenet.edge.kubernetes.credentials import expired_ca, refusal, refused
from nodenet.edge.kubernetes.http import PROBES

CONNECT_SECONDS, ANSWER_SECONDS = 5.0, 30.0
WATCH_SECONDS = 300
"""After so long the server ends a watch, and the next one continues from its version."""
MOST_BYTES = 64 << 20
"""A page of a hundred Nodes with all their images has some megabytes."""
RETURN_SECONDS = 300.0
"""The longest pause between two tries of the server of the kubeconfig while another way is used."""
LINE_BYTES = 4 << 20
"""etcd keeps no object of more than 1.5 MiB."""
MERGE_PATCH = "application/merge-patch+json"
FIELD_MANAGER = "nodenet-hosted"
REMEDY = "See `nodenetctl hosted`; nodes go on from what they have on disk"
RENEW = "Renew it; nodes go on from what they have on disk"
FAILURES = (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError, RecursionError)


class Api:
    """One connection to the API, with credentials as they are now; a context manager."""

    def __init__(self, access: Access, *, provisional: bool = False) -> None:
        """Connect at the first question. Raises Unavailable for credentials that cannot be used.

        *provisional*: a better way may be there when the next watch begins.
        """
        bearer = credentials.token(access)
        self.provisional = provisional
        self._access = access
        self._context = credentials.context(access)
        self._client = httpx.AsyncClient(
            base_url=access.server,
            transport=httpx.AsyncHTTPTransport(verify=self._context, trust_env=False, socket_options=PROBES),
            headers={
                "Accept": "application/json",
                "Accept-Encoding": "identity",
                **({"Authorization": f"Bearer {bearer}"} if bearer else {}),
            },
            timeout=httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS),
            trust_env=False,
        )

    async def __aenter__(self) -> Self:
        """Use it."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connection."""
        await self._client.aclose()

    async def get(self, path: str, parameters: Mapping[str, str] | None = None) -> Any:  # noqa: ANN401
        """Return the JSON document at *path*. Raises Forbidden, Unavailable."""
        return await self._ask("GET", path, parameters or {})

    async def merge(self, path: str, change: object) -> Any:  # noqa: ANN401
        """Change the object at *path* by a merge patch (RFC 7386) and return it. Raises Forbidden, Unavailable."""
        return await self._ask("PATCH", path, {"fieldManager": FIELD_MANAGER}, json.dumps(change).encode())

    async def _ask(self, method: str, path: str, parameters: Mapping[str, str], body: bytes | None = None) -> Any:  # noqa: ANN401
        async with self._answer(method, path, parameters, ANSWER_SECONDS, body) as answer:
            content = bytearray()
            async for part in answer.aiter_bytes():
                content += part
                if len(content) > MOST_BYTES:
                    raise Unavailable(f"The API's answer for {path} is longer than {MOST_BYTES} bytes")
            return json.loads(content)

    async def watch(self, path: str, parameters: Mapping[str, str]) -> AsyncIterator[Any]:
        """Yield the events of a watch until the server ends it. Raises Forbidden, Unavailable."""
        asked = {**parameters, "watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(WATCH_SECONDS)}
        async with self._answer("GET", path, asked, WATCH_SECONDS + ANSWER_SECONDS) as answer:
            rest = bytearray()
            async for part in answer.aiter_bytes():
                rest += part
                *lines, last = rest.split(b"\n")
                rest = bytearray(last)
                for line in lines:
                    yield json.loads(line)
                if len(rest) > LINE_BYTES:
                    raise Unavailable(f"An event of {path} is longer than {LINE_BYTES} bytes")

    async def is_served(self) -> bool:
        """Return whether an API server that is ready answers, also where it does not know these credentials."""
        try:
            async with self._stream("GET", "/readyz", {}, CONNECT_SECONDS) as answer:
                return answer.status_code in (200, 401, 403)
        except FAILURES:
            return False

    @contextlib.asynccontextmanager
    async def _answer(
        self, method: str, path: str, parameters: Mapping[str, str], seconds: float, body: bytes | None = None
    ) -> AsyncIterator[Any]:
        """Yield the answer of a success. Raises Forbidden, Postponed, Unavailable; Unreachable without an answer."""
        answered = False
        try:
            async with self._stream(method, path, parameters, seconds, body) as answer:
                answered = True
                _judge(path, answer)
                yield answer
        except FAILURES as error:
            found = await self._unavailable(path, error)
            # A server that ends an answer is there; one that stops in the middle may have lost its power.
            stopped = isinstance(error, (httpx.TimeoutException, TimeoutError))
            raise (Unreachable(found.cause, remedy=found.remedy) if stopped or not answered else found) from error

    def _stream(
        self, method: str, path: str, parameters: Mapping[str, str], seconds: float, body: bytes | None = None
    ) -> Any:  # noqa: ANN401  (httpx's own)
        name = self._access.server_name
        return self._client.stream(
            method,
            path,
            params=dict(parameters),
            content=body,
            headers={"Content-Type": MERGE_PATCH} if body is not None else None,
            timeout=httpx.Timeout(seconds, connect=CONNECT_SECONDS),
            extensions={"sni_hostname": name} if name else {},
        )

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


def _judge(path: str, answer: Any) -> None:  # noqa: ANN401  (httpx's own)
    status = answer.status_code
    if status == 401:  # kubelet renews them: they are read again for the next connection
        raise Unavailable("The API does not accept the credentials of the kubeconfig (401)", remedy=REMEDY)
    if status in (403, 404):
        raise Forbidden(f"The API refuses {path} with status {status}", remedy=REMEDY)
    if status != 200:
        cause, pause = f"The API answers {path} with status {status}", answer.headers.get("Retry-After", "")
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
            async with Api(ways[used], provisional=used != 0) as api:
                yield api
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
        async with Api(access) as api:
            return await api.is_served()


def _next_try() -> float:
    """Return a time that differs from node to node: all of them may have lost the same server."""
    return asyncio.get_running_loop().time() + spread(RETURN_SECONDS, random.SystemRandom().random())
