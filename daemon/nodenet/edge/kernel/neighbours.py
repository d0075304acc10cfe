"""Does somebody on a link, such as the gateway, answer?

The kernel asks: it is told to resolve the address on that link (ARP, RFC 826; neighbour solicitation, RFC 4861), and
tells when an answer came. No packet of ours is routed anywhere, and none needs an open port at the other end.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from contextlib import closing

from nodenet.core.errors import Unavailable
from nodenet.core.ip import IPAddress
from nodenet.core.kernel import neighbours as nm

ASK_AGAIN_SECONDS = 0.5
"""The kernel gives up after three solicitations, a second apart; a bridge may begin to forward later than that.

And it stops asking when the neighbour tells of itself, as a router does that advertises: what it knows then is an
address, and whether packets get there and back it would find out five seconds after one was sent (RFC 4861, 7.3.3).
"""
_RECEIVE_BYTES = 65_536
_UNKNOWN = (errno.ENOENT, errno.EOPNOTSUPP, errno.EINVAL)
"""Nothing is known, this kernel does not tell, or there is no link-layer address to probe: resolve it."""


class Neighbours:
    """The neighbour table."""

    async def answers(self, address: IPAddress, link: str, seconds: float) -> bool:
        """Tell whether *address* answers on *link* within *seconds*; at once when it does.

        What is known from before does not count, except an entry that somebody fixed. Raises Unavailable when there
        is no such link or the kernel takes no orders.
        """
        try:
            index = socket.if_nametoindex(link)
            with closing(_socket()) as kernel:
                async with asyncio.timeout(seconds):
                    await _Question(kernel, index, address).answered()
        except TimeoutError:
            return False
        except OSError as error:
            raise Unavailable(f"The neighbours on {link} cannot be asked: {error.strerror or error}") from error
        return True


class _Question:
    """One question to one neighbour."""

    def __init__(self, kernel: socket.socket, index: int, address: IPAddress) -> None:
        self._kernel = kernel
        self._where = (index, address)
        self._asked = False
        """Whether what the kernel says from now on is news."""

    async def answered(self) -> None:
        """Return when there is an answer. Raises OSError."""
        loop = asyncio.get_running_loop()
        again = asyncio.create_task(self._ask_again())
        try:
            self._kernel.send(nm.get(*self._where))
            while True:
                try:
                    if self._is_answer(await loop.sock_recv(self._kernel, _RECEIVE_BYTES)):
                        return
                except OSError as error:
                    if error.errno != errno.ENOBUFS:  # too many events at once: the question is put again anyway
                        raise
        finally:
            again.cancel()

    def _is_answer(self, data: bytes) -> bool:
        """Look at a datagram; ask, once it is known what the kernel knew before."""
        for code in nm.refusals(data):
            if code not in _UNKNOWN:
                raise OSError(code, os.strerror(code))
            self._ask(nm.resolve(*self._where))
        for entry in nm.neighbours(data):
            if (entry.link_index, entry.address) != self._where:
                continue
            if entry.fixed or (entry.answered and self._asked):
                return True
            if not self._asked or entry.left_alone:
                self._ask((nm.probe if entry.known else nm.resolve)(*self._where))
        return False

    def _ask(self, message: bytes) -> None:
        self._asked = True
        self._kernel.send(message)

    async def _ask_again(self) -> None:
        while True:
            await asyncio.sleep(ASK_AGAIN_SECONDS)
            self._kernel.send(nm.get(*self._where))


def _socket() -> socket.socket:
    kind = socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
    kernel = socket.socket(socket.AF_NETLINK, kind, socket.NETLINK_ROUTE)
    try:
        kernel.bind((0, nm.RTMGRP_NEIGH))
    except OSError:
        kernel.close()
        raise
    return kernel
