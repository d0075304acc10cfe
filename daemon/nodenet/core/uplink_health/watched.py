"""Which links must have a carrier, and which gateways must answer, for the node to work?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from nodenet.core.boot.outcome import Facts
from nodenet.core.ip import Family, IPAddress, family_of
from nodenet.core.kernel.neighbours import Neighbour
from nodenet.core.kernel.snapshot import MAIN_TABLE, Link, Route, Snapshot
from nodenet.core.open_vswitch import PHYSICAL, OvsBridge
from nodenet.core.value import frozen

OVS_KINDS = frozenset({"openvswitch", "tun"})
"""Kinds of the link of an Open vSwitch bridge: of the kernel's datapath, and of the one in user space."""
PATCH = frozenset({"patch"})
OVN_BRIDGE = "br-int"
"""The integration bridge of OVN: its ports are pods."""


@frozen
class Place:
    """Where the node IPs are: the *link* that has them, and the *uplink* below it where that is known."""

    link: str
    uplink: str | None = None
    families: frozenset[Family] = frozenset()
    node_ips: tuple[IPAddress, ...] = ()


@frozen
class Gateway:
    """A gateway, the link that it is asked on, and whether an address there has it in its subnet."""

    address: IPAddress
    link: str
    on_subnet: bool = True


def place_of(facts: Facts) -> Place | None:
    """Return where the node IPs are; None while none are selected."""
    selection = facts.selection
    if selection is None or selection.link is None or not selection.node_ips:
        return None
    families = frozenset(map(family_of, selection.node_ips))
    return Place(selection.link, facts.uplink, families, tuple(selection.node_ips))


def uplinks(place: Place, bridges: Iterable[OvsBridge]) -> tuple[str, ...]:
    """Return the links whose carrier counts, at least one.

    An Open vSwitch bridge always has a carrier: its uplink is watched, or where that is not known (the node file
    made the bridge) the links of the host that are its ports, or ports of a bridge that a patch port leads to.
    """
    if place.uplink:
        return (place.uplink,)
    known = tuple(bridges)
    links = [name for bridge in known if bridge.name == place.link for name in _ports(bridge, PHYSICAL)]
    if not links:
        behind = [each for each in known if each.name not in (place.link, OVN_BRIDGE) and _ports(each, PATCH)]
        links = [name for bridge in behind for name in _ports(bridge, PHYSICAL)]
    return tuple(sorted(links)) or (place.link,)


def _ports(bridge: OvsBridge, kinds: Collection[str]) -> list[str]:
    return [one.name for port in bridge.ports for one in port.interfaces if one.kind in kinds]


def gateways(snapshot: Snapshot, families: Iterable[Family], table: str = MAIN_TABLE) -> tuple[Gateway, ...]:
    """Return the gateways of the default routes of *table* in use: of each family those of the lowest metric."""
    wanted = [family for family in Family if family in frozenset(families)]
    found = (gateway for family in wanted for gateway in _of_family(snapshot, family, table))
    return tuple(dict.fromkeys(found))


def of_other_hosts(
    claims: Mapping[IPAddress, Collection[str]],
    known: Iterable[Neighbour],
    routers: Iterable[Gateway],
    links: Iterable[Link],
) -> Mapping[IPAddress, Collection[str]]:
    """Return *claims* without those of *routers* and of this node's own *links*; *known*: the neighbours there.

    A router may answer for any address (proxy ARP, RFC 1027). The kernel answers on each NIC of a LAN for all addresses
    of the node (arp_ignore in ip-sysctl of the kernel).
    """
    addresses = {each.address for each in routers}
    others = {each.mac.hex(":") for each in known if each.mac and each.address in addresses}
    others |= {each.mac.lower() for each in links if each.mac}
    left = {address: frozenset(macs) - others for address, macs in claims.items()}
    return {address: macs for address, macs in left.items() if macs}


def routed(snapshot: Snapshot, families: Iterable[Family], table: str = MAIN_TABLE) -> frozenset[Family]:
    """Return those of *families* that have a default route in *table*, with a gateway or without one."""
    return frozenset(families) & {each.family for each in snapshot.routes if _is_default(each, table)}


def _of_family(snapshot: Snapshot, family: Family, table: str) -> list[Gateway]:
    routes = [each for each in snapshot.routes if _is_default(each, table) and each.family is family]
    best = min((route.metric for route in routes), default=None)
    hops = (hop for route in routes if route.metric == best for hop in route.next_hops)
    return [
        Gateway(hop.gateway, hop.link, _on_subnet(snapshot, hop.gateway, hop.link))
        for hop in hops
        if hop.gateway is not None and hop.link is not None
    ]


def _is_default(route: Route, table: str) -> bool:
    return route.is_default and route.table == table and route.kind == "unicast"


def _on_subnet(snapshot: Snapshot, gateway: IPAddress, link: str) -> bool:
    if gateway.version == 6 and gateway.is_link_local:
        return True
    here: Sequence[bool] = [each.shares_prefix(gateway) for each in snapshot.addresses if each.link == link]
    return any(here)
