"""Which API servers does the haproxy that runs take for alive? (its management guide, 9.3)"""

from __future__ import annotations

import asyncio
import contextlib

from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services.haproxy import QUESTION, STATE_SOCKET

SECONDS = 1.0
MOST_BYTES = 1 << 20


class Balancer:
    """haproxy of this node, by a socket that answers questions alone."""

    def __init__(self, path: str = STATE_SOCKET) -> None:
        """Ask at *path*."""
        self._path = path

    async def servers(self) -> str:
        """Return the states of its servers, as it says them. Raises Unavailable."""
        content = bytearray()
        try:
            async with asyncio.timeout(SECONDS):
                reader, writer = await asyncio.open_unix_connection(self._path)
                with contextlib.closing(writer):
                    writer.write(f"{QUESTION}\n".encode())
                    while (part := await reader.read(1 << 16)) and len(content) < MOST_BYTES:
                        content += part
        except OSError as error:  # TimeoutError is one
            raise Unavailable(f"haproxy does not answer at {self._path}: {error.strerror or 'time-out'}") from error
        return content.decode("ascii", "replace")
