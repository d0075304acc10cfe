"""What do the packets look like that ask who holds an address, and those that answer?

ARP probes (RFC 5227: without a sender address they change no cache) and neighbour solicitations (RFC 4861). A packet
that is not understood is None: any host of the LAN can send one.
"""

from __future__ import annotations

import struct
from collections.abc import Collection
from ipaddress import IPv4Address, IPv6Address

from nodenet.core.ip import IPAddress
from nodenet.core.value import frozen

ARP_ETHERTYPE = 0x0806
BROADCAST = b"\xff" * 6
VRRP_PROTOCOL = 112
NEIGHBOUR_ADVERT = 136
_ARP = struct.Struct("!HHBBH6s4s6s4s")
_ETHERNET, _IPV4, _REQUEST, _REPLY = 1, 0x0800, 1, 2
NEAR = 255
"""The TTL, or the hop limit, of what no router has passed on."""
_SOLICIT = 135
_SOURCE_ADDRESS, _TARGET_ADDRESS = 1, 2
_SOLICITED_NODE = int(IPv6Address("ff02::1:ff00:0"))


@frozen
class Claim:
    """A host says that *address* is at *mac*."""

    address: IPAddress
    mac: str


def arp_probe(mac: bytes, target: IPv4Address) -> bytes:
    """Return the ARP packet (without its Ethernet header) that asks for *target* from *mac*."""
    unspecified = IPv4Address(0).packed
    return _ARP.pack(_ETHERNET, _IPV4, 6, 4, _REQUEST, mac, unspecified, bytes(6), target.packed)


def arp_claim(packet: bytes) -> Claim | None:
    """Return what an ARP reply says."""
    return arp_sender(packet, (_REPLY,))


def arp_sender(packet: bytes, operations: Collection[int] = (_REQUEST, _REPLY)) -> Claim | None:
    """Return what an ARP packet says about its sender: a host announces an address by a request, too."""
    if len(packet) < _ARP.size:
        return None
    kind, protocol, hardware, length, operation, mac, sender, _, _ = _ARP.unpack_from(packet)
    if (kind, protocol, hardware, length) != (_ETHERNET, _IPV4, 6, 4) or operation not in operations:
        return None
    return Claim(IPv4Address(sender), shown(mac))


def neighbour_solicit(mac: bytes, target: IPv6Address) -> bytes:
    """Return the ICMPv6 message that asks for *target*; the kernel computes its checksum (RFC 3542, 3.1)."""
    option = struct.pack("!BB6s", _SOURCE_ADDRESS, 1, mac)
    return struct.pack("!BBHI16s", _SOLICIT, 0, 0, 0, target.packed) + option


def solicited_node(target: IPv6Address) -> IPv6Address:
    """Return the multicast address that the holder of *target* listens to (RFC 4291, 2.7.1)."""
    return IPv6Address(_SOLICITED_NODE | int(target) & 0xFFFFFF)


def neighbour_claim(message: bytes) -> Claim | None:
    """Return what a neighbour advertisement (ICMPv6, without the IPv6 header) says; None without a MAC."""
    if len(message) < 24 or message[0] != NEIGHBOUR_ADVERT:
        return None
    target, at = IPv6Address(message[8:24]), 24
    while at + 8 <= len(message) and message[at + 1]:
        if message[at] == _TARGET_ADDRESS and message[at + 1] == 1:
            return Claim(target, shown(message[at + 2 : at + 8]))
        at += 8 * message[at + 1]
    return None


def shown(mac: bytes) -> str:
    """Return a MAC as people write it."""
    return mac.hex(":")
