"""How is the kernel asked about the neighbours on a link, and what does it answer? (rtnetlink(7), linux/neighbour.h)

And how do neighbours and switches learn where an address is, without a question? (RFC 5227, section 3; RFC 4861, 7.2.6)
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address

from nodenet.core.ip import IPAddress
from nodenet.core.kernel.rtnetlink import AF_INET, AF_INET6, attributes, ip, request
from nodenet.core.value import frozen

RTMGRP_NEIGH = 0x4
_NEW, _GET, _ERROR = 28, 30, 2
_DESTINATION, _LINK_LAYER_ADDRESS = 1, 2
_REQUEST, _REPLACE, _CREATE = 0x1, 0x100, 0x400
_REACHABLE, _STALE, _DELAY, _PROBE, _FAILED, _NOARP, _PERMANENT = 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80
_VALID = _REACHABLE | _STALE | _DELAY | _PROBE | _NOARP | _PERMANENT
_USE, _ROUTER = 0x01, 0x80
_HEADER = struct.Struct("=IHHII")
_BODY = struct.Struct("=BxxxiHBB")
_CODE = struct.Struct("=i")
ARP = 0x0806
"""The protocol of an ``announcement`` (ETH_P_ARP)."""
BROADCAST, ALL_NODES = b"\xff" * 6, "ff02::1"
"""Where an ``announcement`` and an ``advertisement`` go to."""
HOP_LIMIT = 255
"""Of an ``advertisement``: a router passes none on (RFC 4861, 7.1.2)."""
_ARP_PACKET = struct.Struct("!HHBBH6s4s6s4s")
_ETHERNET, _IPV4, _ASKS = 1, 0x0800, 1
_ADVERTISEMENT = struct.Struct("!BBHI16sBB6s")
_ADVERTISES, _OVERRIDE, _TARGET_MAC = 136, 0x20000000, 2


@frozen
class Neighbour:
    """An entry of the neighbour table; *mac* is its link-layer address, old or new, None without one.

    *router*: it is known as an IPv6 router.
    """

    link_index: int
    address: IPAddress
    state: int
    mac: bytes | None = None
    router: bool = False

    @property
    def known(self) -> bool:
        """Whether packets can be sent to it without asking."""
        return self.mac is not None and bool(self.state & _VALID)

    @property
    def fixed(self) -> bool:
        """Whether an administrator set it, or the link has no such protocol: it cannot be asked."""
        return bool(self.state & (_PERMANENT | _NOARP))

    @property
    def answered(self) -> bool:
        """Whether it has answered a moment ago, or an administrator says that it would.

        Where the link has no such protocol, the kernel makes an entry for any address.
        """
        return bool(self.state & (_REACHABLE | _PERMANENT))

    @property
    def left_alone(self) -> bool:
        """Whether the kernel does not ask it at present: it waits for a use of what it knows, or has given up."""
        return bool(self.state & (_STALE | _DELAY | _FAILED))


def dump() -> bytes:
    """Return the question for all entries of all links; ``rtnetlink.Dump`` reads the answer."""
    return request(_GET, 1, _BODY.pack(0, 0, 0, 0, 0))


def learn(link_index: int, neighbour: Neighbour) -> bytes:
    """Return the order to take an entry over from another link: used at once, and asked by the kernel later."""
    flags = _ROUTER if neighbour.router else 0
    mac = neighbour.mac or b""
    attribute = struct.pack("=HH", 4 + len(mac), _LINK_LAYER_ADDRESS) + mac + bytes(-len(mac) % 4)
    found = neighbour.address
    return _message(_NEW, _REQUEST | _REPLACE | _CREATE, link_index, found, state=_STALE, flags=flags, more=attribute)


def get(link_index: int, address: IPAddress) -> bytes:
    """Return the request for what the kernel knows about *address* (answered since Linux 5.1)."""
    return _message(_GET, _REQUEST, link_index, address)


def probe(link_index: int, address: IPAddress) -> bytes:
    """Return the request to probe a neighbour again; its known link-layer address stays in use during the probe."""
    return _message(_NEW, _REQUEST | _REPLACE, link_index, address, state=_PROBE)


def resolve(link_index: int, address: IPAddress) -> bytes:
    """Return the order to begin as for a packet to *address*: with ARP or neighbour solicitations on that link."""
    return _message(_NEW, _REQUEST | _REPLACE | _CREATE, link_index, address, flags=_USE)


def announcement(mac: bytes, address: IPv4Address) -> bytes:
    """Return the ARP announcement that *address* is at *mac*."""
    own = address.packed
    return _ARP_PACKET.pack(_ETHERNET, _IPV4, len(mac), len(own), _ASKS, mac, own, bytes(len(mac)), own)


def advertisement(mac: bytes, address: IPv6Address) -> bytes:
    """Return the unsolicited neighbour advertisement that *address* is at *mac*; the kernel adds the checksum."""
    return _ADVERTISEMENT.pack(_ADVERTISES, 0, 0, _OVERRIDE, address.packed, _TARGET_MAC, 1, mac)


def _message(  # noqa: PLR0913  (its fields)
    kind: int,
    header_flags: int,
    link_index: int,
    address: IPAddress,
    *,
    state: int = 0,
    flags: int = 0,
    more: bytes = b"",
) -> bytes:
    family = AF_INET if address.version == 4 else AF_INET6
    destination = struct.pack("=HH", 4 + len(address.packed), _DESTINATION) + address.packed
    body = _BODY.pack(family, link_index, state, flags, 0) + destination + more
    return _HEADER.pack(_HEADER.size + len(body), kind, header_flags, 1, 0) + body


def neighbours(data: bytes) -> Iterator[Neighbour]:
    """Yield the entries in a datagram."""
    for kind, body in _messages(data):
        if kind == _NEW and (found := neighbour(body)) is not None:
            yield found


def neighbour(body: memoryview) -> Neighbour | None:
    """Return the entry of an RTM_NEWNEIGH body, None for one that has no IP address."""
    if len(body) < _BODY.size:
        return None
    _, index, state, flags, _ = _BODY.unpack_from(body)
    found = attributes(body, _BODY.size)
    address, mac = ip(found.get(_DESTINATION)), found.get(_LINK_LAYER_ADDRESS)
    if address is None:
        return None
    return Neighbour(index, address, state, None if mac is None else bytes(mac), bool(flags & _ROUTER))


def refusals(data: bytes) -> Iterator[int]:
    """Yield the errno of each message that the kernel did not take."""
    for kind, body in _messages(data):
        if kind == _ERROR and (code := _CODE.unpack_from(body)[0]) < 0:
            yield -code


def _messages(data: bytes) -> Iterator[tuple[int, memoryview]]:
    whole, offset = memoryview(data), 0
    while offset + _HEADER.size <= len(whole):
        length, kind, _, _, _ = _HEADER.unpack_from(whole, offset)
        if length < _HEADER.size:
            return
        yield kind, whole[offset + _HEADER.size : offset + length]
        offset += (length + 3) & ~3
