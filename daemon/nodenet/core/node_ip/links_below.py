"""Which links are below a bridge or bond?

The kernel names the master of a port. For a port of Open vSwitch that is the datapath, not the bridge: the bridge's own
link is then found by its MAC, which it takes from its uplink.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nodenet.core.kernel.snapshot import Link
from nodenet.core.node_ip.policy import Policy
from nodenet.core.node_ip.rules import is_denied

DATAPATH = "ovs-system"
"""The master of every port of Open vSwitch's kernel datapath."""
OPEN_VSWITCH, TAP, VRF = "openvswitch", "tun", "vrf"
"""Kinds of links (ip-link(8)): a bridge's own link in the kernel datapath and in the userspace one; a VRF."""


def names_below(links: Sequence[Link]) -> Mapping[str, frozenset[str]]:
    """Return, for each bridge or bond, the names and alternative names of all links below it."""
    kinds = {link.name: link.kind for link in links}
    names = {link.name: set(link.names) for link in links}
    ports: dict[str, set[str]] = {}
    for link in links:
        for master in _masters(link, kinds.get(link.master or ""), links):
            ports.setdefault(master, set()).add(link.name)
    return {name: frozenset[str]().union(*(names[port] for port in _closure(name, ports))) for name in ports}


def _masters(link: Link, kind_of_master: str | None, links: Sequence[Link]) -> set[str]:
    """Return the bridge or bond that *link* is a port of, as far as the kernel shows it."""
    if link.kind in (OPEN_VSWITCH, TAP) or link.loopback:
        return set()
    if link.master is None:
        # The userspace datapath of Open vSwitch leaves no mark on its ports.
        return {other.name for other in links if other.kind == TAP and link.mac and other.mac == link.mac}
    if link.master != DATAPATH:
        # A link in a VRF keeps its addresses.
        return set() if kind_of_master == VRF else {link.master}
    bridges = [other for other in links if other.kind == OPEN_VSWITCH and not is_denied(other, Policy())]
    same = {other.name for other in bridges if other.mac == link.mac}
    # A bridge over a bond with fail_over_mac has another MAC.
    return same or {other.name for other in bridges}


def _closure(name: str, ports: Mapping[str, set[str]]) -> set[str]:
    """Return the ports of *name*, their ports, and so on."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for port in ports.get(waiting.pop(), ()):
            if port not in found and port != name:
                found.add(port)
                waiting.append(port)
    return found
