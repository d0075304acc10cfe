"""Which addresses does the DNS server at an address of this node answer for a name? (RFC 1035, 4.1)"""

from __future__ import annotations

import asyncio
import contextlib
import secrets

from nodenet.core.hosted_services.dns import addresses_of, question
from nodenet.core.ip import Family, IPAddress

PORT = 53
ANSWER_SECONDS = 1.0


class NameLookup:
    """Asks over UDP, past every cache of the resolver."""

    def __init__(self, port: int = PORT) -> None:
        """Ask at *port*."""
        self._port = port

    async def addresses(
        self, server: IPAddress, name: str, family: Family, port: int | None = None
    ) -> frozenset[IPAddress]:
        """Return the addresses of *name* that *server* answers, none where it does not answer in time."""
        asked = question(name, family, secrets.randbits(16))
        loop = asyncio.get_running_loop()
        heard: asyncio.Future[bytes] = loop.create_future()
        try:
            transport, _ = await loop.create_datagram_endpoint(
                lambda: _Listener(asked[:2], heard), remote_addr=(str(server), port or self._port)
            )
        except OSError:  # the address is not on the node at this moment
            return frozenset()
        with contextlib.closing(transport), contextlib.suppress(TimeoutError, OSError, ValueError):
            transport.sendto(asked)
            async with asyncio.timeout(ANSWER_SECONDS):
                return addresses_of(await heard, family)
        return frozenset()


class _Listener(asyncio.DatagramProtocol):
    def __init__(self, number: bytes, heard: asyncio.Future[bytes]) -> None:
        self._number = number
        self._heard = heard

    def datagram_received(self, data: bytes, addr: object) -> None:  # noqa: ARG002
        if data[:2] == self._number and not self._heard.done():
            self._heard.set_result(data)

    def error_received(self, exc: Exception) -> None:
        if not self._heard.done():
            self._heard.set_exception(exc)
