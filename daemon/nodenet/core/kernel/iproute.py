"""How is a snapshot read from the JSON of iproute2, and written as such?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network, IPv6Network
from typing import Any

from nodenet.core.errors import SnapshotInvalid
from nodenet.core.ip import Family, IPNetwork
from nodenet.core.json_reader import Node, decoded
from nodenet.core.kernel.snapshot import (
    IPV6_DEFAULT_METRIC,
    MAIN_TABLE,
    Address,
    AddressFlag,
    Link,
    NextHop,
    Route,
    Snapshot,
)

FOREVER = 0xFFFFFFFF
"""How the kernel writes a lifetime without end (INFINITY_LIFE_TIME, linux/if_addr.h)."""
KEYS = ("links", "addresses", "routes", "routes6")
REMEDY = "A snapshot is what `nodenetctl snapshot` or `ip -j address` prints"
MOST_BYTES = 32 << 20
"""More than a host with four thousand links and ten thousand addresses needs; reading takes some ten times as much."""
LESS = "Only default routes and those of router advertisements (proto ra) matter: leave the others out"
_OTHER_FAMILIES = frozenset({"mpls", "link", "bridge", "ipx", "dnet", "???"})
"""Families that iproute2 has names for, and its word for all that it has none for."""
_FLAGS = {flag.value: flag for flag in AddressFlag}
_ROUTE_KINDS_WITHOUT_WAY_OUT = ("unreachable", "blackhole", "prohibit", "throw")


def parse(text: str | bytes) -> Snapshot:
    """Return the snapshot that *text* describes. Raises SnapshotInvalid naming the JSON path."""
    return from_document(decoded(text, MOST_BYTES, REMEDY, LESS))


def from_document(document: object) -> Snapshot:
    """Return the snapshot of a decoded JSON document. Raises SnapshotInvalid naming the JSON path."""
    if isinstance(document, list):
        if not any(isinstance(item, dict) and "addr_info" in item for item in document):
            raise SnapshotInvalid("The snapshot is a list, but not that of `ip -j address`", remedy=REMEDY)
        document = {"addresses": document}
    top = Node(document, "$", REMEDY)
    if top.value.keys().isdisjoint(KEYS):
        raise SnapshotInvalid(f"The snapshot has none of the keys {', '.join(KEYS)}", remedy=REMEDY)
    return _snapshot(top)


def _snapshot(top: Node) -> Snapshot:
    with_addresses = list(top.children("addresses"))
    links = {link.name: link for link in (_link(node, i) for i, node in enumerate(with_addresses, 1))}
    links |= {link.name: link for link in (_link(node, i) for i, node in enumerate(top.children("links"), 1))}
    routes = [_route(node, Family.IPV4) for node in top.children("routes")]
    routes += [_route(node, Family.IPV6) for node in top.children("routes6")]
    return Snapshot(
        links=tuple(links.values()),
        addresses=tuple(address for node in with_addresses for address in _addresses(node)),
        routes=tuple(routes),
    )


def _link(node: Node, position: int) -> Link:
    flags = node.strings("flags") if "flags" in node.value else None
    name = node.get("ifname", str, "")
    if not name:
        raise node.wrong("ifname", "a link's name")
    linkinfo = node.child("linkinfo")
    mac = node.maybe("address", str)
    permanent = node.maybe("permaddr", str)
    return Link(
        index=node.whole("ifindex", position, 0x7FFFFFFF),
        name=name,
        altnames=node.strings("altnames"),
        kind=linkinfo.maybe("info_kind", str) if linkinfo else None,
        up=flags is None or "UP" in flags,
        carrier=flags is None or "LOWER_UP" in flags,
        loopback=flags is not None and "LOOPBACK" in flags,
        operstate=node.get("operstate", str, "UNKNOWN"),
        mac=mac,
        permanent_mac=permanent if permanent != mac else None,
        master=node.maybe("master", str),
        mtu=node.whole("mtu", 0, 0xFFFFFFFF),
        base=node.maybe("link", str),
    )


def _addresses(node: Node) -> Iterator[Address]:
    link = node.get("ifname", str, "")
    for item in node.children("addr_info"):
        family = _address_family(item)
        if family is None:
            continue
        local = item.address("local", family)
        if local is None:
            raise item.wrong("local", f"an {family} address")
        yield Address(
            address=local,
            prefix_length=item.whole("prefixlen", local.max_prefixlen, local.max_prefixlen),
            link=link,
            label=item.maybe("label", str),
            flags=frozenset(flag for name, flag in _FLAGS.items() if item.get(name, bool, default=False)),
            valid_lifetime=_lifetime(item, "valid_life_time"),
            preferred_lifetime=_lifetime(item, "preferred_life_time"),
            peer=item.address("address", family),
        )


def _address_family(item: Node) -> Family | None:
    """Return the family; addresses of other protocols are left out."""
    match item.maybe("family", str):
        case "inet":
            return Family.IPV4
        case "inet6":
            return Family.IPV6
        case None:
            return Family.IPV6 if ":" in item.get("local", str, "") else Family.IPV4
        case str() as other if other not in _OTHER_FAMILIES:
            raise item.wrong("family", "`inet` or `inet6`")
    return None


def _lifetime(item: Node, key: str) -> int | None:
    seconds = item.whole(key, FOREVER, FOREVER)
    return None if seconds == FOREVER else seconds


def _route(node: Node, family: Family) -> Route:
    kind = node.get("type", str, "unicast")
    hops = [_next_hop(hop, family) for hop in node.children("nexthops")]
    if not hops and kind not in _ROUTE_KINDS_WITHOUT_WAY_OUT:
        # A next-hop object is printed with the route; the members of a group are not.
        single = (None if "dev" in node.value else node.child("nh_info")) or node
        hops = [hop for hop in (_next_hop(single, family),) if hop != NextHop(None)]
    # iproute2 does not print IPv4's metric 0; for IPv6 the kernel knows no "without metric".
    metric = node.whole("metric", 0 if family is Family.IPV4 else IPV6_DEFAULT_METRIC, 0xFFFFFFFF)
    table = node.value.get("table")
    return Route(
        destination=_destination(node, family),
        next_hops=tuple(hops),
        metric=metric,
        table=str(table) if isinstance(table, int) else node.get("table", str, MAIN_TABLE),
        protocol=node.maybe("protocol", str),
        kind=kind,
        nexthop_id=node.maybe("nhid", int),
    )


def _next_hop(node: Node, family: Family) -> NextHop:
    gateway = node.address("gateway", family)
    via = node.child("via")
    if gateway is None and via is not None:
        gateway = via.address("host")
    return NextHop(node.maybe("dev", str), gateway)


def _destination(node: Node, family: Family) -> IPNetwork:
    text = node.get("dst", str, "default")
    network = IPv4Network if family is Family.IPV4 else IPv6Network
    if text == "default":
        return network((0, 0))
    try:
        return network(text, strict=False)
    except ValueError as error:
        raise node.wrong("dst", f"an {family} prefix or `default`") from error


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
