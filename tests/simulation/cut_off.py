"""P1: a node file that cuts the node off is not kept; P5: nor one that takes the address of another host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from simulation.wire import TAKEN

if TYPE_CHECKING:
    from simulation.run import Run

SILENT = frozenset(
    {
        *("gateway-dead", "router-silent", "cable-out", "dhcp-silent", "dhcp-slow", "answers-late", "link-set-down"),
        *("boot-without-dhcp", "boot-without-carrier", "boot-beside-a-stray"),
    }
)
"""Kinds of faults during which no gateway answers before an apply: there is nothing to go back to then."""
BLIND = frozenset({"disk-lies", "disk-fails", "disk-full", "disk-read-only", "descriptors-gone", "boots-cut-short"})
"""Kinds of faults with which nothing remembers what answered; boots that end in an apply one after another are one."""
OTHER_NETWORKS = frozenset({"readdressed", "nic-renamed", "nics-swapped", "file-tried", "node-file-edited"})
"""Kinds of faults that give the node another network, or another file."""


def look_at_way_out(run: Run, shown: Mapping[str, Any]) -> None:
    """Look whether the node has a gateway that answers, and an address of its own."""
    world, rules, file = run.world, run.world.rules, run.scenario.node.file
    links = world.kernel.links.values()
    ways = [(gateway, world.segment_of(link.name)) for link in links for gateway in link.gateways]
    answers = any(segment.answers(gateway) for gateway, segment in ways if segment)
    named = [str(one) for one, _ in ways]
    if file == "dead-gateway" and not world.disk.torn:
        rules.hold("P8", f"health ok, and no gateway of {named} answers", holds=answers or shown["health"] != "ok")
    if run.struck.keys() & (SILENT | BLIND | OTHER_NETWORKS) or world.manager.memory.points:
        return  # nor while a link has another profile for a moment
    if file == "dead-gateway":
        rules.hold("P1", f"no gateway of {named} answers: a file was kept", holds=answers)
    if file == "taken-address":
        taken = world.kernel.place_of(TAKEN)
        rules.hold("P5", f"{TAKEN} is another host's, and this node took it", holds=taken is None)
