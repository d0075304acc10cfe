"""Where is this node on the network: the links that carry its node IPs now, and their subnets?"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from ipaddress import ip_network

from nodenet.core.hosted_services.model import Here, Place
from nodenet.core.ip import Family, IPAddress, IPNetwork, family_of
from nodenet.core.kernel.snapshot import Address, Snapshot


def here(name: str, node_ips: Iterable[IPAddress], snapshot: Snapshot, *, remote_worker: bool = False) -> Here:
    """Return this node as *snapshot* shows it; a node IP that no link carries at this moment is left out."""
    places = {}
    for node_ip in node_ips:
        found = _carrier(node_ip, snapshot)
        if found is not None and family_of(node_ip) not in places:
            places[family_of(node_ip)] = Place(node_ip, found.link, _subnet(found, snapshot))
    return Here(name, places, remote_worker)


def expected(name: str, addresses: Iterable[IPAddress]) -> Here:
    """Return this node with *addresses* that no link has yet: a place has no link then."""
    places: dict[Family, Place] = {}
    for address in addresses:
        places.setdefault(family_of(address), Place(address, "", ip_network(address)))
    return Here(name, places)


def likely(vips: Collection[IPAddress], snapshot: Snapshot) -> tuple[IPAddress, ...]:
    """Return what is mostly selected as node IPs: in each family of *vips* an address in the subnet of one.

    None while *snapshot* has no such address in one of the families: it may still come.
    """
    found: dict[Family, IPAddress] = {}
    for one in snapshot.addresses:
        if one.address not in vips and any(one.shares_prefix(vip) for vip in vips):
            found.setdefault(one.family, one.address)
    return tuple(found.values()) if found.keys() == set(map(family_of, vips)) else ()


def _carrier(node_ip: IPAddress, snapshot: Snapshot) -> Address | None:
    """Return the address on its link; while it moves to a bridge, that of the bridge."""
    enslaved = {link.name for link in snapshot.links if link.master is not None}
    found = [address for address in snapshot.addresses if address.address == node_ip]
    return next((address for address in found if address.link not in enslaved), next(iter(found), None))


def _subnet(address: Address, snapshot: Snapshot) -> IPNetwork:
    """Return its subnet; that of a /128 is the longest prefix which a router advertises on its link."""
    if address.prefix_length == 128:
        advertised = [
            route.destination
            for route in snapshot.routes
            if route.protocol == "ra"
            and not route.is_default
            and address.address in route.destination
            and any(hop.link == address.link for hop in route.next_hops)
        ]
        if advertised:
            return max(advertised, key=lambda network: network.prefixlen)
    return ip_network(f"{address.address}/{address.prefix_length}", strict=False)
