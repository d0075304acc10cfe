"""How does a monitoring system read the figures of this process? By HTTP, at ``/metrics``.

Any host that reaches the port may ask, so everything is bounded: the request, its time, and how many come at once.
The format: https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

PATH = "/metrics"
KIND = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = 5.0
"""How long one connection may take."""
MOST_BYTES = 8192
"""The longest request."""
MOST_CONNECTIONS = 16
"""Further ones are answered with 503."""


class Endpoint:
    """The server of one port, on every address of this host."""

    def __init__(self, port: int, text: Callable[[], str]) -> None:
        """*text* returns the figures as they are at that moment."""
        self._port = port
        self._text = text
        self._open = 0

    async def run(self) -> None:
        """Answer until cancelled. Raises OSError where the port is taken."""
        server = await asyncio.start_server(self._serve, port=self._port, limit=MOST_BYTES)
        async with server:
            await server.serve_forever()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        try:
            async with asyncio.timeout(SECONDS):
                writer.write(await self._answer(reader))
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the asker is gone, is too slow, or sends no request: there is no one to answer
        finally:
            self._open -= 1
            with contextlib.suppress(OSError):
                writer.close()

    async def _answer(self, reader: asyncio.StreamReader) -> bytes:
        if self._open > MOST_CONNECTIONS:
            return _response("503 Service Unavailable", "too many connections\n")
        words = (await reader.readuntil(b"\r\n\r\n")).partition(b"\r\n")[0].split(b" ")
        if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
            return _response("400 Bad Request", "this is no request of HTTP/1\n")
        if words[0] != b"GET":
            return _response("405 Method Not Allowed", "only GET\n")
        if words[1].partition(b"?")[0] != PATH.encode():
            return _response("404 Not Found", f"the figures are at {PATH}\n")
        return _response("200 OK", self._text(), KIND)


def _response(status: str, text: str, kind: str = "text/plain; charset=utf-8") -> bytes:
    body = text.encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body
