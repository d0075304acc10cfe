"""An administrator puts another NIC of the same LAN below br-ex, and anything happens meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simulation.faults import Fault, kind

if TYPE_CHECKING:
    from simulation.run import Run
    from simulation.world import World

BRIDGE, DEFAULT_BRIDGE = "br-ex", "/etc/ovnk/default_bridge"


@dataclass(frozen=True, slots=True)
class Uplink:
    """What is to stay: the OpenFlow port number, and the node IPs."""

    number: int | None
    node_ips: tuple[str, ...]


@kind
def uplink_swapped(run: Run, fault: Fault) -> None:  # noqa: ARG001
    """The second NIC is named, and a reload asked for; on a node that has no br-ex, nothing is to swap."""
    world, process = run.world, run.process
    reconciler = process.reconciler if process and process.life.alive else None
    selection = reconciler.status.facts.selection if reconciler else None
    if run.scenario.node.second_nic != "spare" or selection is None or len(found := uplinks_of(world)) != 1:
        return
    world.rules.uplink = Uplink(world.ovs.numbers[found[0]], tuple(map(str, selection.node_ips)))
    world.disk.write_synced(DEFAULT_BRIDGE, b"eth1\n")
    world.rules.orders += 1
    run.order("reload")


def look_at_uplink(run: Run, shown: dict[str, Any]) -> None:
    """P17: br-ex is over the old link or the new one, as before; over the new one if all is well."""
    world, rules = run.world, run.world.rules
    before = rules.uplink
    if before is None or run.struck["bridge-remove"]:
        return
    links = uplinks_of(world)
    wanted = (["eth1"],) if shown["health"] == "ok" else (["eth0"], ["eth1"])
    rules.hold("P17", f"{BRIDGE} is over {links}, and health is {shown['health']}", holds=links in wanted)
    numbers = [world.ovs.numbers.get(link) for link in links]
    rules.hold("P17", f"the uplink was port {before.number}, and is {numbers}", holds=numbers == [before.number])
    there = set(map(str, world.kernel.links[BRIDGE].addresses))
    gone = set(before.node_ips) - there
    rules.hold("P17", f"{gone} are gone from {BRIDGE}", holds=not gone)


def uplinks_of(world: World) -> list[str]:
    """Return the links below br-ex."""
    row = world.ovs.rows.get(BRIDGE)
    return [name for name, (what, _) in row.ports.items() if what == "system"] if row else []
