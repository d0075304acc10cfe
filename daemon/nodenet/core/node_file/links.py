"""Which links does a node file configure: which must exist before, which does it make, which get a lease?"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field, replace
from types import MappingProxyType

from nodenet.core.ip import Family
from nodenet.core.nmstate.state import OVS_BRIDGE
from nodenet.core.node_file.values import interfaces, mac_address, routes, text
from nodenet.core.node_file.yaml_text import Block, Node, Scalar
from nodenet.core.value import frozen

NICS = frozenset({"", "ethernet", "infiniband", "unknown", "veth"})
"""Types of interfaces that exist before: NMState makes none of them, but veth, which may exist as well."""
NO = frozenset({"", "false", "no", "off", "n"})


@frozen
class Links:
    """Links by name. *existing* must be there before the file is applied, *made* can be made by it.

    *leased* are those that it gives an IPv4 address by DHCP. *awaited* are those of *existing* that a kernel must list
    by this very name: not a link that another key identifies, nor one that the file ignores or sets down, nor a veth,
    which libnmstate can make. *bases* are those of them that carry a VLAN or its like. *profiles* are the names that
    libnmstate gives new profiles where a name is not made of that of the link. *by_key*: another key, as a MAC address,
    identifies one of them; its link then has any name, and its profile names no link. *macs*: name in the file → the
    MAC address that identifies the link, in lower case with colons. *below*: bridge of Open vSwitch → its ports.
    """

    existing: frozenset[str] = frozenset()
    made: frozenset[str] = frozenset()
    leased: frozenset[str] = frozenset()
    awaited: frozenset[str] = frozenset()
    bases: frozenset[str] = frozenset()
    profiles: frozenset[str] = frozenset()
    by_key: bool = False
    macs: Mapping[str, str] = field(default_factory=dict)
    below: Mapping[str, frozenset[str]] = field(default_factory=dict)


def links_of(interfaces: Iterable[Block]) -> Links:
    """Return the links of these *interfaces* of a node file, with those that are only named as a port or a base."""
    found = tuple(interfaces)
    made = frozenset(text(item, "name") for item in found if text(item, "type") not in NICS)
    named = {name for item in found for name in (text(item, "name"), *_below(item))}
    leased = frozenset(text(item, "name") for item in found if _asks_for_lease(item))
    active = [item for item in found if text(item, "state") not in ("ignore", "down")]
    free = made.union(*(_names_of(item) for item in found if _is_free(item)), _bonds_in_bridges(found))
    awaited = {name for item in active for name in (text(item, "name"), *_below(item))} - free
    bases = {name for item in active for name in bases_of(item)} - free
    keyed = [item for item in found if _is_by_key(item)]
    profiles = {text(item, "profile-name") for item in found} | {text(item, "name") for item in keyed}
    return Links(
        existing=frozenset(named - made),
        made=made,
        leased=leased,
        awaited=frozenset(awaited),
        bases=frozenset(bases),
        profiles=frozenset(profiles - {""}),
        by_key=bool(keyed),
        macs={text(item, "name"): mac_address(mac) for item in keyed if (mac := text(item, "mac-address"))},
        below={text(item, "name"): frozenset(ports_of(item)) for item in active if text(item, "type") == OVS_BRIDGE},
    )


def bases_of(item: Block) -> Iterator[str]:
    """Yield the base of a VLAN, a MAC VLAN and so on."""
    for _, part in item.entries:
        if isinstance(part, Block):
            yield from _names(part.get("base-iface"))


def _bonds_in_bridges(found: Iterable[Block]) -> Iterator[str]:
    """Yield the names of bonds of Open vSwitch, which are ports of a bridge and no links."""
    for item in found:
        bridge = item.get("bridge")
        ports = bridge.get("port") if isinstance(bridge, Block) else None
        for port in ports.items if isinstance(ports, Block) else ():
            if isinstance(port, Block) and port.get("link-aggregation") is not None:
                yield text(port, "name")


def _is_free(item: Block) -> bool:
    """Return whether no link needs the name of *item*."""
    return _is_by_key(item) or text(item, "state") == "ignore" or text(item, "type") == "veth"


def _is_by_key(item: Block) -> bool:
    """Return whether another key than the name identifies the link of *item*."""
    return text(item, "identifier") not in ("", "name")


def _names_of(item: Block) -> Iterator[str]:
    yield text(item, "name")
    veth = item.get("veth")
    if isinstance(veth, Block):
        yield text(veth, "peer")


def _asks_for_lease(item: Block) -> bool:
    ipv4 = item.get("ipv4")
    return isinstance(ipv4, Block) and text(ipv4, "dhcp").lower() not in NO


def _below(item: Block) -> Iterator[str]:
    """Yield the ports and the base of an interface: NMState has them in one mapping for each type."""
    yield from bases_of(item)
    yield from ports_of(item)


def ports_of(item: Block) -> Iterator[str]:
    """Yield the ports of a bond, a bridge, a VRF and so on."""
    for _, part in item.entries:
        if isinstance(part, Block):
            for key in ("port", "ports"):
                yield from _names(part.get(key))


def _names(node: Node | None) -> Iterator[str]:
    if isinstance(node, Scalar):
        yield node.text
    elif isinstance(node, Block):
        for item in node.items:
            yield from _names(item.get("name") if isinstance(item, Block) else item)
            if isinstance(item, Block):  # a bond of Open vSwitch
                yield from _below(item)


# Which leases and which gateways does a node file ask for, and does it say that no way out is meant?
#
# What the file names is what the network must give it (``core.probes.cut_off``).

MAIN_TABLE = "main"
"""As the kernel's snapshot names it."""
_GONE = frozenset({"absent", "down", "ignore"})
_DEFAULT = {"0.0.0.0/0": (Family.IPV4,), "::/0": (Family.IPV6,)}
_HALVES = frozenset({"0.0.0.0/1", "128.0.0.0/1", "::/1", "8000::/1"})
"""Two routes that lead everywhere, and leave the place of a default route free."""
_NO_GATEWAY = ("0.0.0.0", "::")  # noqa: S104  (how nmstate writes "no next hop")


@frozen
class Hop:
    """A default route of *family* in *table*; *gateway* is empty where it has none."""

    link: str
    family: Family
    gateway: str
    table: str = MAIN_TABLE


@frozen
class Lease:
    """An address of *family* that the file asks a server for; its default route goes to *table*, empty: it has none."""

    link: str
    family: Family
    table: str = MAIN_TABLE


@frozen
class Demands:
    """What the file asks for.

    *places* are the links and families in which it gives a link an address, *hops* its static default routes.
    *isolated*: it says that the node needs no default route in the main table. *mtu*: it names the MTU of a link.
    """

    places: frozenset[tuple[str, Family]] = frozenset()
    hops: frozenset[Hop] = frozenset()
    leases: frozenset[Lease] = frozenset()
    isolated: bool = False
    mtu: bool = False

    @property
    def families(self) -> frozenset[Family]:
        """The families in which the file gives the node a way out, and those of addresses beside it on such a link."""
        ways = {(hop.link, hop.family) for hop in self.hops} | {(it.link, it.family) for it in self.leases if it.table}
        links = {link for link, _ in ways}
        return frozenset(family for link, family in ways | self.places if link in links)

    @property
    def addressed(self) -> frozenset[Family]:
        """The families in which it gives any link an address."""
        return frozenset(family for _, family in self.places)

    def within(self, tables: Collection[str]) -> Demands:
        """Return what counts where the default routes of *tables* are used."""
        hops = frozenset(hop for hop in self.hops if hop.table in tables)
        leases = frozenset(each if each.table in tables else replace(each, table="") for each in self.leases)
        return replace(self, hops=hops, leases=leases)


NO_DEMANDS = Demands()


def demands(document: Block, names: Mapping[str, str] = MappingProxyType({})) -> Demands:
    """Return what a node file asks for; *names*: name of a link in the file → name in the result."""
    present = [item for _, item in interfaces(document) if text(item, "state") not in _GONE]
    named = [(item, names.get(text(item, "name"), text(item, "name"))) for item in present]
    places = frozenset((link, family) for item, link in named for family in Family if _is_addressed(item, family))
    tables = {names.get(port, port): table for port, table in _tables_of_ports(present)}
    leases = frozenset(lease for item, link in named for lease in _leases(item, link, tables.get(link, MAIN_TABLE)))
    found = [route for _, route in routes(document)]
    hops = frozenset(hop for route in found for hop in _hops(route, names))
    elsewhere = ({each.table for each in hops} | {each.table for each in leases}) - {MAIN_TABLE}
    isolated = bool(elsewhere) or any(map(_is_end, found))
    return Demands(places, hops, leases, isolated, any(text(item, "mtu") for item in present))


def _section(item: Block, family: Family) -> Block | None:
    """Return the section of *family* where it is not switched off."""
    section = item.get(family.value)
    is_on = isinstance(section, Block) and not _is_off(section, "enabled")
    return section if is_on and isinstance(section, Block) else None


def _is_addressed(item: Block, family: Family) -> bool:
    section = _section(item, family)
    addresses = section.get("address") if section else None
    return bool(section) and ((isinstance(addresses, Block) and bool(addresses.items)) or _is_leased(section, family))


def _is_leased(section: Block | None, family: Family) -> bool:
    """Return whether the file asks for it by a key: without one libnmstate leaves the link as it is."""
    keys = ("dhcp",) if family is Family.IPV4 else ("dhcp", "autoconf")
    return section is not None and any(text(section, key).lower() not in NO for key in keys)


def _leases(item: Block, link: str, table: str) -> Iterator[Lease]:
    for family in Family:
        section = _section(item, family)
        if section is None or not _is_leased(section, family):
            continue
        is_beside = _is_off(section, "auto-gateway") or _is_off(section, "auto-routes")
        own = _table(text(section, "auto-route-table-id"))
        yield Lease(link, family, "" if is_beside else own if own != MAIN_TABLE else table)


def _tables_of_ports(present: Iterable[Block]) -> Iterator[tuple[str, str]]:
    """Yield the ports of VRFs, and the table that routes of their leases go to."""
    for item in present:
        vrf = item.get("vrf")
        if isinstance(vrf, Block):
            yield from ((port, _table(text(vrf, "route-table-id"))) for port in ports_of(item))


def _hops(route: Block, names: Mapping[str, str]) -> Iterator[Hop]:
    """Yield the default route that *route* is; one that drops packets is none."""
    if text(route, "state") in ("absent", "ignore") or text(route, "route-type") not in ("", "unicast"):
        return
    gateway, link = text(route, "next-hop-address"), text(route, "next-hop-interface")
    for family in _DEFAULT.get(text(route, "destination"), ()):
        table = text(route, "vrf-name") or _table(text(route, "table-id"))
        yield Hop(names.get(link, link), family, "" if gateway in _NO_GATEWAY else gateway, table)


def _is_end(route: Block) -> bool:
    """Return whether *route* says that a default route is not wanted, or leads everywhere without being one."""
    destination = text(route, "destination")
    if text(route, "state") == "absent":
        return destination in ("", *_DEFAULT)
    return destination in _HALVES


def _table(number: str) -> str:
    """Return a table as the kernel's snapshot names it."""
    return MAIN_TABLE if number in ("", "0", "254") else number


def _is_off(section: Block, key: str) -> bool:
    return text(section, key).lower() in NO - {""}


# How does a node file read with other names for its links?
#
# Only the names are replaced, each in its place: lines, comments and all other values stay as they are written.

KEYS = frozenset(
    {
        *("name", "port", "ports", "base-iface", "next-hop-interface", "iif", "copy-mac-from", "controller", "peer"),
        *("port1", "port2", "primary", "server"),
    }
)
"""NMState's keys whose values name links; a link-local DNS server has one behind `%`."""
_NAMED = re.compile(r"(?P<before>sriov:|.*%)?(?P<link>[^%:]+)(?::\d+)?")
"""A link, alone, as `sriov:PF:ID`, or as the zone of an address."""
_PROPERTIES = re.compile(r"(?:[&!]\S*[ \t]+)*[\"']?")
"""What may stand before a scalar: anchor, tag and the opening quote."""
_PLAIN = re.compile(r"[^\"\\\s]+")


def with_names(text: str, document: Block, names: Mapping[str, str]) -> str | None:
    """Return *text*, which *document* was read from, with new names for links: *names* has old name → new name.

    None where a name is written in a way that is not followed, such as with an escape.
    """
    lines = text.splitlines(keepends=True)
    places: dict[tuple[int, int], tuple[str, str]] = {}
    for scalar in _naming(document):
        found = _NAMED.fullmatch(scalar.text)
        if found is None or found["link"] not in names:
            continue
        place = _place(lines, scalar)
        if place is None or not _PLAIN.fullmatch(names[found["link"]]):
            return None
        line, start = place
        quotes = '"' * (scalar.plain and found["link"] == scalar.text)
        places[line, start + found.start("link")] = found["link"], quotes + names[found["link"]] + quotes
    for (line, column), (old, new) in sorted(places.items(), reverse=True):
        lines[line] = lines[line][:column] + new + lines[line][column + len(old) :]
    return "".join(lines)


def is_so_named(before: Block, after: Block, names: Mapping[str, str]) -> bool:
    """Return whether *after* is *before* with new *names* for its links."""
    one, two = (links_of(item for _, item in interfaces(each)) for each in (before, after))
    return {_new(name, names) for name in one.existing} == two.existing


def lines_of_entries(document: Block) -> dict[str, int]:
    """Return name → line of the key `name` of each interface."""
    named = ((item.get("name"), item) for _, item in interfaces(document))
    return {name.text: name.line for name, _ in named if isinstance(name, Scalar)}


def _new(name: str, names: Mapping[str, str]) -> str:
    found = _NAMED.fullmatch(name)
    if found is None or found["link"] not in names:
        return name
    return name[: found.start("link")] + names[found["link"]] + name[found.end("link") :]


def _naming(node: Node, key: str = "") -> Iterator[Scalar]:
    if isinstance(node, Scalar):
        if key in KEYS:
            yield node
        return
    for name, value in node.entries:
        yield from _naming(value, name.text)
    for item in node.items:
        yield from _naming(item, key)


def _place(lines: list[str], scalar: Scalar) -> tuple[int, int] | None:
    """Return line and column, from 0, of the text of *scalar*; None where the file writes it in another way."""
    line, column = scalar.line - 1, scalar.column - 1
    if line >= len(lines):
        return None
    properties = _PROPERTIES.match(lines[line], column)
    start = properties.end() if properties else column
    return (line, start) if lines[line].startswith(scalar.text, start) else None
