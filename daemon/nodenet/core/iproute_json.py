"""How is a snapshot written down, so that any host can make one with iproute2 alone?

The document has four keys, each what iproute2 prints: ``links`` (``ip -j -d link``), ``addresses``
(``ip -j -d address``), ``routes`` (``ip -j -d -4 route show table all``) and ``routes6`` (the same with ``-6``).
Keys and fields may be missing; the kernel's own defaults take their place. What is there must have the right type.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TypeVar, cast

from nodenet.core.errors import SnapshotInvalid
from nodenet.core.json_path import path_at
from nodenet.core.snapshot import (
    IPV6_DEFAULT_METRIC,
    MAIN_TABLE,
    Address,
    AddressFlag,
    Family,
    IPAddress,
    IPNetwork,
    Link,
    NextHop,
    Route,
    Snapshot,
)

FOREVER = 0xFFFFFFFF
"""How the kernel writes a lifetime without end (INFINITY_LIFE_TIME, linux/if_addr.h)."""
REMEDY = "A snapshot is what `nodenetctl snapshot` or `ip -j` prints"
MOST_BYTES = 32 << 20
"""More than a host with four thousand links and ten thousand addresses needs; reading takes some ten times as much."""
LESS = "Only default routes and those of router advertisements (proto ra) matter: leave the others out"
_OTHER_FAMILIES = frozenset({"mpls", "link", "bridge", "ipx", "dnet", "???"})
"""Families that iproute2 has names for, and its word for all that it has none for."""
_FLAGS = {flag.value: flag for flag in AddressFlag}
_ROUTE_KINDS_WITHOUT_WAY_OUT = ("unreachable", "blackhole", "prohibit", "throw")
T = TypeVar("T")


def parse(text: str | bytes) -> Snapshot:
    """Return the snapshot that *text* describes. Raises SnapshotInvalid naming the JSON path."""
    if len(text) > MOST_BYTES:
        raise SnapshotInvalid(f"The snapshot is larger than {MOST_BYTES >> 20} MiB", remedy=LESS)
    try:
        document = json.loads(text)
    except UnicodeDecodeError as error:
        raise SnapshotInvalid(f"The snapshot is not UTF-8, at byte {error.start}", remedy=REMEDY) from error
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}, at {path_at(error.doc, error.pos)}"
        raise SnapshotInvalid(f"The snapshot is not JSON, {where}: {error.msg}", remedy=REMEDY) from error
    except ValueError as error:  # a number with thousands of digits
        raise SnapshotInvalid(f"The snapshot cannot be read: {error}", remedy=REMEDY) from error
    except RecursionError as error:
        raise SnapshotInvalid("The snapshot is nested too deeply", remedy=REMEDY) from error
    return from_document(document)


def from_document(document: object) -> Snapshot:
    """Return the snapshot of a decoded JSON document. Raises SnapshotInvalid naming the JSON path."""
    top = _Node(document, "$")
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


class _Node:
    """A JSON object and the path that leads to it."""

    __slots__ = ("path", "value")

    def __init__(self, value: object, path: str) -> None:
        if not isinstance(value, dict):
            raise _wrong(path, value, "an object")
        self.value: dict[str, object] = value
        self.path = path

    def get(self, key: str, kind: type[T], default: T) -> T:
        """Return a field of type *kind*; absent or null gives *default*."""
        found = self.value.get(key)
        if found is None:
            return default
        # JSON's true is not a number, though Python's is.
        if not isinstance(found, kind) or (kind is int and isinstance(found, bool)):
            raise _wrong(f"{self.path}.{key}", found, _NAMES[kind])
        return found

    def maybe(self, key: str, kind: type[T]) -> T | None:
        """Return a field of type *kind*, None when it is absent."""
        return self.get(key, kind, cast("T", None))

    def strings(self, key: str) -> tuple[str, ...]:
        """Return a list of strings, empty when it is absent."""
        found = self.get(key, list, [])
        for i, item in enumerate(found):
            if not isinstance(item, str):
                raise _wrong(f"{self.path}.{key}[{i}]", item, "a string")
        return tuple(found)

    def children(self, key: str) -> Iterator[_Node]:
        """Yield the objects of a list; iproute2 leaves empty objects where it filtered something out."""
        for i, item in enumerate(self.get(key, list, [])):
            node = _Node(item, f"{self.path}.{key}[{i}]")
            if node.value:
                yield node

    def whole(self, key: str, default: int, limit: int) -> int:
        """Return a whole number from 0 to *limit*."""
        found = self.get(key, int, default)
        if not 0 <= found <= limit:
            raise _wrong(f"{self.path}.{key}", found, f"a number from 0 to {limit}")
        return found

    def address(self, key: str, family: Family | None = None) -> IPAddress | None:
        """Return an address, None when it is absent."""
        text = self.maybe(key, str)
        if text is None:
            return None
        try:
            match family:
                case Family.IPV4:
                    return IPv4Address(text)
                case Family.IPV6:
                    return IPv6Address(text)
            return ip_address(text)
        except ValueError as error:
            raise _wrong(f"{self.path}.{key}", text, f"an {family or 'IP'} address") from error


_NAMES: dict[type, str] = {str: "a string", int: "a number", bool: "true or false", list: "a list", dict: "an object"}


def _wrong(path: str, value: object, expected: str) -> SnapshotInvalid:
    shown = json.dumps(value)
    shown = shown if len(shown) <= 40 else shown[:37] + "..."
    return SnapshotInvalid(f"The snapshot has {shown} at {path}, {expected} was expected", remedy=REMEDY)


def _link(node: _Node, position: int) -> Link:
    flags = node.strings("flags") if "flags" in node.value else None
    name = node.get("ifname", str, "")
    if not name:
        raise _wrong(f"{node.path}.ifname", node.value.get("ifname"), "a link's name")
    linkinfo = node.maybe("linkinfo", dict)
    mac = node.maybe("address", str)
    permanent = node.maybe("permaddr", str)
    return Link(
        index=node.whole("ifindex", position, 0x7FFFFFFF),
        name=name,
        altnames=node.strings("altnames"),
        kind=_Node(linkinfo, f"{node.path}.linkinfo").maybe("info_kind", str) if linkinfo else None,
        up=flags is None or "UP" in flags,
        carrier=flags is None or "LOWER_UP" in flags,
        loopback=flags is not None and "LOOPBACK" in flags,
        operstate=node.get("operstate", str, "UNKNOWN"),
        mac=mac,
        permanent_mac=permanent if permanent != mac else None,
        master=node.maybe("master", str),
    )


def _addresses(node: _Node) -> Iterator[Address]:
    link = node.get("ifname", str, "")
    for item in node.children("addr_info"):
        family = _address_family(item)
        if family is None:
            continue
        local = item.address("local", family)
        if local is None:
            raise _wrong(f"{item.path}.local", None, f"an {family} address")
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


def _address_family(item: _Node) -> Family | None:
    """Return the family; other protocols' addresses are none of ours."""
    match item.maybe("family", str):
        case "inet":
            return Family.IPV4
        case "inet6":
            return Family.IPV6
        case None:
            return Family.IPV6 if ":" in item.get("local", str, "") else Family.IPV4
        case str() as other if other not in _OTHER_FAMILIES:
            raise _wrong(f"{item.path}.family", other, "`inet` or `inet6`")
    return None


def _lifetime(item: _Node, key: str) -> int | None:
    seconds = item.whole(key, FOREVER, FOREVER)
    return None if seconds == FOREVER else seconds


def _route(node: _Node, family: Family) -> Route:
    kind = node.get("type", str, "unicast")
    hops = [_next_hop(hop, family) for hop in node.children("nexthops")]
    if not hops and kind not in _ROUTE_KINDS_WITHOUT_WAY_OUT:
        # A next-hop object is told with the route; what a group of them leads to is not.
        told_apart = "nh_info" in node.value and "dev" not in node.value
        single = _Node(node.value["nh_info"], f"{node.path}.nh_info") if told_apart else node
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


def _next_hop(node: _Node, family: Family) -> NextHop:
    gateway = node.address("gateway", family)
    via = node.maybe("via", dict)
    if gateway is None and via is not None:
        gateway = _Node(via, f"{node.path}.via").address("host")
    return NextHop(node.maybe("dev", str), gateway)


def _destination(node: _Node, family: Family) -> IPNetwork:
    text = node.get("dst", str, "default")
    network = IPv4Network if family is Family.IPV4 else IPv6Network
    if text == "default":
        return network((0, 0))
    try:
        return network(text, strict=False)
    except ValueError as error:
        raise _wrong(f"{node.path}.dst", text, f"an {family} prefix or `default`") from error
