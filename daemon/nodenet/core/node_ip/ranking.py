"""Which of the eligible addresses is the best node IP?

One tuple decides: the lowest is the best. It ends in values that no two addresses share, so there are no ties and
the order in which the kernel lists links and addresses cannot matter.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from enum import IntEnum
from ipaddress import IPv4Address, IPv6Address
from typing import NamedTuple

from nodenet.core.ip import Family, IPAddress, IPNetwork, is_like_masquerade
from nodenet.core.kernel.snapshot import Address, Link, Snapshot
from nodenet.core.node_ip.policy import OVN_KUBERNETES, UNSET, Hint, Policy
from nodenet.core.node_ip.rules import Case, is_denied, ranges
from nodenet.core.value import frozen

# Which links are below a bridge or bond?
#
# The kernel names the master of a port. For a port of Open vSwitch that is the datapath, not the bridge: the bridge's
# own link is then found by its MAC, which it takes from its uplink.

DATAPATH = "ovs-system"
"""The master of every port of Open vSwitch's kernel datapath."""
OPEN_VSWITCH, TAP, VRF = "openvswitch", "tun", "vrf"
"""Kinds of links (ip-link(8)): a bridge's own link in the kernel datapath and in the userspace one; a VRF."""


def names_below(links: Sequence[Link]) -> Mapping[str, frozenset[str]]:
    """Return, for each bridge or bond, the names and alternative names of all links below it."""
    kinds = {link.name: link.kind for link in links}
    names = {link.name: set(link.names) for link in links}
    ports: dict[str, set[str]] = {}
    for link in links:
        for master in _masters(link, kinds.get(link.master or ""), links):
            ports.setdefault(master, set()).add(link.name)
    return {name: frozenset[str]().union(*(names[port] for port in _closure(name, ports))) for name in ports}


def _masters(link: Link, kind_of_master: str | None, links: Sequence[Link]) -> set[str]:
    """Return the bridge or bond that *link* is a port of, as far as the kernel shows it."""
    if link.kind in (OPEN_VSWITCH, TAP) or link.loopback:
        return set()
    if link.master is None:
        # The userspace datapath of Open vSwitch leaves no mark on its ports.
        return {other.name for other in links if other.kind == TAP and link.mac and other.mac == link.mac}
    if link.master != DATAPATH:
        # A link in a VRF keeps its addresses.
        return set() if kind_of_master == VRF else {link.master}
    bridges = [other for other in links if other.kind == OPEN_VSWITCH and not is_denied(other, Policy())]
    same = {other.name for other in bridges if other.mac == link.mac}
    # A bridge over a bond with fail_over_mac has another MAC.
    return same or {other.name for other in bridges}


def _closure(name: str, ports: Mapping[str, set[str]]) -> set[str]:
    """Return the ports of *name*, their ports, and so on."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for port in ports.get(waiting.pop(), ()):
            if port not in found and port != name:
                found.add(port)
                waiting.append(port)
    return found


# Which address is the best?

NO_METRIC = 1 << 32
"""Of an address without a default route: worse than every metric."""
ROUTER_ADVERTISEMENT = "ra"
BY_SERVERS = frozenset({ROUTER_ADVERTISEMENT, "dhcp"})
"""The protocols of routes that a router or a DHCP server of the LAN has given."""
LEASED6 = 128
"""The prefix length of an address that DHCPv6 assigns: the site knows it, and a new card does not change it."""
PRIVATE = (ranges("10.0.0.0/8", "fc00::/7"), ranges("172.16.0.0/12"), ranges("192.168.0.0/16"))
"""RFC 1918 and RFC 4193; 100.64.0.0/10 is public, as in the tool that nodenet replaces."""


class Path(IntEnum):
    """Why an address can be the node IP; the lower outranks the higher."""

    HINT = 0
    VIP = 1
    DEFAULT_ROUTE = 2
    NONE = 3


@frozen
class DefaultRoute:
    """The best default routes of one family on one link: their metric, and the gateways of that metric."""

    metric: int
    gateways: frozenset[IPAddress]


@frozen
class Surroundings:
    """What routes and hints mean for addresses, computed once for all addresses.

    *advertised* has the prefixes that routers announce on a link: the subnet of a /128 from DHCPv6 among them.
    *routers* has the gateways that router advertisements or DHCP gave the link.
    *below* has, for a bridge or bond, the names of the links below it.
    *by_address* has the hints that name an address of this host: they mean it and not its subnet.
    """

    default_routes: Mapping[tuple[str, Family], DefaultRoute]
    advertised: Mapping[str, frozenset[IPNetwork]]
    routers: Mapping[tuple[str, Family], frozenset[IPAddress]] = field(default_factory=dict)
    below: Mapping[str, frozenset[str]] = field(default_factory=dict)
    by_address: frozenset[Hint] = frozenset()


class Ranked(NamedTuple):
    """An address with its rank; *hint* and *vip* are what gave it its path."""

    address: Address
    link: Link
    path: Path
    key: tuple[int, ...]
    hint: Hint | None = None
    vip: IPAddress | None = None
    route: DefaultRoute | None = None


def surroundings(snapshot: Snapshot, policy: Policy) -> Surroundings:
    """Return what the routes of *snapshot* say around the addresses."""
    by_name = any(isinstance(hint.meaning, str) for hint in policy.hints)
    below = names_below(snapshot.links) if by_name else {}
    default_routes = _default_routes(snapshot, policy.route_tables)
    return Surroundings(default_routes, _advertised(snapshot), _routers(snapshot), below)


def exact_hints(policy: Policy, present: Iterable[IPAddress]) -> frozenset[Hint]:
    """Return the hints that name one of the addresses *present*."""
    own = frozenset(present) if policy.hints else ()
    return frozenset(hint for hint in policy.hints if hint.meaning in own)


def _default_routes(snapshot: Snapshot, tables: Sequence[str]) -> dict[tuple[str, Family], DefaultRoute]:
    """Return the best default route of each link and family; `unreachable` and its like lead nowhere."""
    found: dict[tuple[str, Family], DefaultRoute] = {}
    for route in snapshot.routes:
        if not route.is_default or route.kind != "unicast" or route.table not in tables:
            continue
        for hop in route.next_hops:
            if hop.link is None:
                continue
            place = (hop.link, route.family)
            gateways = frozenset({hop.gateway} if hop.gateway else ())
            best = found.get(place)
            if best is None or route.metric < best.metric:
                found[place] = DefaultRoute(route.metric, gateways)
            elif route.metric == best.metric:
                found[place] = DefaultRoute(route.metric, best.gateways | gateways)
    return found


def _routers(snapshot: Snapshot) -> dict[tuple[str, Family], frozenset[IPAddress]]:
    found: dict[tuple[str, Family], frozenset[IPAddress]] = {}
    for route in snapshot.routes:
        if route.is_default and route.protocol in BY_SERVERS:
            for hop in route.next_hops:
                if hop.link is not None and hop.gateway is not None:
                    place = (hop.link, route.family)
                    found[place] = found.get(place, frozenset()) | {hop.gateway}
    return found


def _advertised(snapshot: Snapshot) -> dict[str, frozenset[IPNetwork]]:
    found: dict[str, frozenset[IPNetwork]] = {}
    for route in snapshot.routes:
        if route.protocol == ROUTER_ADVERTISEMENT and route.family is Family.IPV6 and not route.is_default:
            for hop in route.next_hops:
                if hop.link is not None:
                    found[hop.link] = found.get(hop.link, frozenset()) | {route.destination}
    return found


def ranked(case: Case, around: Surroundings) -> Ranked:
    """Return the address with its rank: the whole order of preference is the tuple below."""
    address, number, link, policy, _ = case
    family = Family.IPV4 if address.address.version == 4 else Family.IPV6
    route = around.default_routes.get((link.name, family))
    position, hint = _hint(address, link, policy, around) if policy.hints else (0, None)
    vip = _vip(address, policy, around) if policy.vips else None
    path = _path(hint, vip, route)
    key = (
        path,
        position if path is Path.HINT else 0,
        route.metric if route else NO_METRIC,
        link.index,
        policy.family_order.index(family),
        not (route and route.gateways and any(map(address.shares_prefix, route.gateways))),
        _is_like_masquerade(number, address, policy),
        address.address not in policy.stated,
        _is_private(number, address.address.version),
        not (address.prefix_length == LEASED6 and around.advertised.get(link.name)),
        "secondary" in address.flags,
        number,
        -address.prefix_length,
    )
    return Ranked(address, link, path, key, hint if path is Path.HINT else None, vip, route)


def by_router_alone(place: Ranked, policy: Policy, around: Surroundings) -> bool:
    """Return whether nothing but a router advertisement gives the node this address: no file, server, hint or VIP."""
    address = place.address
    if address.prefix_length == LEASED6 or place.path < Path.DEFAULT_ROUTE or address.address in policy.stated:
        return False
    return any(address.address in network for network in around.advertised.get(address.link, ()))


def best_first(place: Ranked) -> tuple[tuple[int, ...], str]:
    """Return what places are sorted by; links that the kernel did not list share an index, but not a name."""
    return place.key, place.address.link


KEY_NAMES = (
    "the better path",
    "an earlier hint",
    "the lower metric",
    "the lower link index",
    "the preferred family",
    "the gateway in its subnet",
    "no likeness to OVN-Kubernetes' own address",
    "been named by the node file",
    "a public address",
    "been assigned by DHCPv6",
    "the primary address of its subnet",
    "the lower address",
    "the longer prefix",
)
"""What the places of the tuple mean, for people."""


def _path(hint: Hint | None, vip: IPAddress | None, route: DefaultRoute | None) -> Path:
    if hint:
        return Path.HINT
    if vip:
        return Path.VIP
    return Path.DEFAULT_ROUTE if route else Path.NONE


def _hint(address: Address, link: Link, policy: Policy, around: Surroundings) -> tuple[int, Hint | None]:
    """Return the first hint that means *address*, and its position."""
    for position, hint in enumerate(policy.hints):
        if hint_means(hint, address, link, around):
            return position, hint
    return len(policy.hints), None


def hint_means(hint: Hint, address: Address, link: Link, around: Surroundings) -> bool:
    """Return whether *hint* means *address* on *link*.

    An address of this host means itself alone, another one its subnet. The name of a link means the bridge over it as
    well: the addresses of an uplink are on its bridge.
    """
    match hint.meaning:
        case str() as name:
            return name in link.names or name in around.below.get(link.name, ())
        case IPv4Address() as wanted if hint in around.by_address:
            return address.address == wanted
        case IPv6Address() as wanted if hint in around.by_address:
            return address.address == wanted
    return hint_reaches(hint, address)


def hint_reaches(hint: Hint, address: Address) -> bool:
    """Return whether *address* is in the subnet that *hint*, not the name of a link, is about."""
    match hint.meaning:
        case IPv4Address() | IPv6Address() as wanted:
            return address.shares_prefix(wanted)
        case str():
            return False
        case network:
            return address.address in network


def _vip(address: Address, policy: Policy, around: Surroundings) -> IPAddress | None:
    """Return the first VIP on the address's subnet."""
    lengths = vip_lengths(address, around)
    return next((vip for vip in policy.vips for length in lengths if address.shares_prefix(vip, length)), None)


def vip_lengths(address: Address, around: Surroundings) -> Collection[int]:
    """Return the prefix lengths of the subnets that a VIP may share with *address*."""
    if address.prefix_length == 128:
        return {network.prefixlen for network in around.advertised.get(address.link, ())}
    return (address.prefix_length,)


def _is_like_masquerade(number: int, address: Address, policy: Policy) -> bool:
    """Return whether *address* is what OVN-Kubernetes gives br-ex of every node: the second one of a small subnet.

    Which subnet that is, a cluster may choose; `ovn_masquerade_subnets` names it.
    """
    return policy.network_type in (UNSET, OVN_KUBERNETES) and is_like_masquerade(
        address.link, number, address.prefix_length
    )


def _is_private(number: int, version: int) -> bool:
    return any(version in part and part[version][0] <= number <= part[version][1] for part in PRIVATE)
