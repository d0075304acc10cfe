"""Does a host on a link, such as the gateway, answer, and which neighbours does the kernel know there?

The kernel does the work: it resolves the address on that link (ARP, RFC 826; neighbour solicitation, RFC 4861) and
reports an answer. No packet is routed, and the other host needs no open port. Only announcements are ours.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import closing
from ipaddress import IPv4Address

from nodenet.core.errors import Unavailable
from nodenet.core.ip import IPAddress
from nodenet.core.kernel import neighbours as nm
from nodenet.core.kernel.neighbours import Neighbour
from nodenet.core.kernel.rtnetlink import Dump

ASK_AGAIN_SECONDS = 0.5
"""The kernel gives up after three solicitations, a second apart; a bridge may begin to forward later than that.

And it stops asking when the neighbour announces itself, as a router does that advertises: it knows an address then,
and finds out five seconds after a packet was sent whether packets get there and back (RFC 4861, 7.3.3).
"""
DUMP_SECONDS = 1.0
MOST = 4096
"""Entries that are looked at: the kernel keeps 1024 by default (net.ipv4.neigh.default.gc_thresh3)."""
_RECEIVE_BYTES = 65_536
_DATAGRAMS = socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
_RAW = socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
_UNKNOWN = (errno.ENOENT, errno.EOPNOTSUPP, errno.EINVAL)
"""Nothing is known, this kernel has no answer, or there is no link-layer address to probe: resolve it."""


class Neighbours:
    """The neighbour table."""

    async def answers(self, address: IPAddress, link: str, seconds: float) -> bool:
        """Return whether *address* answers on *link* within *seconds*; at once when it does.

        An entry from before is no answer, except one that an administrator set. Raises Unavailable when there
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

    def known(self, link: str) -> tuple[Neighbour, ...]:
        """Return the entries of *link* that packets can be sent to, none where there is no such link.

        Entries that an administrator set are left out. Raises Unavailable.
        """
        try:
            index = socket.if_nametoindex(link)
        except OSError:
            return ()
        try:
            return tuple(item for item in _dumped() if item.link_index == index and not item.fixed)
        except OSError as error:
            raise Unavailable(f"The neighbours on {link} cannot be read: {error.strerror or error}") from error

    def learn(self, link: str, neighbours: Iterable[Neighbour]) -> None:
        """Let packets to *neighbours* leave by *link* without a question first. Raises Unavailable.

        Nothing happens where there is no such link; an entry that the kernel refuses is left out.
        """
        try:
            index = socket.if_nametoindex(link)
        except OSError:
            return
        try:
            with closing(_socket(groups=0)) as kernel:
                for neighbour in neighbours:
                    kernel.send(nm.learn(index, neighbour))
        except OSError as error:
            raise Unavailable(f"The neighbours on {link} cannot be set: {error.strerror or error}") from error

    def announce(self, link: str, addresses: Iterable[IPAddress]) -> None:
        """Show the hosts and switches behind *link* that *addresses* are there now. Raises Unavailable."""
        try:
            with socket.socket(socket.AF_PACKET, _DATAGRAMS, 0) as line:
                line.bind((link, 0))
                mac: bytes = line.getsockname()[4]
                for address in addresses:
                    if isinstance(address, IPv4Address):
                        line.sendto(nm.announcement(mac, address), (link, nm.ARP, 0, 1, nm.BROADCAST))
                    else:
                        _advertise(link, nm.advertisement(mac, address))
        except OSError as error:
            raise Unavailable(f"Nothing can be announced on {link}: {error.strerror or error}") from error


def _advertise(link: str, packet: bytes) -> None:
    with socket.socket(socket.AF_INET6, _RAW, socket.IPPROTO_ICMPV6) as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, link.encode())
        line.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, nm.HOP_LIMIT)
        line.sendto(packet, (nm.ALL_NODES, 0, 0, socket.if_nametoindex(link)))


def _dumped() -> Iterator[Neighbour]:
    """Yield the known entries of all links, MOST at most. Raises OSError.

    The kernel does not mark a list of neighbours as inconsistent: it is read once.
    """
    found, dump = 0, Dump()
    with closing(_socket(groups=0)) as kernel:
        kernel.settimeout(DUMP_SECONDS)
        kernel.send(nm.dump())
        while not dump.done:
            data = memoryview(kernel.recv(_RECEIVE_BYTES))
            for entry in map(nm.neighbour, dump.every(data, len(data))):
                if entry is not None and entry.known and found < MOST:
                    found += 1
                    yield entry


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
            if entry.answered and (entry.fixed or self._asked):
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


def _socket(groups: int = nm.RTMGRP_NEIGH) -> socket.socket:
    kernel = socket.socket(socket.AF_NETLINK, _RAW, socket.NETLINK_ROUTE)
    try:
        kernel.bind((0, groups))
    except OSError:
        kernel.close()
        raise
    return kernel
