"""Which other hosts of a link say that they have an address of this node? (packet(7); RFC 5227, RFC 4861)

A question costs no wake-up: it is sent, and what arrived is read later. The kernel passes on only what is about the
address (socket(7), SO_ATTACH_FILTER). Any host can say anything.
"""

from __future__ import annotations

import contextlib
import ctypes
import socket
import struct
from collections.abc import Iterable, Mapping
from functools import partial
from ipaddress import IPv4Address, IPv6Address

from nodenet.core.hosted_services import packets
from nodenet.core.ip import IPAddress

MOST_PACKETS = 64
"""Packets of one address that are read."""
_ICMP6_FILTER = 1
_SO_ATTACH_FILTER = 26
_BYTES = 2048
_SENDER = 14
"""Where an ARP packet has the address of its sender."""


class Rivals:
    """Questions about addresses of this node."""

    def __init__(self) -> None:
        """Ask nothing yet."""
        self._lines: dict[IPAddress, socket.socket] = {}
        self._own = ""

    def ask(self, addresses: Iterable[IPAddress], link: str) -> None:
        """Ask the hosts on *link* who has each of *addresses*; a link that cannot be asked has no rivals."""
        self.close()
        for address in addresses:
            with contextlib.suppress(OSError):
                line, self._own, ask = _arp(address, link) if address.version == 4 else _icmp(address, link)
                self._lines[address] = line
                ask()

    def heard(self) -> Mapping[IPAddress, frozenset[str]]:
        """Return the MACs of other hosts that have claimed each address since it was asked for; none are left out."""
        found = {address: frozenset(_claims(address, line)) - {self._own} for address, line in self._lines.items()}
        self.close()
        return {address: macs for address, macs in found.items() if macs}

    def close(self) -> None:
        """Listen no longer."""
        for line in self._lines.values():
            line.close()
        self._lines.clear()


def _claims(address: IPAddress, line: socket.socket) -> Iterable[str]:
    read = packets.arp_sender if isinstance(address, IPv4Address) else packets.neighbour_claim
    with contextlib.suppress(OSError):  # nothing more
        for _ in range(MOST_PACKETS):
            claim = read(line.recv(_BYTES))
            if claim is not None and claim.address == address:
                yield claim.mac


def _arp(address: IPv4Address, link: str) -> tuple[socket.socket, str, partial[int]]:
    line = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK, 0)
    try:
        _pass_on(line, int(address))
        line.bind((link, packets.ARP_ETHERTYPE))
        mac: bytes = line.getsockname()[4]
    except OSError:
        line.close()
        raise
    where = (link, packets.ARP_ETHERTYPE, 0, 1, packets.BROADCAST)
    return line, packets.shown(mac), partial(line.sendto, packets.arp_probe(mac, address), where)


def _pass_on(line: socket.socket, sender: int) -> None:
    """Let the kernel drop every packet of another *sender* (classic BPF, linux/filter.h)."""
    orders = ((0x20, 0, 0, _SENDER), (0x15, 0, 1, sender), (0x06, 0, 0, 0xFFFF), (0x06, 0, 0, 0))
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *order) for order in orders))
    line.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HL", len(orders), ctypes.addressof(program)))


def _icmp(address: IPv6Address, link: str) -> tuple[socket.socket, str, partial[int]]:
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC, 0) as any_link:
        any_link.bind((link, 0))
        mac: bytes = any_link.getsockname()[4]
    kind = socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
    line = socket.socket(socket.AF_INET6, kind, socket.IPPROTO_ICMPV6)
    try:
        words = [0xFFFFFFFF] * 8  # a set bit blocks a type (RFC 3542, 3.2)
        words[packets.NEIGHBOUR_ADVERT // 32] &= ~(1 << (packets.NEIGHBOUR_ADVERT % 32))
        line.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, link.encode())
        line.setsockopt(socket.IPPROTO_ICMPV6, _ICMP6_FILTER, struct.pack("=8I", *words))
        line.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)  # RFC 4861, 4.3
        line.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_LOOP, 0)
        line.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, socket.if_nametoindex(link))
        group = (str(packets.solicited_node(address)), 0, 0, socket.if_nametoindex(link))
    except OSError:
        line.close()
        raise
    return line, packets.shown(mac), partial(line.sendto, packets.neighbour_solicit(mac, address), group)
