"""Which leases and which gateways does a node file ask for, and does it say that no way out is meant?

What the file names is what the network must give it (``core.probes.cut_off``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from nodenet.core.ip import Family
from nodenet.core.node_file.links import NO, ports_of
from nodenet.core.node_file.values import interfaces, routes, text
from nodenet.core.node_file.yaml_text import Block
from nodenet.core.value import frozen

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
