"""What do the kernel's answers about routes and next-hop objects mean? (rtnetlink(7), linux/nexthop.h)"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from ipaddress import IPv4Network, IPv6Network

from nodenet.core.ip import IPAddress
from nodenet.core.kernel.rtnetlink import AF_INET, attributes, ip, number
from nodenet.core.kernel.snapshot import NextHop, Route
from nodenet.core.value import frozen

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
