"""How is a snapshot printed, so that people and tools that know ``ip -j`` can read it?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nodenet.core.ip import Family, IPNetwork
from nodenet.core.kernel.iproute_read import FOREVER
from nodenet.core.kernel.snapshot import Address, Link, NextHop, Route, Snapshot


def to_document(snapshot: Snapshot) -> dict[str, list[dict[str, Any]]]:
    """Return the snapshot in iproute2's shape; parsing it gives an equal snapshot back."""
    by_link: dict[str, list[dict[str, Any]]] = {link.name: [] for link in snapshot.links}
    for address in snapshot.addresses:
        by_link.setdefault(address.link, []).append(_address_fields(address))
    with_addresses = [
        {key: value for key, value in _link_fields(link).items() if key != "permaddr"}
        | {"addr_info": by_link[link.name]}
        for link in snapshot.links
    ]
    return {
        "links": [_link_fields(link) for link in snapshot.links],
        "addresses": with_addresses,
        "routes": [_route_fields(route) for route in snapshot.routes if route.family is Family.IPV4],
        "routes6": [_route_fields(route) for route in snapshot.routes if route.family is Family.IPV6],
    }


def _present(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    return {key: value for key, value in pairs if value is not None}


def _link_fields(link: Link) -> dict[str, Any]:
    flags = (("LOOPBACK", link.loopback), ("UP", link.up), ("LOWER_UP", link.carrier))
    return _present(
        (
            ("ifindex", link.index),
            ("link", link.base),
            ("ifname", link.name),
            ("flags", [name for name, is_set in flags if is_set]),
            ("mtu", link.mtu or None),
            ("master", link.master),
            ("operstate", link.operstate),
            ("address", link.mac),
            ("permaddr", link.permanent_mac),
            ("linkinfo", {"info_kind": link.kind} if link.kind else None),
            ("altnames", list(link.altnames) or None),
        )
    )


def _address_fields(address: Address) -> dict[str, Any]:
    return _present(
        (
            ("family", "inet" if address.family is Family.IPV4 else "inet6"),
            ("local", str(address.address)),
            ("address", str(address.peer) if address.peer else None),
            ("prefixlen", address.prefix_length),
            *((flag.value, True) for flag in sorted(address.flags)),
            ("label", address.label),
            ("valid_life_time", _seconds(address.valid_lifetime)),
            ("preferred_life_time", _seconds(address.preferred_lifetime)),
        )
    )


def _seconds(lifetime: int | None) -> int:
    return FOREVER if lifetime is None else lifetime


def _route_fields(route: Route) -> dict[str, Any]:
    single = route.next_hops[0] if len(route.next_hops) == 1 else None
    several = () if single else route.next_hops
    return _present(
        (
            ("type", route.kind),
            ("dst", "default" if route.is_default else _destination_text(route.destination)),
            ("nhid", route.nexthop_id),
            *(_hop_fields(single, route.family).items() if single else ()),
            ("table", route.table),
            ("protocol", route.protocol),
            # As iproute2: 0 is not printed for IPv4.
            ("metric", route.metric if route.metric or route.family is Family.IPV6 else None),
            ("flags", []),
            ("nexthops", [_hop_fields(hop, route.family) for hop in several] or None),
        )
    )


def _destination_text(network: IPNetwork) -> str:
    return str(network.network_address) if network.prefixlen == network.max_prefixlen else str(network)


def _hop_fields(hop: NextHop, family: Family) -> dict[str, Any]:
    gateway = hop.gateway
    other = gateway is not None and (gateway.version == 4) is not (family is Family.IPV4)
    via = {"family": "inet6" if gateway and gateway.version == 6 else "inet", "host": str(gateway)} if other else None
    return _present(
        (("gateway", str(gateway) if gateway and not other else None), ("via", via), ("dev", hop.link)),
    )
