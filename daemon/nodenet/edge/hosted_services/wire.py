"""Which hosts of a link answer for an address? (packet(7), raw(7); RFC 5227, RFC 4861)

The questions need CAP_NET_RAW. Any host can answer anything: what is returned is who
claims an address, bounded in number.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from ipaddress import IPv4Address

from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services import keepalived
from nodenet.core.hosted_services.keepalived import Claim
from nodenet.core.ip import IPAddress
from nodenet.core.kernel.snapshot import Address
from nodenet.edge.kernel.neighbours import Neighbours
from nodenet.edge.kernel.netlink import read_addresses

ASKED_TIMES, PAUSE_SECONDS = 3, 0.15
"""The peers' stacks answer within milliseconds; a bridge may drop the first question."""
MOST_CLAIMS = 64
"""Claims of one address that are kept."""
_ICMP6_FILTER = 1
_RECEIVE_BYTES = 2048
_ANCILLARY_BYTES = socket.CMSG_SPACE(4)
_NEAR = struct.pack("=i", keepalived.NEAR)
"""The hop limit of what no router has passed on (RFC 4861, 7.1.2)."""
_PASSING = (errno.ENETDOWN, errno.ENOBUFS, errno.ENETUNREACH, errno.EADDRNOTAVAIL, errno.EAGAIN)
"""A question that cannot be sent at this moment is asked again."""


class Wire:
    """The hosts on a link."""

    async def claims(self, addresses: Iterable[IPAddress], link: str) -> Mapping[IPAddress, frozenset[str]]:
        """Return the MACs of the hosts on *link* that answer for each address, in half a second.

        This node does not answer its own questions. Raises Unavailable where the link cannot be asked.
        """
        wanted = tuple(addresses)
        found: dict[IPAddress, set[str]] = {address: set() for address in wanted}

        def heard(claim: Claim | None) -> None:
            if claim is not None and len(found.get(claim.address, range(MOST_CLAIMS))) < MOST_CLAIMS:
                found[claim.address].add(claim.mac)

        try:
            with contextlib.ExitStack() as opened:
                questions = list(_questions(wanted, link, heard, opened))
                for _ in range(ASKED_TIMES):
                    for ask in questions:
                        ask()
                    await asyncio.sleep(PAUSE_SECONDS)
        except OSError as error:
            raise Unavailable(
                f"The hosts on {link} cannot be asked for an address: {error.strerror or error}"
            ) from error
        return {address: frozenset(macs) for address, macs in found.items()}

    def neighbours(self, link: str) -> tuple[tuple[IPAddress, str], ...]:
        """Return the neighbours on *link* that the kernel knows, each with its MAC. Raises Unavailable."""
        return tuple((one.address, keepalived.shown(one.mac)) for one in Neighbours().known(link) if one.mac)


def _questions(
    wanted: tuple[IPAddress, ...], link: str, heard: Callable[[Claim | None], None], opened: contextlib.ExitStack
) -> Iterator[Callable[[], None]]:
    """Yield a function that asks for addresses once; answers go to *heard* until *opened* is closed. Raises OSError."""
    mac = _mac_of(link)
    if any(address.version == 4 for address in wanted):
        arp = opened.enter_context(_arp_socket(link))
        _listen(arp, lambda packet: heard(keepalived.arp_claim(packet)), opened)
    if any(address.version == 6 for address in wanted):
        icmp = opened.enter_context(_icmp_socket(link))
        _listen(icmp, lambda packet: heard(keepalived.neighbour_claim(packet)), opened)
    for address in wanted:
        if isinstance(address, IPv4Address):
            where = (link, keepalived.ARP_ETHERTYPE, 0, 1, keepalived.BROADCAST)
            yield partial(_send, arp, keepalived.arp_probe(mac, address), where)
        else:
            group = (str(keepalived.solicited_node(address)), 0, 0, socket.if_nametoindex(link))
            yield partial(_send, icmp, keepalived.neighbour_solicit(mac, address), group)


def _mac_of(link: str) -> bytes:
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC, 0) as any_link:
        any_link.bind((link, 0))
        mac: bytes = any_link.getsockname()[4]
    if len(mac) != 6:
        raise OSError(errno.EPROTONOSUPPORT, f"{link} has no Ethernet address")
    return mac


def _listen(line: socket.socket, take: Callable[[bytes], None], opened: contextlib.ExitStack) -> None:
    loop = asyncio.get_running_loop()

    def readable() -> None:
        for _ in range(MOST_CLAIMS):  # a flood does not keep the loop
            try:
                packet, ancillary, _, _ = line.recvmsg(_RECEIVE_BYTES, _ANCILLARY_BYTES)
                # Of a neighbour advertisement: a host behind a router cannot send one with the full limit.
                if all(data == _NEAR for _, kind, data in ancillary if kind == socket.IPV6_HOPLIMIT):
                    take(packet)
            except BlockingIOError:
                return
            except OSError:  # the link went down: the next question says so
                return

    loop.add_reader(line, readable)
    opened.callback(loop.remove_reader, line)


def _send(line: socket.socket, packet: bytes, where: object) -> None:
    try:
        line.sendto(packet, where)  # type: ignore[call-overload]
    except OSError as error:
        if error.errno not in _PASSING:
            raise


def _arp_socket(link: str) -> socket.socket:
    protocol = keepalived.ARP_ETHERTYPE
    line = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK, 0)
    line.bind((link, protocol))
    return line


def _icmp_socket(link: str) -> socket.socket:
    kind = socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
    line = socket.socket(socket.AF_INET6, kind, socket.IPPROTO_ICMPV6)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, link.encode())
    line.setsockopt(socket.IPPROTO_ICMPV6, _ICMP6_FILTER, _filter())
    line.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)  # RFC 4861, 4.3
    line.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVHOPLIMIT, 1)
    line.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, socket.if_nametoindex(link))
    return line


def _filter() -> bytes:
    """Return the filter that passes neighbour advertisements only: a set bit blocks a type (RFC 3542, 3.2)."""
    words = [0xFFFFFFFF] * 8
    words[keepalived.NEIGHBOUR_ADVERT // 32] &= ~(1 << (keepalived.NEIGHBOUR_ADVERT % 32))
    return struct.pack("=8I", *words)


# When does a link of this node get or lose an address? (rtnetlink(7))

RTMGRP_IPV4_IFADDR, RTMGRP_IPV6_IFADDR = 0x10, 0x100
_EVENT_BYTES = 65_536


class AddressEvents:
    """The changes of addresses, without what changed: who waits reads the present state."""

    def __init__(self) -> None:
        """Listen from the first wait on."""
        self._socket: socket.socket | None = None

    async def next(self) -> None:
        """Return after a change since the last call, and at once the first time. Raises Unavailable."""
        if self._socket is None:
            self._socket = _listener()
            return
        try:
            await asyncio.get_running_loop().sock_recv(self._socket, _EVENT_BYTES)
            while True:
                self._socket.recv(_EVENT_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno != errno.ENOBUFS:  # an overflow is a change too
                self.close()
                raise _silent(error) from error

    def close(self) -> None:
        """Listen no longer; the next wait is the first one again."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def _listener() -> socket.socket:
    try:
        kind = socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
        made = socket.socket(socket.AF_NETLINK, kind, socket.NETLINK_ROUTE)
        made.bind((0, RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR))
    except OSError as error:
        raise _silent(error) from error
    return made


def _silent(error: OSError) -> Unavailable:
    return Unavailable(f"The kernel's addresses cannot be watched: {error.strerror or error}")


# Which VIPs are on this node's links? (rtnetlink(7))


class VipAddresses:
    """The addresses on this node's links."""

    def present(self, wanted: Collection[IPAddress]) -> tuple[Address, ...]:
        """Return those among *wanted* that are on a link. Raises Unavailable."""
        return tuple(address for address in read_addresses() if address.address in wanted)
