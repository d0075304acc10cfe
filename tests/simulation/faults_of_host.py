"""What happens to the process and its host: power, kills, files, clocks, the bus, systemd."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nodenet.core.boot.outcome import Topic
from nodenet.stages.apply.records import CHANGE
from simulation.faults import Fault, kind
from simulation.units import USUAL_SECONDS

if TYPE_CHECKING:
    from simulation.run import Run

MOST_FLOODED = 100.0
"""Seconds."""
FLOODED = sorted(set(Topic) - {Topic.OVS, Topic.UPLINK, Topic.NODE_IP_LOST})
"""No signals: the watch of Open vSwitch's database reports what came or went, the reconciler what is back or lost."""
BUSY_SECONDS = 0.15
"""How much longer each answer takes on a busy host."""


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
def suspended(run: Run, fault: Fault) -> None:
    """The node sleeps for up to a minute: CLOCK_BOOTTIME and the wall clock go on, no timer does (clock_gettime(2))."""
    world, seconds = run.world, fault.pick * 60.0
    world.slept += seconds
    world.wall += seconds
    world.leased_until = {address: until - seconds for address, until in world.leased_until.items()}


@kind
def answers_late(run: Run, fault: Fault) -> Callable[[], None]:
    """An answer of a DHCP server or router, or the end of a check for duplicates, comes as the daemon gives up."""
    run.world.late = fault.pick
    return lambda: setattr(run.world, "late", None)


@kind
def wall_clock_steps(run: Run, fault: Fault) -> None:
    run.world.wall += (fault.pick - 0.5) * 20 * 365 * 86400
    run.world.wall_stepped = True


def _refused(run: Run, fault: Fault, errno: str) -> Callable[[], None]:
    places = (
        "/etc/",
        "/var/",
        "/var/lib/nodenet/",
        "/run/",
        "/etc/systemd/",
        "/var/lib/nodenet/bridge",
        "/run/nodenet/",
    )
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


@kind
def descriptors_gone(run: Run, fault: Fault) -> Callable[[], None]:  # noqa: ARG001
    """All descriptors of the process are in use: no file, no pipe and no socket can be opened (EMFILE)."""
    run.world.disk.closed = True
    return lambda: setattr(run.world.disk, "closed", False)


@kind
def bus_down(run: Run, fault: Fault) -> Callable[[], None]:  # noqa: ARG001
    run.world.bus_up = False
    run.world.rules.bus_events += 1
    return run.bus_back


@kind
def bus_stalled(run: Run, fault: Fault) -> Callable[[], None]:  # noqa: ARG001
    run.world.bus_stalled = True
    run.world.rules.bus_events += 1
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


@kind
def events_flood(run: Run, fault: Fault) -> Callable[[], None]:
    """Ten signals a second, true or forged, that say nothing new; those of one topic come while the host is busy."""
    over, number = [False], int(min(fault.lasts, MOST_FLOODED) * 10)
    every = fault.pick < 0.3
    topics = FLOODED if every else [FLOODED[int(fault.pick * 997) % len(FLOODED)]]
    world, busy = run.world, 0.0 if every else BUSY_SECONDS
    world.busy += busy

    def one(left: int) -> None:
        if left and not over[0]:
            world.signal(topics[left % len(topics)])
            world.after(0.1, lambda: one(left - 1))

    def end() -> None:
        over[0] = True
        world.busy -= busy

    one(number)
    return end


@kind
def disk_lies(run: Run, fault: Fault) -> None:
    """The disk said that a record of nodenet was written; the power is cut, and it was not, or not all.

    Not during an apply: without its record nothing says what the network was before.
    """
    disk, manager = run.world.disk, run.world.manager
    if run.world.applying or manager.memory.points or str(CHANGE) in disk.content:
        return
    found = sorted(path for path in disk.content if path.startswith("/var/lib/nodenet/"))
    if found:
        path = found[int(fault.pick * len(found))]
        content = disk.content[path]
        kept = run.world.random.randrange(max(len(content), 1))
        disk.content[path] = bytes(len(content)) if fault.pick < 0.3 else content[:kept]
        disk.torn.add(path)
    run.world.cut_power()


@kind
def unit_slow(run: Run, fault: Fault) -> Callable[[], None]:
    run.world.units.seconds = 5.0 + fault.pick * 85.0
    return lambda: setattr(run.world.units, "seconds", USUAL_SECONDS)


@kind
def hosted_fails(run: Run, fault: Fault) -> Callable[[], None]:
    """nodenet-hosted ends, and does not start again."""
    run.world.hosted.fails = fault.lasts > 1.0
    run.world.hosted.end_all()
    return lambda: setattr(run.world.hosted, "fails", False)


@kind
def unit_fails(run: Run, fault: Fault) -> Callable[[], None]:  # noqa: ARG001
    run.world.units.fails = True

    def end() -> None:
        run.world.units.fails = False
        run.world.units.start_failed()

    return end
