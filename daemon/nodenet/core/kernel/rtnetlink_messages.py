"""Which addresses and routes are in the messages of the kernel, and which message asks for them?"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any

from nodenet.core.ip import IPAddress
from nodenet.core.kernel.rtnetlink import AF_INET, AF_INET6, ATTRIBUTE, attributes, ip, number
from nodenet.core.kernel.snapshot import Address, AddressFlag, NextHop, Route
from nodenet.core.value import frozen

RTM_GETADDR = 22
_BODY = struct.Struct("=BBBBI")
ADDRESS_REQUEST = _BODY.pack(0, 0, 0, 0, 0)
_FOREVER = 0xFFFFFFFF
_NUMBER = struct.Struct("=I")
_LIFETIMES = struct.Struct("=II")
_FAR, _NEAR, _LABEL, _CACHE_INFO, _FLAGS = 1, 2, 3, 6, 8
"""IFA_ADDRESS, IFA_LOCAL, IFA_LABEL, IFA_CACHEINFO and IFA_FLAGS."""
_SECONDARY, _PERMANENT = 0x01, 0x80
_ADDRESS_FLAGS = {
    0x02: AddressFlag.NO_DAD,
    0x04: AddressFlag.OPTIMISTIC,
    0x08: AddressFlag.DAD_FAILED,
    0x20: AddressFlag.DEPRECATED,
    0x40: AddressFlag.TENTATIVE,
    0x100: AddressFlag.MANAGE_TEMPORARY,
    0x200: AddressFlag.NO_PREFIX_ROUTE,
}


class _Layout:
    """How the messages of some addresses are laid out: which attributes, of which length, in which order.

    *unpack* gives the five fields of the header, then of each attribute its head and its value.
    """

    def __init__(self, message: memoryview) -> None:
        form, kinds, offset = "=BBBBI", [], _BODY.size
        while offset + ATTRIBUTE.size <= len(message):
            length, kind = ATTRIBUTE.unpack_from(message, offset)
            if length < ATTRIBUTE.size:
                break
            padded = min((length + 3) & ~3, len(message) - offset)
            form += f"4s{length - 4}s{padded - length}x"
            kinds.append(kind & 0x3FFF)
            offset += padded
        form += f"{len(message) - offset}x"
        self.size = len(message)
        self.unpack = struct.Struct(form).unpack
        self.heads = self.unpack(message)[5::2]
        places = {kind: place for place, kind in zip(range(6, 6 + 2 * len(kinds), 2), kinds, strict=True)}
        self.far, self.near = places.get(_FAR), places.get(_NEAR)
        self.label, self.lifetimes, self.flags = places.get(_LABEL), places.get(_CACHE_INFO), places.get(_FLAGS)


def addresses(
    messages: Iterable[memoryview], names: Mapping[int, str], terse: Collection[int] = ()
) -> Iterator[Address | None]:
    """Yield the IP address of each RTM_NEWADDR body; None where its link is not among *names*.

    On links whose index is among *terse* only the address itself matters, and nothing else is read.
    """
    layout = None
    for message in messages:
        if message[0] not in (AF_INET, AF_INET6):  # MCTP's or Phonet's
            continue
        if layout is None or len(message) != layout.size:
            layout = _Layout(message)
        fields = layout.unpack(message)
        if fields[5::2] != layout.heads:
            layout = _Layout(message)
            fields = layout.unpack(message)
        yield _address(fields, layout, names, terse)


def _address(
    fields: tuple[Any, ...], layout: _Layout, names: Mapping[int, str], terse: Collection[int]
) -> Address | None:
    family, prefix_length, flags, _, index = fields[:5]
    far: bytes | None = fields[layout.far] if layout.far else None
    # Without IFA_LOCAL, as with IPv6, there is no peer, and IFA_ADDRESS is the address itself.
    near: bytes | None = fields[layout.near] if layout.near else far
    name = names.get(index)
    if name is None or not near:
        return None
    local = _ip(near)
    if index in terse:
        return Address(local, prefix_length, name)
    valid, preferred = _lifetimes(fields[layout.lifetimes][:8]) if layout.lifetimes else (None, None)
    return Address(
        local,
        prefix_length,
        name,
        _label(fields[layout.label]) if layout.label else None,
        _flags(fields[layout.flags] if layout.flags else _NUMBER.pack(flags), family),
        valid,
        preferred,
        _ip(far) if far and far != near else None,
    )


def _ip(value: bytes) -> IPAddress:
    # As a number: it takes ipaddress a third of the time that bytes take.
    numeric = int.from_bytes(value, "big")
    return IPv4Address(numeric) if len(value) == 4 else IPv6Address(numeric)


@lru_cache(maxsize=64)
def _label(value: bytes) -> str:
    return value.rstrip(b"\0").decode(errors="backslashreplace")


@lru_cache(maxsize=64)
def _lifetimes(value: bytes) -> tuple[int | None, int | None]:
    """Return the seconds for which an address is valid, and preferred (struct ifa_cacheinfo)."""
    preferred, valid = _LIFETIMES.unpack(value)
    return None if valid == _FOREVER else valid, None if preferred == _FOREVER else preferred


@lru_cache(maxsize=64)
def _flags(value: bytes, family: int) -> frozenset[AddressFlag]:
    """Return the flags; the bit of IPv4's *secondary* means *temporary* for IPv6 (linux/if_addr.h)."""
    flags = _NUMBER.unpack(value)[0]
    found = {flag for bit, flag in _ADDRESS_FLAGS.items() if flags & bit}
    if flags & _SECONDARY:
        found.add(AddressFlag.SECONDARY if family == AF_INET else AddressFlag.TEMPORARY)
    if not flags & _PERMANENT:
        found.add(AddressFlag.DYNAMIC)
    return frozenset(found)


RTM_GETROUTE, RTM_GETNEXTHOP = 26, 106
_ROUTE_BODY = struct.Struct("=BBBBBBBBI")
_NEXT_HOP = struct.Struct("=HBBi")
NEXT_HOP_REQUEST = bytes(8)
_ROUTE_KINDS = (
    *("none", "unicast", "local", "broadcast", "anycast", "multicast"),
    *("blackhole", "unreachable", "prohibit", "throw", "nat", "xresolve"),
)
_UNICAST = 1
_WITHOUT_WAY_OUT = ("blackhole", "unreachable", "prohibit", "throw")
_TABLES = {253: "default", 254: "main", 255: "local"}
_PROTOCOLS = {
    0: "unspec", 1: "redirect", 2: "kernel", 3: "boot", 4: "static", 8: "gated", 9: "ra", 10: "mrt", 11: "zebra",
    12: "bird", 13: "dnrouted", 14: "xorp", 15: "ntk", 16: "dhcp", 18: "keepalived", 42: "babel", 186: "bgp",
    187: "isis", 188: "ospf", 189: "rip", 192: "eigrp",
}  # fmt: skip
"""iproute2's names (/etc/iproute2/rt_protos)."""

Hop = tuple[int, IPAddress | None]
"""A next hop as (link index, gateway)."""


@frozen
class RawRoute:
    """A route as the kernel describes it, links by index."""

    route: Route
    hops: tuple[Hop, ...]


@frozen
class NextHopObjects:
    """The kernel's next-hop objects by id: single ones, and the members of groups (linux/nexthop.h)."""

    single: Mapping[int, Hop]
    groups: Mapping[int, tuple[int, ...]]

    def hops(self, wanted: int | None) -> tuple[Hop, ...]:
        """Return the hops of an object; none if the kernel has removed it since."""
        members = self.groups.get(wanted, (wanted,)) if wanted is not None else ()
        return tuple(self.single[member] for member in members if member in self.single)


NO_OBJECTS = NextHopObjects({}, {})


def route_request(family: int, *, unicast: bool) -> bytes:
    """Return the body that asks for the routes of a family, of all tables; *unicast*: of those that lead somewhere."""
    return _ROUTE_BODY.pack(family, 0, 0, 0, 0, 0, 0, _UNICAST if unicast else 0, 0)


def raw_route(message: memoryview) -> RawRoute:
    """Return the route of an RTM_NEWROUTE body."""
    family, length, _, _, table, protocol, _, kind, _ = _ROUTE_BODY.unpack_from(message)
    found = attributes(message, _ROUTE_BODY.size)
    # Tables above 255 do not fit the header (RTA_TABLE).
    table = number(found.get(15)) or table
    network, width = (IPv4Network, 4) if family == AF_INET else (IPv6Network, 16)
    destination = bytes(found[1]) if 1 in found else bytes(width)
    route = Route(
        destination=network((destination, length)),
        metric=number(found.get(6)) or 0,
        table=_TABLES.get(table, str(table)),
        protocol=_PROTOCOLS.get(protocol, str(protocol)),
        kind=_ROUTE_KINDS[kind] if kind < len(_ROUTE_KINDS) else str(kind),
        nexthop_id=number(found.get(30)),
    )
    return RawRoute(route, () if route.kind in _WITHOUT_WAY_OUT else tuple(_hops(found)))


def _hops(found: Mapping[int, memoryview]) -> Iterator[Hop]:
    """Yield (link index, gateway) of each next hop."""
    if 4 in found:
        yield number(found[4]) or 0, _gateway(found)
    several = found.get(9)
    offset = 0
    while several is not None and offset + _NEXT_HOP.size <= len(several):
        length, _, _, index = _NEXT_HOP.unpack_from(several, offset)
        if length < _NEXT_HOP.size:
            return
        yield index, _gateway(attributes(several[offset : offset + length], _NEXT_HOP.size))
        offset += (length + 3) & ~3


def _gateway(found: Mapping[int, memoryview]) -> IPAddress | None:
    """Return RTA_GATEWAY, or RTA_VIA, which carries an address of the other family behind its number."""
    via = found.get(18)
    return ip(found.get(5)) or (ip(via[2:]) if via is not None else None)


def next_hop_objects(messages: Iterable[memoryview]) -> NextHopObjects:
    """Return the objects of RTM_NEWNEXTHOP bodies."""
    single: dict[int, Hop] = {}
    groups: dict[int, tuple[int, ...]] = {}
    for message in messages:
        found = attributes(message, 8)
        own = number(found.get(1)) or 0
        if 2 in found:
            groups[own] = tuple(member for member, _ in struct.iter_unpack("=II", found[2]))
        else:
            single[own] = (number(found.get(5)) or 0, ip(found.get(6)))
    return NextHopObjects(single, groups)


def route(raw: RawRoute, names: Mapping[int, str], objects: NextHopObjects = NO_OBJECTS) -> Route:
    """Return the route with its links by name and its next-hop object resolved; unknown links are left out."""
    hops = raw.hops or objects.hops(raw.route.nexthop_id)
    return replace(raw.route, next_hops=tuple(NextHop(names[index], way) for index, way in hops if index in names))
