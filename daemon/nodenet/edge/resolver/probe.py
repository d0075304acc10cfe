"""Does a DNS server answer at an address of this node?

One real query over UDP (RFC 1035 §4.1), with a deadline. Any reply with the query's number is an answer, also an
error: a server is there. If the port is not open, the kernel reports that at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import struct

from nodenet.core.ip import IPAddress

PORT = 53
PROBE_SECONDS = 0.5
_RECURSE = 0x0100
_RESPONSE = 0x80
_A, _IN = 1, 1


class ResolverProbe:
    """Asks DNS servers for a sign of life."""

    def __init__(self, port: int = PORT) -> None:
        """Ask at *port*."""
        self._port = port

    async def answers(self, address: IPAddress, name: str, port: int | None = None) -> bool:
        """Return whether a server at *address* answers a query for *name* (empty: the root) in time."""
        question = query(name)
        loop = asyncio.get_running_loop()
        heard: asyncio.Future[bool] = loop.create_future()
        try:
            transport, _ = await loop.create_datagram_endpoint(
                lambda: _Listener(question, heard), remote_addr=(str(address), port or self._port)
            )
        except OSError:  # the address is not on the node, or not usable yet
            return False
        with contextlib.closing(transport), contextlib.suppress(TimeoutError):
            transport.sendto(question)
            async with asyncio.timeout(PROBE_SECONDS):
                return await heard
        return False


class _Listener(asyncio.DatagramProtocol):
    def __init__(self, question: bytes, heard: asyncio.Future[bool]) -> None:
        self._question = question
        self._heard = heard

    def datagram_received(self, data: bytes, addr: object) -> None:  # noqa: ARG002
        if is_answer(data, self._question):
            self._hear(answer=True)

    def error_received(self, exc: Exception) -> None:  # noqa: ARG002
        self._hear(answer=False)

    def _hear(self, *, answer: bool) -> None:
        if not self._heard.done():
            self._heard.set_result(answer)


def is_answer(data: bytes, question: bytes) -> bool:
    """Return whether *data* is an answer to *question*, which may be an error."""
    return len(data) >= 12 and data[:2] == question[:2] and bool(data[2] & _RESPONSE)


def query(name: str) -> bytes:
    """Return a query for the address of *name* (empty: the root), with a number that cannot be guessed."""
    labels = [label.encode() for label in name.split(".") if label]
    question = b"".join(bytes([len(label)]) + label for label in labels) + b"\0" + struct.pack("!HH", _A, _IN)
    return struct.pack("!HHHHHH", secrets.randbits(16), _RECURSE, 1, 0, 0, 0) + question
