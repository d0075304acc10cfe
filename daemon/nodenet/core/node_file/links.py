"""Which links does a node file configure: which must exist before, which does it make, which get a lease?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from nodenet.core.node_file.values import mac_address, text
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
    MAC address that identifies the link, in lower case with colons.
    """

    existing: frozenset[str] = frozenset()
    made: frozenset[str] = frozenset()
    leased: frozenset[str] = frozenset()
    awaited: frozenset[str] = frozenset()
    bases: frozenset[str] = frozenset()
    profiles: frozenset[str] = frozenset()
    by_key: bool = False
    macs: Mapping[str, str] = field(default_factory=dict)


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
