"""Does a DNS server answer at an address of this node?

One real query over UDP (RFC 1035 §4.1), with a deadline. Any reply with the query's number is an answer, also an
error: a server is there. If the port is not open, the kernel reports that at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import os

from nodenet.core.ip import Family, IPAddress
from nodenet.core.resolver.dns_message import is_answer, question

PORT = 53
PROBE_SECONDS = 0.5


class ResolverProbe:
    """Asks DNS servers for a sign of life."""

    def __init__(self, port: int = PORT) -> None:
        """Ask at *port*."""
        self._port = port

    async def answers(self, address: IPAddress, name: str, port: int | None = None) -> bool:
        """Return whether a server at *address* answers a query for *name* (empty: the root) in time."""
        return await ask(address, port or self._port, query(name), PROBE_SECONDS) is not None


async def ask(address: IPAddress, port: int, asked: bytes, seconds: float) -> bytes | None:
    """Return the answer to a question, None if no server at *address* answers in time."""
    loop = asyncio.get_running_loop()
    heard: asyncio.Future[bytes | None] = loop.create_future()
    try:
        transport, _ = await loop.create_datagram_endpoint(
            lambda: _Listener(asked, heard), remote_addr=(str(address), port)
        )
    except OSError:  # the address is not on the node, or not usable yet
        return None
    with contextlib.closing(transport), contextlib.suppress(TimeoutError):
        transport.sendto(asked)
        async with asyncio.timeout(seconds):
            return await heard
    return None


class _Listener(asyncio.DatagramProtocol):
    def __init__(self, asked: bytes, heard: asyncio.Future[bytes | None]) -> None:
        self._asked = asked
        self._heard = heard

    def datagram_received(self, data: bytes, addr: object) -> None:  # noqa: ARG002
        if is_answer(data, self._asked):
            self._hear(data)

    def error_received(self, exc: Exception) -> None:  # noqa: ARG002
        self._hear(None)

    def _hear(self, answer: bytes | None) -> None:
        if not self._heard.done():
            self._heard.set_result(answer)


def query(name: str) -> bytes:
    """Return a query for the address of *name* (empty: the root), with a number that cannot be guessed."""
    return question(name, Family.IPV4, int.from_bytes(os.urandom(2)))
