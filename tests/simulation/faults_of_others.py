"""What other actors do: administrators, orders on the bus, programs with checkpoints, profiles and VIPs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from ipaddress import IPv4Address
from typing import TYPE_CHECKING

from nodenet.core.boot.stage_state import Inhibitor
from nodenet.core.errors import Busy
from nodenet.core.stage_name import StageName
from nodenet.stages.apply.records import CHANGE
from simulation.disk import NODE_FILES
from simulation.faults import Fault, kind
from simulation.keyfile import Settings, made
from simulation.renamed import WORKS, rename

if TYPE_CHECKING:
    from simulation.run import Run


@kind
def reload(run: Run, fault: Fault) -> None:  # noqa: ARG001
    run.world.rules.orders += 1
    run.order("reload")


@kind
def reselect(run: Run, fault: Fault) -> None:  # noqa: ARG001
    run.world.rules.may_change_node_ip = True
    run.world.rules.orders += 1
    run.order("reselect", succeeded=run.world.systemd.restart_kubelet)


@kind
def bridge_remove(run: Run, fault: Fault) -> None:  # noqa: ARG001
    ovs, rules = run.world.ovs, run.world.rules

    def removed() -> None:
        there = ovs.database_up and "br-ex" in ovs.rows  # a row that nobody can see has no link and no profile
        rules.hold("P9", "br-ex is there after it was removed", holds=not there)

    run.order("remove_bridge", succeeded=removed)


@kind
def inhibited(run: Run, fault: Fault) -> Callable[[], None]:
    """A program keeps a stage from starting; its descriptor is gone with the daemon."""
    stages, process = list(StageName), run.process
    number = int(fault.pick * len(stages))
    if process is None or process.reconciler is None or not process.life.alive or not run.world.bus_up:
        return lambda: None
    handle = next(run.world.rules.handles)
    reconciler, lock = process.reconciler, Inhibitor(stages[number], "storage", f"disk {fault.at:g} moves", handle)
    with suppress(Busy):
        reconciler.inhibit(lock)
        run.world.rules.inhibitors.append(lock)

    def released() -> None:
        if lock in run.world.rules.inhibitors and process.life.alive:
            run.world.rules.inhibitors.remove(lock)
            reconciler.release(lock)

    return released


@kind
def other_checkpoint(run: Run, fault: Fault) -> None:
    manager = run.world.manager
    if not manager.running or manager.memory.points or run.world.applying:
        return  # one that comes before ours in the same apply cannot be told from ours when libnmstate dies
    point = manager.checkpoint(3600.0, foreign=True)
    run.world.after(min(fault.lasts, 60.0), lambda: manager.release(point.path))


SPARE = 0.8


@kind
def other_profile(run: Run, fault: Fault) -> None:
    """An administrator adds a profile for a link that does not exist yet, or a spare one for the uplink."""
    if not run.world.manager.running or run.world.manager.memory.points:
        return  # a rollback deletes profiles that came after its checkpoint: that is NetworkManager's law
    uuid = "d0000000-0000-4000-8000-000000000001"
    is_spare = fault.pick >= SPARE and not run.scenario.node.uplink
    name, link = ("spare", run.world.uplink) if is_spare else ("storage", "eth7")
    connection: dict[str, object] = {"id": name, "uuid": uuid, "type": "802-3-ethernet", "interface-name": link}
    connection |= {"autoconnect": False} if is_spare else {}
    run.world.manager.put(made({"connection": connection, "ipv4": {"method": "auto"}}, "", on_disk=True))
    run.world.disk.sync()
    run.world.rules.foreign_profiles.add(uuid)


@kind
def readdressed(run: Run, fault: Fault) -> None:
    """An administrator gives the uplink a profile of his own, for IPv4 alone, and boots again a while later."""
    busy = _is_tried(run) or run.world.manager.memory.points or run.world.kernel.links.get("br-ex")
    if not run.world.manager.running or busy or run.scenario.node.uplink:
        return
    uuid = "d0000000-0000-4000-8000-000000000002"
    connection = {"id": "mine", "uuid": uuid, "type": "802-3-ethernet", "interface-name": "eth0"}
    addresses = [{"address": "192.0.2.55", "prefix": 24}]
    ipv4 = {"method": "manual", "address-data": addresses, "gateway": "192.0.2.1"}
    ipv6 = {"method": "disabled"}  # NetworkManager names a method always: "auto" for a profile without one
    settings: Settings = {"connection": {**connection, "autoconnect-priority": 10}, "ipv4": ipv4, "ipv6": ipv6}
    run.world.manager.put(made(settings, "", on_disk=True))
    run.world.disk.sync()
    run.world.rules.foreign_profiles.add(uuid)
    run.world.after(min(fault.lasts, 20.0), lambda: None if run.healed else run.world.cut_power())


def _is_tried(run: Run) -> bool:
    """Return whether a trial has begun: its end deletes profiles that came later, as a rollback does.

    Its record is written a moment after it has looked at the profiles.
    """
    reconciler = run.process.reconciler if run.process else None
    trial = reconciler.status.trial if reconciler else None
    return str(CHANGE) in run.world.disk.content or bool(trial and trial.runs)


@kind
def nic_renamed(run: Run, fault: Fault) -> None:  # noqa: ARG001
    """The NIC is put into another slot: it has another name in the next boot. Bonds and VLANs are made by name."""
    if run.scenario.node.uplink:
        return
    mac, name = next(iter(run.world.nics.items()))
    if name == "eth1":  # it has exchanged its name with the other NIC
        return
    rename(run, {mac: "ens7" if name == "eth0" else "eth0"})


@kind
def nics_swapped(run: Run, fault: Fault) -> None:  # noqa: ARG001
    """An upgrade exchanges the names of two NICs; a profile that no node file has made stays with the name."""
    node, nics = run.scenario.node, run.world.nics
    if node.file not in WORKS or node.uplink or node.ovn or len(nics) < 2 or "ens7" in nics.values():
        return
    (one, name), (two, other) = nics.items()
    rename(run, {one: other, two: name})


@kind
def vip_comes(run: Run, fault: Fault) -> Callable[[], None]:  # noqa: ARG001
    """The keepalived of this node puts a VIP on the link of the node IP."""
    kernel, vip = run.world.kernel, IPv4Address("192.0.2.100")
    link = "br-ex" if "br-ex" in kernel.links else run.world.uplink
    if run.world.vips:
        kernel.give(link, vip, 32, leased=False, who="keepalived")

    def gone() -> None:
        for name in list(kernel.links):
            kernel.take(name, vip)

    return gone


@kind
def node_file_edited(run: Run, fault: Fault) -> None:
    """An administrator edits the node file; the text stays what it asks for. The editor does not sync it."""
    disk = run.world.disk
    for path in sorted(disk.content):
        if path.startswith(f"{NODE_FILES}/") and path.endswith(".yml"):
            disk.write_unsynced(path, disk.content[path] + (b"# edited\n" if fault.pick < 0.5 else b"\n"))
