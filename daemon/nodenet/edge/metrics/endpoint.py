"""How does a monitoring system read the figures of this process? By HTTP, at ``/metrics``.

``/healthz`` answers kubelet's liveness probe, however many connections are open. Any host that reaches the port may
ask, so everything is bounded: the request, its time, and how many come at once.
The format: https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

PATH, HEALTH = "/metrics", "/healthz"
KIND = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = 5.0
"""How long one connection may take."""
MOST_BYTES = 8192
"""The longest request."""
MOST_CONNECTIONS = 16
"""While more are open, a question for the figures is answered with 503."""
MOST_OPEN = 128
"""Where another one comes, the oldest is closed: a probe sends its request at once, and is answered."""


class Endpoint:
    """The server of one port, on every address of this host."""

    def __init__(self, port: int, text: Callable[[], str]) -> None:
        """*text* returns the figures as they are at that moment."""
        self._port = port
        self._text = text
        self._open: dict[asyncio.StreamWriter, None] = {}
        """The connections, the oldest first."""

    async def run(self) -> None:
        """Answer until cancelled. Raises OSError where the port is taken."""
        server = await asyncio.start_server(self._serve, port=self._port, limit=MOST_BYTES)
        async with server:
            await server.serve_forever()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._open) >= MOST_OPEN:
            next(iter(self._open)).transport.abort()
        self._open[writer] = None
        try:
            async with asyncio.timeout(SECONDS):
                writer.write(await self._answer(reader))
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the asker is gone, is too slow, or sends no request: there is no one to answer
        finally:
            del self._open[writer]
            with contextlib.suppress(OSError):
                writer.close()

    async def _answer(self, reader: asyncio.StreamReader) -> bytes:
        words = (await reader.readuntil(b"\r\n\r\n")).partition(b"\r\n")[0].split(b" ")
        if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
            return _response("400 Bad Request", "this is no request of HTTP/1\n")
        if words[0] != b"GET":
            return _response("405 Method Not Allowed", "only GET\n")
        path = words[1].partition(b"?")[0].decode(errors="replace")
        if path == HEALTH:
            return _response("200 OK", "ok\n")
        if path != PATH:
            return _response("404 Not Found", f"the figures are at {PATH}\n")
        if len(self._open) > MOST_CONNECTIONS:
            return _response("503 Service Unavailable", "too many connections\n")
        return _response("200 OK", self._text(), KIND)


def _response(status: str, text: str, kind: str = "text/plain; charset=utf-8") -> bytes:
    body = text.encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body
