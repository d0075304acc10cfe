"""Who has put an address, a route, a neighbour or a port on a link: NetworkManager, the kernel, or another program?

This is the one rule of ownership. nodenet owns what it wrote, and it writes through NetworkManager only. The kernel
and Open vSwitch's database know the writer: NetworkManager sets its addresses without a prefix route (it adds that
route itself), gives its routes one of the protocols below, and marks its ports. Everything else is of another program,
such as OVN-Kubernetes on br-ex. What others put on a link is no difference to a node file or to the plan of br-ex, is
never written into a profile, and is on the link after each change as it was before.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping

from nodenet.core.kernel import neighbours, rtnetlink, rtnetlink_messages
from nodenet.core.kernel.neighbours import Neighbour
from nodenet.core.kernel.rtnetlink_messages import ADDRESS_REQUEST, RTM_GETADDR, addresses
from nodenet.core.kernel.snapshot import Address, AddressFlag, Route
from nodenet.core.network_manager.profiles import Device
from nodenet.core.open_vswitch import PHYSICAL, OvsBridge, OvsPort
from nodenet.core.ownership.things import Kind, Thing

OWN_PROTOCOLS = frozenset({"kernel", "redirect", "static", "dhcp", "ra"})
"""Of the kernel's own routes, and of those of NetworkManager."""
PATCH = "patch"


def is_of_another(item: Address | Route | Neighbour) -> bool:
    """Return whether neither NetworkManager nor the kernel has put *item* there."""
    match item:
        case Address():
            ours = AddressFlag.NO_PREFIX_ROUTE in item.flags or item.address.is_loopback or _is_link_local6(item)
            return item.is_permanent and not ours
        case Route():
            return item.kind == "unicast" and item.protocol not in OWN_PROTOCOLS
        case _:
            return item.fixed and item.mac is not None and not item.address.is_multicast


def configured_links(devices: Iterable[Device]) -> frozenset[str]:
    """Return the links with a profile: of others it is not known what their configuration is.

    A profile that NetworkManager generated says only what was on the link already.
    """
    return frozenset(each.link for each in devices if each.profile is not None and not each.profile.generated)


def foreign_ports(bridges: Iterable[OvsBridge]) -> Iterator[tuple[str, str]]:
    """Yield bridge and name of each port of Open vSwitch that NetworkManager did not make."""
    for bridge in bridges:
        yield from ((bridge.name, port.name) for port in bridge.ports if not port.by_network_manager)


def patch_ports(bridges: Iterable[OvsBridge]) -> Iterator[tuple[str, OvsPort]]:
    """Yield the patch ports of other programs, such as those of OVN, with the names of their bridges."""
    for bridge in bridges:
        for port in bridge.ports:
            if not port.by_network_manager and [item.kind for item in port.interfaces] == [PATCH]:
                yield bridge.name, port


def patched(bridges: Iterable[OvsBridge]) -> frozenset[str]:
    """Return the bridges on which another program has a patch port, as OVN has on br-ex."""
    return frozenset(name for name, _ in patch_ports(bridges))


def ports_of_bridges(bridges: Iterable[OvsBridge]) -> frozenset[str]:
    """Return the links of the host that are ports of Open vSwitch: they have no configuration of their own."""
    return frozenset(
        item.name
        for bridge in bridges
        for port in bridge.ports
        for item in port.interfaces
        if item.kind in PHYSICAL and item.name != bridge.name
    )


def _is_link_local6(item: Address) -> bool:
    return item.address.version == 6 and item.address.is_link_local


RTM_GETNEIGH = 30
QUESTIONS = {
    Kind.ADDRESS: (RTM_GETADDR, ADDRESS_REQUEST),
    Kind.NEIGHBOUR: (RTM_GETNEIGH, struct.pack("=BxxxiHBB", 0, 0, 0, 0, 0)),
    Kind.ROUTE: (rtnetlink_messages.RTM_GETROUTE, rtnetlink_messages.route_request(0, unicast=False)),
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
            for address in addresses([body], names):
                if address is not None and is_of_another(address):
                    yield Thing(kind, address.link, (str(address.address),), bytes(body).hex())
        case Kind.NEIGHBOUR:
            found = neighbours.neighbour(body)
            if found is not None and is_of_another(found) and (name := names.get(found.link_index)):
                yield Thing(kind, name, (str(found.address),), bytes(body).hex())
        case Kind.ROUTE if body[0] in (rtnetlink.AF_INET, rtnetlink.AF_INET6):
            raw = rtnetlink_messages.raw_route(body)
            route = rtnetlink_messages.route(raw, names)
            if is_of_another(route) and len(route.next_hops) == len(raw.hops) == 1:  # of several none is one link's
                (hop,) = route.next_hops
                table = str(rtnetlink.number(rtnetlink.attributes(body, _ROUTE_BODY).get(15)) or body[4])
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
    while offset + rtnetlink.ATTRIBUTE.size <= len(body):
        length, kind = rtnetlink.ATTRIBUTE.unpack_from(body, offset)
        if length < rtnetlink.ATTRIBUTE.size:
            break
        found[kind & 0x3FFF] = offset + rtnetlink.ATTRIBUTE.size
        offset += (length + 3) & ~3
    return found


def refusal(answer: bytes) -> int:
    """Return the number of the error (errno(3)) in the kernel's *answer*, 0 for success. Raises OSError for another."""
    if len(answer) < _HEADER.size + _CODE.size or _HEADER.unpack_from(answer)[1] != _ERROR:
        raise OSError(74, "the kernel's answer to an order is none")
    return -int(_CODE.unpack_from(answer, _HEADER.size)[0])
