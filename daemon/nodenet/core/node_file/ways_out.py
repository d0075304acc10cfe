"""Which families of addresses does a node file leave to a link that leads out of the node, or to a link in its place?

A file may end a family on purpose, as with ``ipv6: {enabled: false}``. One that asks for addresses of the family, and
has no gateway for them any more, cuts the node off from a part of the network.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

from nodenet.core.ip import Family
from nodenet.core.node_file.gateways import is_leased
from nodenet.core.node_file.links import NO, bases_of, ports_of
from nodenet.core.node_file.values import interfaces, routes, text
from nodenet.core.node_file.yaml_text import Block

_GONE = frozenset({"absent", "down"})
_DEFAULT = {"0.0.0.0/0": Family.IPV4, "::/0": Family.IPV6}


@dataclass(frozen=True, slots=True)
class WaysOut:
    """What is left of the ways out.

    *families*: link → those that it has afterwards, or that a link has which takes its place, as a bond or a VLAN.
    *asked* are the families that the file names addresses for on any link, *routed* those that it has a default route
    for. *leased*: link and family → the links of which one gets the address by DHCP or from a router.
    """

    families: Mapping[str, frozenset[Family]] = field(default_factory=dict)
    asked: frozenset[Family] = frozenset()
    routed: frozenset[Family] = frozenset()
    leased: Mapping[tuple[str, Family], tuple[str, ...]] = field(default_factory=dict)

    def keeps(self, link: str, family: Family) -> bool:
        """Return whether the node still wants a way out of *family* that led over *link* before the apply.

        What happens to a link that the file does not name, as br-ex, is not known: then any address counts.
        """
        return family in self.routed | self.families.get(link, self.asked)


NO_WAYS = WaysOut()


def ways_out(document: Block) -> WaysOut:
    """Return what a node file says about them."""
    items = [item for _, item in interfaces(document) if text(item, "state") != "ignore"]
    present = [item for item in items if text(item, "state") not in _GONE]
    by_name: dict[str, list[Block]] = {text(item, "name"): [] for item in items}
    for item in present:
        by_name[text(item, "name")].append(item)
    ports = frozenset(port for item in present for port in _ports(item))
    above = _above(present)
    families: dict[str, frozenset[Family]] = {}
    leased: dict[tuple[str, Family], tuple[str, ...]] = {}
    for link in by_name.keys() | above.keys():
        own = by_name.get(link, [])
        heirs = [item for name in _upwards(link, above) - {link} for item in by_name.get(name, ())]
        families[link] = _families(own, unnamed=link not in ports) | _families(heirs)
        for family in Family:
            if found := _leased(own, family) or _leased(heirs, family):
                leased[link, family] = found
    return WaysOut(families, _families(present), frozenset(_routed(document)), leased)


def _families(items: Iterable[Block], *, unnamed: bool = False) -> frozenset[Family]:
    found = list(items)
    return frozenset(family for family in Family if any(_has(item, family, unnamed=unnamed) for item in found))


def _has(item: Block, family: Family, *, unnamed: bool = False) -> bool:
    """Return whether the link of *item* has addresses of *family*; *unnamed*: where the file says nothing about them.

    IPv6 that is enabled without any source of addresses has those of the link alone.
    """
    section = item.get(family.value)
    if not isinstance(section, Block):
        return unnamed
    if text(section, "enabled").lower() in NO - {""}:
        return False
    addresses = section.get("address")
    if isinstance(addresses, Block) and addresses.items:
        return True
    is_off = text(section, "autoconf").lower() in NO - {""} and text(section, "dhcp").lower() in NO
    return not (family is Family.IPV6 and is_off)


def _leased(items: Iterable[Block], family: Family) -> tuple[str, ...]:
    """Return the names of those of *items* that get their addresses by DHCP or from a router."""
    sections = [(text(item, "name"), item.get(family.value)) for item in items if _has(item, family)]
    found = (name for name, section in sections if isinstance(section, Block) and is_leased(section))
    return tuple(dict.fromkeys(found))


def _ports(item: Block) -> Iterator[str]:
    """Yield the ports of *item* that give their addresses up for it; those of a VRF keep them."""
    if text(item, "type") != "vrf":
        yield from ports_of(item)


def _above(present: Iterable[Block]) -> dict[str, set[str]]:
    """Return link → the links that are above it: what it is a port of, or a VLAN on it.

    The addresses of a bridge of Open vSwitch are on its ports of the type ``ovs-interface``, not on the bridge.
    """
    found: dict[str, set[str]] = {}
    inner = {text(item, "name") for item in present if text(item, "type") == "ovs-interface"}
    for item in present:
        name, ports = text(item, "name"), set(_ports(item))
        for below in chain(ports, bases_of(item)):
            found.setdefault(below, set()).add(name)
        if text(item, "type") == "ovs-bridge":
            found.setdefault(name, set()).update(ports & inner)
    return found


def _upwards(link: str, above: Mapping[str, set[str]]) -> set[str]:
    """Return *link* and all that is above it."""
    found, due = {link}, [link]
    while due:
        new = above.get(due.pop(), set()) - found
        found |= new
        due += new
    return found


def _routed(document: Block) -> Iterator[Family]:
    for _, route in routes(document):
        if text(route, "state") not in ("absent", "ignore"):
            family = _DEFAULT.get(text(route, "destination"))
            if family and text(route, "table-id") in ("", "0", "254"):
                yield family
