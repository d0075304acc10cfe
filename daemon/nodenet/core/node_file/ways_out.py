"""Which families of addresses does a node file leave to a link that leads out of the node, or to a link in its place?

A file may end a way out on purpose: with ``ipv6: {enabled: false}``, with ``auto-gateway: false``, or with a default
route whose ``state`` is ``absent``. One that asks for addresses of the family, and has no gateway for them any more,
cuts the node off from a part of the network.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from nodenet.core.ip import Family
from nodenet.core.node_file.gateways import is_leased
from nodenet.core.node_file.links import NO, bases_of, ports_of
from nodenet.core.node_file.values import interfaces, routes, text
from nodenet.core.node_file.yaml_text import Block

_GONE = frozenset({"absent", "down"})
_DEFAULT = {"0.0.0.0/0": Family.IPV4, "::/0": Family.IPV6}
_REMOVED = {destination: (family,) for destination, family in _DEFAULT.items()} | {"": tuple(Family)}
"""What a route whose state is ``absent`` means; without a destination it means all of them."""
_MAIN_TABLE = ("", "0", "254")
_EVERY_LINK = ""
Way = tuple[str, Family]
"""The name of a link, and a family."""


@dataclass(frozen=True, slots=True)
class WaysOut:
    """What is left of the ways out.

    *families*: link → those that it has afterwards, or that a link has which takes its place, as a bond or a VLAN.
    *asked* are the families that the file names addresses for on any link, *routed* those that it has a default route
    for. *leased*: link and family → the links of which one gets the address by DHCP or from a router. *places*: the
    same → the link and those that take its place.
    """

    families: Mapping[str, frozenset[Family]] = field(default_factory=dict)
    asked: frozenset[Family] = frozenset()
    routed: frozenset[Family] = frozenset()
    leased: Mapping[Way, tuple[str, ...]] = field(default_factory=dict)
    places: Mapping[Way, frozenset[str]] = field(default_factory=dict)

    def keeps(self, link: str, family: Family) -> bool:
        """Return whether the node still wants a way out of *family* that led over *link* before the apply.

        What happens to a link that the file does not name, as br-ex, is not known: then any address counts.
        """
        return family in self.routed | self.families.get(link, self.asked)


NO_WAYS = WaysOut()


def ways_out(document: Block, names: Mapping[str, str] = MappingProxyType({})) -> WaysOut:
    """Return what a node file says about them; *names*: name of a link in the file → name in the result."""
    return _Links(document, names).ways_out()


class _Links:
    """The links of one node file, and what is above each of them."""

    def __init__(self, document: Block, names: Mapping[str, str]) -> None:
        self._names = names
        items = [item for _, item in interfaces(document) if text(item, "state") != "ignore"]
        self._present = [item for item in items if text(item, "state") not in _GONE]
        self._by_name: dict[str, list[Block]] = {self._name(item): [] for item in items}
        for item in self._present:
            self._by_name[self._name(item)].append(item)
        self._ports = frozenset(self._known(port) for item in self._present for port in _ports(item))
        self._masters, self._vlans = self._renamed(_masters(self._present)), self._renamed(_vlans(self._present))
        self._ended = frozenset((self._known(link), family) for link, family in _ended(document))
        self._routed = frozenset(_routed(document))

    def _known(self, name: str) -> str:
        return self._names.get(name, name)

    def _name(self, item: Block) -> str:
        return self._known(text(item, "name"))

    def _renamed(self, above: Mapping[str, set[str]]) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for link, others in above.items():
            found.setdefault(self._known(link), set()).update(map(self._known, others))
        return found

    def ways_out(self) -> WaysOut:
        families: dict[str, frozenset[Family]] = {}
        leased: dict[Way, tuple[str, ...]] = {}
        places: dict[Way, frozenset[str]] = {}
        ended = (name for name, _ in self._ended if name)
        for link in {*self._by_name, *self._masters, *self._vlans, *ended}:
            found = {family: self._places(link, family) for family in Family}
            families[link] = frozenset(family for family in Family if self._any_leads(found[family], family, link))
            for family, there in found.items():
                if names := tuple(name for name in sorted(there) if self._is_leased(name, family)):
                    leased[link, family], places[link, family] = names, there
        asked = frozenset(family for family in Family if any(self._leads(item, family) for item in self._present))
        return WaysOut(families, asked, self._routed, leased, places)

    def _places(self, link: str, family: Family) -> frozenset[str]:
        """Return *link*, and the links that take its place for *family*.

        A VLAN takes the place of a link that has no address of the family any more if a server is asked for its
        address, or if the link has no addresses at all: a static one beside them may be that of a storage network.
        """
        own = _upwards(link, self._masters)
        if self._any_leads(own, family, link):
            return frozenset(own)
        bare = not any(self._has_addresses(name) for name in own)
        above = _upwards(link, self._masters, self._vlans) - own
        return frozenset(own.union(name for name in above if bare or self._is_leased(name, family)))

    def _has_addresses(self, name: str) -> bool:
        """Return whether the file gives the link *name* addresses, also where its way out is ended."""
        sections = ((item.get(family.value), family) for item in self._by_name.get(name, ()) for family in Family)
        return any(isinstance(section, Block) and _has(section, family) for section, family in sections)

    def _any_leads(self, names: Collection[str], family: Family, link: str) -> bool:
        """Return whether one of the links *names* leads out with *family*.

        *link* is the one that led out before: where the file has no section of the family for it, it still does.
        """
        if any(self._leads(item, family) for name in names for item in self._by_name.get(name, ())):
            return True
        if link in self._ports or not self._may_lead(link, family):
            return False
        items = self._by_name.get(link)
        return items is None or any(not isinstance(item.get(family.value), Block) for item in items)

    def _is_leased(self, name: str, family: Family) -> bool:
        """Return whether a DHCP server or a router gives the link *name* an address of *family* that leads out."""
        return any(
            is_leased(section)
            for item in self._by_name.get(name, ())
            if self._leads(item, family, any_table=True) and isinstance(section := item.get(family.value), Block)
        )

    def _leads(self, item: Block, family: Family, *, any_table: bool = False) -> bool:
        """Return whether the file gives the link of *item* a way out; *any_table*: by policy routing as well."""
        section = item.get(family.value)
        if not isinstance(section, Block) or not _has(section, family):
            return False
        if is_leased(section):
            return not _is_beside(section, any_table=any_table)
        return self._may_lead(self._name(item), family)

    def _may_lead(self, name: str, family: Family) -> bool:
        """Return whether the file leaves the static default route of the link, if there is one."""
        return self._ended.isdisjoint({(name, family), (_EVERY_LINK, family)})


def _has(section: Block, family: Family) -> bool:
    """Return whether a *section* of *family* gives a link addresses that others can reach.

    IPv6 that is enabled without any source of addresses has those of the link alone, IPv4 none.
    """
    if _is_off(section, "enabled"):
        return False
    addresses = section.get("address")
    if isinstance(addresses, Block) and addresses.items:
        return True
    if family is Family.IPV4:
        return not (isinstance(addresses, Block) and _is_off(section, "dhcp"))
    return not (_is_off(section, "autoconf") and text(section, "dhcp").lower() in NO)


def _is_beside(section: Block, *, any_table: bool) -> bool:
    """Return whether the link gets no default route with the addresses from a server, or one of another table."""
    is_of_main = text(section, "auto-route-table-id") in _MAIN_TABLE
    return _is_off(section, "auto-gateway") or _is_off(section, "auto-routes") or not (is_of_main or any_table)


def _is_off(section: Block, key: str) -> bool:
    return text(section, key).lower() in NO - {""}


def _ports(item: Block) -> Iterator[str]:
    """Yield the ports of *item* that give their addresses up for it; those of a VRF keep them."""
    if text(item, "type") != "vrf":
        yield from ports_of(item)


def _masters(present: Collection[Block]) -> dict[str, set[str]]:
    """Return port → the bonds, bridges and so on that it is a port of: they get the addresses.

    The addresses of a bridge of Open vSwitch are on its ports of the type ``ovs-interface``, not on the bridge.
    """
    found: dict[str, set[str]] = {}
    inner = {text(item, "name") for item in present if text(item, "type") == "ovs-interface"}
    for item in present:
        name, ports = text(item, "name"), set(_ports(item))
        for port in ports:
            found.setdefault(port, set()).add(name)
        if text(item, "type") == "ovs-bridge":
            found.setdefault(name, set()).update(ports & inner)
    return found


def _vlans(present: Iterable[Block]) -> dict[str, set[str]]:
    """Return base → the VLANs, MAC VLANs and so on that are on it."""
    found: dict[str, set[str]] = {}
    for item in present:
        for base in bases_of(item):
            found.setdefault(base, set()).add(text(item, "name"))
    return found


def _upwards(link: str, *above: Mapping[str, set[str]]) -> set[str]:
    """Return *link* and all that is above it, where each of *above* has links and what is on them."""
    found, due = {link}, [link]
    while due:
        below = due.pop()
        new = set().union(*(each.get(below, set()) for each in above)) - found
        found |= new
        due += new
    return found


def _routed(document: Block) -> Iterator[Family]:
    """Yield the families that the file has a default route for; a route that drops packets is none."""
    for _, route in routes(document):
        is_there = text(route, "state") not in ("absent", "ignore") and text(route, "route-type") in ("", "unicast")
        family = _DEFAULT.get(text(route, "destination"))
        if is_there and family and text(route, "table-id") in _MAIN_TABLE:
            yield family


def _ended(document: Block) -> Iterator[Way]:
    """Yield the ways out whose static default routes the file removes, whatever their gateway and metric.

    A key that such an entry lacks means every value. A route that came with a lease stays.
    """
    for _, route in routes(document):
        is_main = text(route, "table-id") in _MAIN_TABLE
        is_one_of_several = text(route, "next-hop-address") or text(route, "metric")
        if text(route, "state") == "absent" and is_main and not is_one_of_several:
            for family in _REMOVED.get(text(route, "destination"), ()):
                yield text(route, "next-hop-interface") or _EVERY_LINK, family
