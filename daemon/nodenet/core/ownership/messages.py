"""How does the kernel describe a thing on a link, and how is it asked to take it away or to have it again?

The body of its own message is kept and sent back (rtnetlink(7)): source, metrics, MTU, label, scope and flags are what
they were. Only the number of the link is another one where the link was made again meanwhile.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

from nodenet.core.kernel import neighbours as nm
from nodenet.core.kernel import rtnetlink as rt
from nodenet.core.kernel import rtnetlink_addresses as ra
from nodenet.core.kernel import rtnetlink_routes as routes
from nodenet.core.ownership.rule import is_of_another
from nodenet.core.ownership.things import Kind, Thing

RTM_GETNEIGH = 30
QUESTIONS = {
    Kind.ADDRESS: (ra.RTM_GETADDR, ra.ADDRESS_REQUEST),
    Kind.NEIGHBOUR: (RTM_GETNEIGH, struct.pack("=BxxxiHBB", 0, 0, 0, 0, 0)),
    Kind.ROUTE: (routes.RTM_GETROUTE, routes.route_request(0, unicast=False)),
}
"""Kind → message and body that ask for all of them."""
_NEW = {Kind.ADDRESS: 20, Kind.NEIGHBOUR: 28, Kind.ROUTE: 24}
_REQUEST, _ACKNOWLEDGE, _EXCLUSIVE, _CREATE = 0x1, 0x4, 0x200, 0x400
_HEADER = struct.Struct("=IHHII")
_NUMBER = struct.Struct("=I")
_LINK_AT = 4
"""Where struct ifaddrmsg and struct ndmsg have the number of the link."""
_ADDRESS_BODY, _LIFETIMES, _FLAGS, _DEPRECATED = 8, 6, 8, 0x20
_ROUTE_BODY, _FLAGS_AT = 12, 8
_ERROR = 2
_CODE = struct.Struct("=i")
_OUT, _ON_LINK = 4, 0x4
"""RTA_OIF, and the one flag of a route that the kernel takes (RTNH_F_ONLINK); the others it sets itself."""


def things(kind: Kind, body: memoryview, names: Mapping[int, str]) -> Iterator[Thing]:
    """Yield the thing that *body* describes, if another program put it on one of the links *names*."""
    match kind:
        case Kind.ADDRESS:
            for address in ra.addresses([body], names):
                if address is not None and is_of_another(address):
                    yield Thing(kind, address.link, (str(address.address),), bytes(body).hex())
        case Kind.NEIGHBOUR:
            found = nm.neighbour(body)
            if found is not None and is_of_another(found) and (name := names.get(found.link_index)):
                yield Thing(kind, name, (str(found.address),), bytes(body).hex())
        case Kind.ROUTE if body[0] in (rt.AF_INET, rt.AF_INET6):
            raw = routes.raw_route(body)
            route = routes.route(raw, names)
            if is_of_another(route) and len(route.next_hops) == len(raw.hops) == 1:  # of several none is one link's
                (hop,) = route.next_hops
                table = str(rt.number(rt.attributes(body, _ROUTE_BODY).get(15)) or body[4])
                identity = str(route.destination), str(hop.gateway or ""), table, str(route.metric)
                yield Thing(kind, str(hop.link), identity, bytes(body).hex())


def order(thing: Thing, link_index: int, *, away: bool) -> bytes:
    """Return the order to have *thing* on the link, or to take it *away*; the kernel answers it."""
    body = bytearray.fromhex(thing.message)
    if thing.kind is Kind.ROUTE:
        (flags,) = _NUMBER.unpack_from(body, _FLAGS_AT)
        _NUMBER.pack_into(body, _FLAGS_AT, flags & _ON_LINK)
        _NUMBER.pack_into(body, _places(body, _ROUTE_BODY)[_OUT], link_index)
    else:
        _NUMBER.pack_into(body, _LINK_AT, link_index)
    if thing.kind is Kind.ADDRESS:
        _deprecate(body)
    flags = _REQUEST | _ACKNOWLEDGE | (0 if away else _CREATE | _EXCLUSIVE)
    return _HEADER.pack(_HEADER.size + len(body), _NEW[thing.kind] + away, flags, 1, 0) + bytes(body)


def _deprecate(body: bytearray) -> None:
    """Say of a deprecated address that it is preferred no longer: the kernel shows it as preferred for ever."""
    places = _places(body, _ADDRESS_BODY)
    if {_FLAGS, _LIFETIMES} <= places.keys() and _NUMBER.unpack_from(body, places[_FLAGS])[0] & _DEPRECATED:
        _NUMBER.pack_into(body, places[_LIFETIMES], 0)


def _places(body: bytearray, offset: int) -> dict[int, int]:
    """Return where the value of each attribute begins (struct rtattr)."""
    found: dict[int, int] = {}
    while offset + rt.ATTRIBUTE.size <= len(body):
        length, kind = rt.ATTRIBUTE.unpack_from(body, offset)
        if length < rt.ATTRIBUTE.size:
            break
        found[kind & 0x3FFF] = offset + rt.ATTRIBUTE.size
        offset += (length + 3) & ~3
    return found


def refusal(answer: bytes) -> int:
    """Return the number of the error (errno(3)) in the kernel's *answer*, 0 for success. Raises OSError for another."""
    if len(answer) < _HEADER.size + _CODE.size or _HEADER.unpack_from(answer)[1] != _ERROR:
        raise OSError(74, "the kernel's answer to an order is none")
    return -int(_CODE.unpack_from(answer, _HEADER.size)[0])
