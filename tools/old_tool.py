"""What would ``runtimecfg node-ip`` answer on this host?

A model of its rules, to hold our answers against: docs/node-ip.md lists every case of the fixtures in which they
differ, and why. It shares nothing with our rules but the snapshot. Its own order of addresses is the snapshot's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from nodenet.core.ip import Family, IPAddress
from nodenet.core.kernel.snapshot import Address, AddressFlag, Route, Snapshot
from nodenet.core.node_ip.policy import Policy

Answer = tuple[IPAddress, ...] | None
"""The node IPs, primary first; empty: it tries again. None: it refuses its arguments, and its unit repeats them."""
PRIVATE = [ip_network(text) for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")]
OVN_ADDRESS = ip_address("fd69::2")


def answers(snapshot: Snapshot, policy: Policy, unbindable: Collection[IPAddress] = ()) -> set[Answer]:
    """Return every answer that it may give: it visits links in random order."""
    hints = [hint.meaning for hint in policy.hints]
    vips = [item for item in (*hints, *policy.vips) if isinstance(item, IPv4Address | IPv6Address)]
    if len(vips) != len(hints) + len(policy.vips):
        return {None}
    family = policy.family_order[0]
    usual = _filtered(snapshot, ())
    found = {
        answer for link in snapshot.links for answer in _on_a_vips_subnet(link.name, snapshot, usual, vips, family)
    }
    if not found:
        ovn = policy.network_type == "OVNKubernetes"
        found = {_by_default_route(snapshot, _filtered(snapshot, (OVN_ADDRESS,) if ovn else ()), family)}
    blocked = {item.address for item in snapshot.addresses if _cannot_be_bound(item)} | set(unbindable)
    # The first one alone is tried, and only of IPv6; a failure is tried again, not another address.
    return {() if answer and answer[0].version == 6 and answer[0] in blocked else answer for answer in found}


def _cannot_be_bound(item: Address) -> bool:
    tentative = AddressFlag.TENTATIVE in item.flags and AddressFlag.OPTIMISTIC not in item.flags
    return tentative or AddressFlag.DAD_FAILED in item.flags


def _filtered(snapshot: Snapshot, besides: Sequence[IPAddress]) -> list[Address]:
    """Return the addresses that pass; those of another family than their text's are judged as that."""

    def passes(item: Address) -> bool:
        address = _plain(item.address)
        deprecated = item.address.version == 6 and item.preferred_lifetime == 0
        label = (item.label or item.link) if item.address.version == 4 else ""
        return not (address.is_link_local or deprecated or "eip" in label or item.address in besides)

    return list(filter(passes, snapshot.addresses))


def _plain(address: IPAddress) -> IPAddress:
    return (address.ipv4_mapped if isinstance(address, IPv6Address) else None) or address


def _on_a_vips_subnet(
    link: str, snapshot: Snapshot, usual: Sequence[Address], vips: Sequence[IPAddress], family: Family
) -> Iterator[Answer]:
    """Yield the answer for a link with an address on a VIP's subnet: its first, and its first of the other family."""
    here = [item for item in usual if item.link == link]
    match = next((item for item in here if _matches(item, snapshot, vips)), None)
    if match:
        others = [item for item in here if item.family is not match.family][:1]
        yield tuple(item.address for item in sorted((match, *others), key=lambda item: item.family is not family))


def _matches(item: Address, snapshot: Snapshot, vips: Sequence[IPAddress]) -> bool:
    if _plain(item.address) in map(_plain, vips):
        return False
    lengths = [item.prefix_length]
    if item.prefix_length == 128:
        lengths = [
            route.destination.prefixlen
            for route in snapshot.routes
            if route.protocol == "ra" and route.family is Family.IPV6 and not route.is_default
            if route.table == "main" and [hop.link for hop in route.next_hops] == [item.link]
        ]
    return any(_contains(item.address, length, vip) for length in lengths for vip in vips)


def _contains(address: IPAddress, length: int, vip: IPAddress) -> bool:
    """Return whether the subnet holds *vip*; of a mapped address it takes the last 32 bits of the mask alone."""
    if _plain(address) is not address and vip.version == 4:
        address, length = _plain(address), max(0, length - 96)
    return address.version == vip.version and vip in ip_network((address, length), strict=False)


def _link_of(route: Route) -> str | None:
    """Return the link that the kernel reports with the route: none for a multipath one, lo for IPv6's unreachable."""
    if not route.next_hops and route.family is Family.IPV6:
        return "lo"
    return route.next_hops[0].link if len(route.next_hops) == 1 else None


def _by_default_route(snapshot: Snapshot, usable: Sequence[Address], family: Family) -> Answer:
    """Return the best address of each family on links with a default route of either, in the order of preference."""
    indices = {link.name: link.index for link in snapshot.links}
    first: dict[str, Route] = {}
    for route in sorted(snapshot.routes, key=lambda route: route.destination.version):
        if route.is_default and route.table == "main" and (link := _link_of(route)):
            first.setdefault(link, route)

    def key(item: Address) -> tuple[object, ...]:
        route = first[item.link]
        gateway = route.next_hops[0].gateway if route.next_hops else None
        return (
            route.metric,
            indices[item.link],
            item.family is not family,
            not (gateway and _contains(item.address, item.prefix_length, gateway)),
            any(_plain(item.address) in network for network in PRIVATE),
            _plain(item.address) is not item.address,
            item.address.packed,
        )

    places = sorted((item for item in usable if item.link in first), key=key)
    found: dict[Family, IPAddress] = {}
    for item in places:
        found.setdefault(item.family, item.address)
    return tuple(found.values())
