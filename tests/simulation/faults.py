"""What can happen to a node: each kind begins and, where it lasts, ends; a run heals all of them at last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface
from typing import TYPE_CHECKING

from simulation.keyfile import Settings, made
from simulation.nmstate import Trouble

if TYPE_CHECKING:
    from simulation.run import Run

POINTS = (
    *("files.write", "files.written", "files.remove", "files.removed", "notify", "kernel.snapshot", "sysctls.write"),
    *("manager.state", "manager.owner", "manager.checkpoints", "manager.roll_back", "manager.roll_back:back"),
    *("nmstate.begin", "nmstate.show", "nmstate.difference", "nmstate.apply.begin", "nmstate.apply.made"),
    *("nmstate.apply.made:back", "nmstate.apply.written", "nmstate.apply.verify", "nmstate.apply.back"),
    *("nmstate.commit", "nmstate.commit:back", "profiles.inventory", "profiles.set", "profiles.set:back"),
    *("profiles.keep", "profiles.reapply", "profiles.reapply:back", "profiles.give_back", "profiles.activate"),
    *("profiles.delete", "profiles.ask_again", "ovsdb.prove_alive", "ovsdb.bridges", "ovsdb.remove_bridge"),
    *("systemd.reload", "systemd.reloading", "systemd.environment", "systemd.any_runs", "neighbours.answers"),
    *("dns.configuration", "host.pin"),
)
"""Where a fault may strike: the daemon calls out there, or has just been answered (``:back``)."""


TROUBLES = tuple(
    (where, how)
    for where, hows in (
        ("before", ("hang", "die", "unavailable", "dependency")),
        ("made", ("hang", "die", "unavailable", "plugin", "internal")),
        ("after", ("hang", "die", "unavailable", "plugin", "internal", "verification")),
    )
    for how in hows
)
"""Where in an apply libnmstate fails, and how."""


@dataclass(frozen=True, slots=True)
class Fault:
    """*kind* strikes *at* seconds after the daemon passed *point* for the *nth* time; without a point: of the run."""

    kind: str
    point: str
    nth: int
    at: float
    lasts: float
    pick: float
    """What is left to choose, between 0 and 1."""

    def __str__(self) -> str:
        where = f"{self.at:g} s after {self.point} #{self.nth}" if self.point else f"at {self.at:g} s"
        return f"{self.kind} {where}, for {self.lasts:g} s (pick {self.pick:g})"


Effect = Callable[["Run", Fault], Callable[[], None] | None]
"""Begins; returns what ends it, None where it is over at once."""
KINDS: dict[str, Effect] = {}


def kind(effect: Effect) -> Effect:
    KINDS[effect.__name__.replace("_", "-")] = effect
    return effect


def strike(run: Run, fault: Fault) -> None:
    """Let *fault* begin, and end later."""
    if run.healed:
        return
    run.struck[fault.kind] += 1
    end = KINDS[fault.kind](run, fault)
    if end is not None:
        over = [False]

        def once() -> None:
            if not over[0]:
                over[0] = True
                end()

        run.to_heal.append(once)
        run.world.after(fault.lasts, once)


# -- the process and its host


@kind
def power_cut(run: Run, fault: Fault) -> None:  # noqa: ARG001
    run.world.cut_power()


@kind
def daemon_killed(run: Run, fault: Fault) -> None:  # noqa: ARG001
    run.world.kill()


@kind
def daemon_stopped(run: Run, fault: Fault) -> None:  # noqa: ARG001
    if run.process and run.process.reconciler and run.world.life.alive:
        run.process.reconciler.stop()


@kind
def wall_clock_steps(run: Run, fault: Fault) -> None:
    run.world.wall += (fault.pick - 0.5) * 20 * 365 * 86400


# -- files


def _refused(run: Run, fault: Fault, errno: str) -> Callable[[], None]:
    places = ("/etc/", "/var/", "/run/", "/etc/systemd/", "/var/lib/nodenet/bridge", "/run/nodenet/")
    begin = places[int(fault.pick * len(places))]
    run.world.disk.refusals[begin] = errno
    return lambda: run.world.disk.refusals.update({begin: ""})


@kind
def disk_full(run: Run, fault: Fault) -> Callable[[], None]:
    return _refused(run, fault, "enospc")


@kind
def disk_read_only(run: Run, fault: Fault) -> Callable[[], None]:
    return _refused(run, fault, "erofs")


@kind
def disk_fails(run: Run, fault: Fault) -> Callable[[], None]:
    """A file cannot be read."""
    found = sorted(
        path for path in run.world.disk.content if path.startswith(("/var/lib/nodenet", "/run/node", "/etc/systemd"))
    )
    if not found:
        return lambda: None
    path = found[int(fault.pick * len(found))]
    run.world.disk.unreadable.add(path)
    return lambda: run.world.disk.unreadable.discard(path)


@kind
def kernel_silent(run: Run, fault: Fault) -> Callable[[], None]:  # noqa: ARG001
    """Netlink answers with an error: no descriptors, no memory."""
    run.world.kernel_silent = True
    return lambda: setattr(run.world, "kernel_silent", False)


# -- bus and systemd


@kind
def bus_down(run: Run, fault: Fault) -> Callable[[], None]:  # noqa: ARG001
    run.world.bus_up = False
    return run.bus_back


@kind
def bus_stalled(run: Run, fault: Fault) -> Callable[[], None]:  # noqa: ARG001
    run.world.bus_stalled = True
    return run.bus_back


@kind
def systemd_silent(run: Run, fault: Fault) -> Callable[[], None]:  # noqa: ARG001
    run.world.systemd.silent = True
    return lambda: setattr(run.world.systemd, "silent", False)


@kind
def systemd_refuses_reload(run: Run, fault: Fault) -> Callable[[], None]:  # noqa: ARG001
    run.world.systemd.refuses_reload = True
    return lambda: setattr(run.world.systemd, "refuses_reload", False)


@kind
def systemd_deaf(run: Run, fault: Fault) -> Callable[[], None]:  # noqa: ARG001
    run.world.systemd.deaf = True
    return lambda: setattr(run.world.systemd, "deaf", False)


@kind
def notifications_lost(run: Run, fault: Fault) -> Callable[[], None]:
    run.world.systemd.loses_messages = 1 + int(fault.pick * 30)
    return lambda: setattr(run.world.systemd, "loses_messages", 0)


# -- NetworkManager, Open vSwitch, libnmstate


@kind
def manager_crashes(run: Run, fault: Fault) -> None:
    run.world.manager.crash(min(fault.lasts, 60.0))


@kind
def manager_hangs(run: Run, fault: Fault) -> Callable[[], None]:  # noqa: ARG001
    run.world.manager.hung = True

    def end() -> None:
        run.world.manager.hung = False
        run.world.manager.touch()

    return end


@kind
def rollback_fails(run: Run, fault: Fault) -> Callable[[], None]:  # noqa: ARG001
    run.world.manager.rollback_fails = True
    return lambda: setattr(run.world.manager, "rollback_fails", False)


@kind
def ovs_database_down(run: Run, fault: Fault) -> Callable[[], None]:  # noqa: ARG001
    run.world.ovs.come_or_go(database=False)
    return lambda: run.world.ovs.come_or_go(database=True)


@kind
def ovs_switch_hangs(run: Run, fault: Fault) -> Callable[[], None]:  # noqa: ARG001
    run.world.ovs.come_or_go(switch=False)
    return lambda: run.world.ovs.come_or_go(switch=True)


@kind
def apply_goes_wrong(run: Run, fault: Fault) -> Callable[[], None]:
    where, how = TROUBLES[int(fault.pick * len(TROUBLES))]
    trouble = Trouble(where, how, 1 if fault.lasts < 50 else 99)
    run.world.troubles.append(trouble)
    return lambda: run.world.troubles.remove(trouble)


# -- the wire


@kind
def cable_out(run: Run, fault: Fault) -> Callable[[], None]:  # noqa: ARG001
    name = next(iter(run.world.nics.values()))

    def set_to(*, present: bool) -> None:
        run.world.kernel.set_carrier(name, present=present)
        run.world.manager.ip.carrier(name, present=present)

    set_to(present=False)
    return lambda: set_to(present=True)


@kind
def dhcp_silent(run: Run, fault: Fault) -> Callable[[], None]:  # noqa: ARG001
    segment = run.uplink_segment
    segment.silent = True
    return lambda: setattr(segment, "silent", False)


@kind
def dhcp_slow(run: Run, fault: Fault) -> Callable[[], None]:
    segment = run.uplink_segment
    segment.delay = 0.2 + fault.pick * 30
    return lambda: setattr(segment, "delay", 0.05)


@kind
def dhcp_other_address(run: Run, fault: Fault) -> Callable[[], None]:  # noqa: ARG001
    segment = run.uplink_segment
    segment.other = IPv4Interface("192.0.2.77/24")
    return lambda: setattr(segment, "other", None)


@kind
def gateway_dead(run: Run, fault: Fault) -> Callable[[], None]:  # noqa: ARG001
    segment = run.uplink_segment
    segment.gateway_up = False
    return lambda: setattr(segment, "gateway_up", True)


# -- other actors


@kind
def reload(run: Run, fault: Fault) -> None:  # noqa: ARG001
    run.order("reload")


@kind
def reselect(run: Run, fault: Fault) -> None:  # noqa: ARG001
    run.world.rules.may_change_node_ip = True
    run.order("reselect")


@kind
def bridge_remove(run: Run, fault: Fault) -> None:  # noqa: ARG001
    run.order("remove_bridge")


@kind
def other_checkpoint(run: Run, fault: Fault) -> None:
    manager = run.world.manager
    if not manager.running or manager.memory.points or run.world.applying:
        return  # one that comes before ours in the same apply cannot be told from ours when libnmstate dies
    point = manager.checkpoint(3600.0, foreign=True)
    run.world.after(min(fault.lasts, 60.0), lambda: manager.release(point.path))


@kind
def other_profile(run: Run, fault: Fault) -> None:  # noqa: ARG001
    """An administrator adds a profile for a link that does not exist yet."""
    if not run.world.manager.running or run.world.manager.memory.points:
        return  # a rollback deletes profiles that came after its checkpoint: that is NetworkManager's law
    uuid = "d0000000-0000-4000-8000-000000000001"
    connection = {"id": "storage", "uuid": uuid, "type": "802-3-ethernet", "interface-name": "eth7"}
    run.world.manager.put(made({"connection": connection, "ipv4": {"method": "auto"}}, "", on_disk=True))
    run.world.disk.sync()
    run.world.rules.foreign_profiles.add(uuid)


@kind
def readdressed(run: Run, fault: Fault) -> None:
    """An administrator gives the uplink a profile of his own, and boots again a while later."""
    if not run.world.manager.running or run.world.kernel.links.get("br-ex") or run.world.manager.memory.points:
        return
    uuid = "d0000000-0000-4000-8000-000000000002"
    connection = {"id": "mine", "uuid": uuid, "type": "802-3-ethernet", "interface-name": "eth0"}
    addresses = [{"address": "192.0.2.55", "prefix": 24}]
    ipv4 = {"method": "manual", "address-data": addresses, "gateway": "192.0.2.1"}
    settings: Settings = {"connection": {**connection, "autoconnect-priority": 10}, "ipv4": ipv4}
    run.world.manager.put(made(settings, "", on_disk=True))
    run.world.disk.sync()
    run.world.rules.foreign_profiles.add(uuid)
    run.world.after(min(fault.lasts, 20.0), lambda: None if run.healed else run.world.cut_power())


@kind
def nic_renamed(run: Run, fault: Fault) -> None:  # noqa: ARG001
    """The NIC is put into another slot: it has another name in the next boot."""
    mac, name = next(iter(run.world.nics.items()))
    run.world.nics[mac] = "ens7" if name == "eth0" else "eth0"
    run.world.cut_power()


@kind
def vip_comes(run: Run, fault: Fault) -> Callable[[], None]:  # noqa: ARG001
    """The keepalived of this node puts a VIP on the link of the node IP."""
    kernel, vip = run.world.kernel, IPv4Address("192.0.2.100")
    link = "br-ex" if "br-ex" in kernel.links else next(iter(run.world.nics.values()))
    if run.world.vips:
        kernel.give(link, vip, 32, leased=False, who="keepalived")

    def gone() -> None:
        for name in list(kernel.links):
            kernel.take(name, vip)

    return gone


@kind
def node_file_edited(run: Run, fault: Fault) -> None:
    """An administrator edits the node file; the text stays what it asks for."""
    for path in sorted(run.world.disk.content):
        if path.startswith("/etc/nmstate/openshift/") and path.endswith(".yml"):
            run.world.disk.content[path] += b"# edited\n" if fault.pick < 0.5 else b"\n"
