"""Does somebody on a link, such as the gateway, answer?

The kernel asks: it is told to resolve the address on that link (ARP, RFC 826; neighbour solicitation, RFC 4861), and
tells when an answer came. No packet of ours is routed anywhere, and none needs an open port at the other end.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections.abc import Collection
from contextlib import closing, suppress

from nodenet.core import neighbour_messages as nm
from nodenet.core.errors import Unavailable
from nodenet.core.snapshot import IPAddress

ASK_AGAIN_SECONDS = 0.5
"""The kernel gives up after three solicitations, a second apart; a bridge may begin to forward later than that."""
_RECEIVE_BYTES = 65_536
_UNKNOWN = (errno.ENOENT, errno.EOPNOTSUPP, errno.EINVAL)
"""Nothing is known, this kernel does not tell, or there is no address to probe: resolve it."""


class Neighbours:
    """The neighbour table."""

    async def answering(self, link: str, addresses: Collection[IPAddress], seconds: float) -> frozenset[IPAddress]:
        """Return those of *addresses* that answer on *link* within *seconds*; at once when all do.

        What is known from before does not count, except entries that somebody fixed. Raises Unavailable when there is
        no such link or the kernel takes no orders.
        """
        answered: set[IPAddress] = set()
        try:
            index = socket.if_nametoindex(link)
            with closing(_socket()) as kernel, suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await _Asking(kernel, index, addresses, answered).run()
        except OSError as error:
            raise Unavailable(f"The neighbours on {link} cannot be asked: {error.strerror or error}") from error
        return frozenset(answered)


class _Asking:
    """One question to several neighbours; who has answered goes to *answered*."""

    def __init__(
        self, kernel: socket.socket, index: int, addresses: Collection[IPAddress], answered: set[IPAddress]
    ) -> None:
        self._kernel = kernel
        self._index = index
        self._numbered = dict(enumerate(addresses, 1))
        self._waiting = set(addresses)
        self._probed: set[IPAddress] = set()
        self._answered = answered

    async def run(self) -> None:
        """Return when all have answered."""
        loop = asyncio.get_running_loop()
        again = asyncio.create_task(self._ask_again())
        try:
            for number, address in self._numbered.items():
                self._kernel.send(nm.get(number, self._index, address))
            while self._waiting:
                try:
                    self._hear(await loop.sock_recv(self._kernel, _RECEIVE_BYTES))
                except OSError as error:
                    if error.errno != errno.ENOBUFS:  # too many events at once: the question is put again anyway
                        raise
        finally:
            again.cancel()

    def _hear(self, data: bytes) -> None:
        for number, code in nm.refusals(data):
            if code not in _UNKNOWN:
                raise OSError(code, os.strerror(code))
            self._probed.add(self._numbered[number])
            self._kernel.send(nm.resolve(number, self._index, self._numbered[number]))
        for entry in nm.neighbours(data):
            if entry.link_index == self._index and entry.address in self._waiting:
                self._look(entry)

    def _look(self, entry: nm.Neighbour) -> None:
        if entry.fixed or (entry.answered and entry.address in self._probed):
            self._waiting.discard(entry.address)
            self._answered.add(entry.address)
        elif entry.address not in self._probed:
            # The kernel's first word: what it knew before. From here on whatever it says is news.
            self._probed.add(entry.address)
            self._ask(entry.address, known=entry.known)

    def _ask(self, address: IPAddress, *, known: bool) -> None:
        number = next(number for number, other in self._numbered.items() if other == address)
        self._kernel.send((nm.probe if known else nm.resolve)(number, self._index, address))

    async def _ask_again(self) -> None:
        while True:
            await asyncio.sleep(ASK_AGAIN_SECONDS)
            for address in self._waiting:
                self._ask(address, known=False)


def _socket() -> socket.socket:
    kind = socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
    kernel = socket.socket(socket.AF_NETLINK, kind, socket.NETLINK_ROUTE)
    try:
        kernel.bind((0, nm.RTMGRP_NEIGH))
    except OSError:
        kernel.close()
        raise
    return kernel
