"""Which clients may query this node's dnsmasq? This node and its pods, and no host outside. (nft(8))

dnsmasq asks other servers for every client that reaches it, and hosts outside would use it to attack others (RFC 5358).
A node answers for its addresses on each of its links, so that every link which leads to other hosts is guarded.
Programs of this node come in by the loopback link, and pods by links that lead to pods alone. Only the addresses that
dnsmasq listens on are guarded: another DNS server on another address stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from nodenet.core.hosted_services.model import Here
from nodenet.core.ip import Family, family_of
from nodenet.core.kernel.snapshot import Link, Snapshot
from nodenet.core.open_vswitch.bridges import PHYSICAL, OvsBridge

TABLE = "inet nodenet_dns"
REMOVAL = f"table {TABLE}\ndelete table {TABLE}\n"
"""Removes the table, and is no error where there is none: it is declared first."""
POD_KINDS = frozenset({"veth", "netkit", "openvswitch", "dummy", "ifb"})
"""Kinds of links that network plugins make for pods (ip-link(8)). Pods ask their own node, so that no tunnel is one."""
_PLAIN = re.compile(r"[A-Za-z0-9_.@-]{1,15}")
OVS_KIND = "openvswitch"
_WITHOUT_LINK = frozenset({"dpdk", "afxdp"})
"""Cards that Open vSwitch drives itself: the kernel may have no link of their name."""


def outside(here: Here, snapshot: Snapshot, bridges: Iterable[OvsBridge] = ()) -> tuple[str, ...]:
    """Return the links by which other hosts reach this node, by name: all but loopback and those of pods.

    *bridges* are those of Open vSwitch: the kernel does not say which of its ports have a cable.
    """
    subnets = _with_neighbours(snapshot)
    bridged = {link.master for link in snapshot.links if link.master and link.kind not in POD_KINDS}
    switched = _switched(snapshot, bridges)

    def leads_out(link: Link) -> bool:
        match link.kind:
            case "bridge":
                return link.name in bridged
            case "veth":  # as the only cards of a node that is a container itself
                return link.name in subnets and link.master is None
            case "openvswitch":
                return link.name in subnets and link.name in switched
        return link.kind not in POD_KINDS

    found = {link.name for link in snapshot.links if not link.loopback and leads_out(link)}
    return tuple(sorted(found | _carriers(here)))


def open_questions(here: Here, snapshot: Snapshot) -> frozenset[str]:
    """Return what the answer of Open vSwitch's database depends on; empty where nothing is to be asked.

    Its links with neighbours, other than those of the node IPs, and the cards that have been given to a bridge.
    """
    subnets = _with_neighbours(snapshot) - _carriers(here)
    asked = {link.name for link in snapshot.links if link.kind == OVS_KIND and link.name in subnets}
    cards = {link.name for link in snapshot.links if link.master and link.kind not in POD_KINDS}
    return frozenset(asked | cards) if asked else frozenset()


def _carriers(here: Here) -> set[str]:
    return {place.link for place in here.places.values()}


def _with_neighbours(snapshot: Snapshot) -> set[str]:
    return {one.link for one in snapshot.addresses if _is_of_a_network(one.prefix_length, one.address.is_link_local)}


def _switched(snapshot: Snapshot, bridges: Iterable[OvsBridge]) -> set[str]:
    """Return the links of Open vSwitch that are the host's own: bridges, and the ports of a bridge with a card.

    A network plugin gives its address to a port of another name than its bridge, and pods reach that bridge by veth.
    """
    cards = {link.name for link in snapshot.links if not link.loopback and link.kind not in POD_KINDS}
    found = set()
    for bridge in bridges:
        interfaces = [one for port in bridge.ports for one in port.interfaces]
        found.add(bridge.name)
        if any(one.kind in _WITHOUT_LINK or (one.kind in PHYSICAL and one.name in cards) for one in interfaces):
            found |= {one.name for one in interfaces}
    return found


def _is_of_a_network(prefix_length: int, link_local: bool) -> bool:  # noqa: FBT001
    """Return whether an address has neighbours: that of the end of a pod's cable is alone (/32)."""
    return prefix_length not in (32, 128) and not link_local


def rules(here: Here, links: Iterable[str]) -> str:
    """Return the rules in nft's syntax, which replace the whole table in one transaction. *links* are outside."""
    lines = "".join(f"        {line}\n" for line in (_LOOPBACK, *_refusals(here, _matched(links))))
    chain = f"    chain from_outside {{\n        type filter hook input priority 0; policy accept;\n{lines}    }}\n"
    return f"{REMOVAL}table {TABLE} {{\n{chain}}}\n"


_DNS = "meta l4proto { tcp, udp } th dport 53"
_LOOPBACK = f'iifname != "lo" ip daddr 127.0.0.1 {_DNS} drop'
"""The kernel lets such a packet in where a network plugin has set route_localnet."""


def _matched(links: Iterable[str]) -> str:
    names = tuple(links)
    quoted = ", ".join(f'"{name}"' for name in names)
    # A name with a quote would end the string; then every link but loopback is outside.
    if not names or not all(map(_PLAIN.fullmatch, names)):
        return 'iifname != "lo"'
    return f"iifname {{ {quoted} }}"


def _refusals(here: Here, links: str) -> Iterable[str]:
    for place in here.places.values():
        protocol = "ip6" if family_of(place.address) is Family.IPV6 else "ip"
        yield f"{links} {protocol} daddr {place.address} {_DNS} reject"
