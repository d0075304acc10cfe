"""Boots that end early: a new node file with which the kernel panics, and a power supply that fails several times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nodenet.core.history import entry
from nodenet.stages.apply.history import HISTORY, path_of
from simulation.disk import NODE_FILES
from simulation.faults import Fault, kind
from simulation.faults_of_network import PREFIX_OF_OTHER
from simulation.rules import APPLIED
from simulation.scenario import node_file

if TYPE_CHECKING:
    from simulation.run import Run
    from simulation.world import World

MARK = "# the kernel panics with this file\n"
OTHER = {"static": "dhcp", "dhcp": "static"}
"""What a new file asks for in the place of the one that the node works with: another document, the same address."""
SOON_SECONDS, LATER_SECONDS = 3.0, 50.0
"""After an apply, and after READY: the first traffic of pods."""
RELOAD_SECONDS = 5.0
"""In which a reload has applied and committed a file."""
MOST_BOOTS = 4


@dataclass(slots=True)
class Panics:
    """*in_apply*: the kernel panics when the file is applied; else when the node has been READY with it for a while."""

    world: World
    in_apply: bool
    seconds: float
    due: float = 0.0
    """When the last panic is due that was seen to come."""

    def applied(self, text: str) -> None:
        """A file is being applied."""
        if not text.startswith(MARK):
            return
        if self.in_apply:
            self.world.after_in_boot(self.seconds, self._panic)
        elif self.world.systemd.kubelet_runs:  # READY does not come again
            self.due = self.world.now + RELOAD_SECONDS + self.seconds
            self.world.after_in_boot(RELOAD_SECONDS, self.ready)

    def ready(self) -> None:
        """The node is READY, or works with the file again; the marker is a copy of its file."""
        if not self.in_apply:
            self.due = self.world.now + self.seconds
            self.world.after_in_boot(self.seconds, self._panic_where_in_force)

    @property
    def leads_back(self) -> bool:
        """Whether another file is known good: a node that slept may have taken this one for it, or a disk lied."""
        return not self.world.disk.torn and not good_text(self.world).startswith(MARK)

    @property
    def is_coming(self) -> bool:
        """Whether the kernel is going to panic. A full disk may take the marker of the file when that time is over."""
        return self.is_in_force and self.world.now <= self.due

    @property
    def is_in_force(self) -> bool:
        """Whether the file is applied with which it panics, and the link that it names is there."""
        applied = self.world.disk.content.get(APPLIED, b"").startswith(MARK.encode())
        return not self.in_apply and applied and "eth0" in self.world.kernel.links and self.leads_back

    def _panic_where_in_force(self) -> None:
        if self.is_in_force:
            self._panic()

    def _panic(self) -> None:
        if self.leads_back:  # else this would go on for ever
            self.world.cut_power()


def good_text(world: World) -> str:
    """Return the text of the last known good node file, "" without one."""
    for number in entry.numbers(world.disk.listing(str(HISTORY))):
        content = world.disk.content[str(path_of(number))]
        if b'"good": true' in content:
            return entry.parse(content, number).text
    return ""


@kind
def file_panics(run: Run, fault: Fault) -> None:
    """An administrator replaces the node file that the node works with, and reloads or boots the node again.

    With the new one the kernel panics in each boot. Nothing happens before another file is known good: without a way
    back the node would never get ready.
    """
    world, node = run.world, run.scenario.node
    path = f"{NODE_FILES}/{node.file_name}"
    works = node.file in OTHER and world.systemd.active and world.panics is None and not world.disk.torn
    if not works or good_text(world).encode() != world.disk.content[path]:
        return
    in_apply, by_reload = fault.pick < 0.5, fault.lasts < 10.0
    most = SOON_SECONDS if in_apply else LATER_SECONDS
    world.panics = Panics(world, in_apply, fault.pick % 0.5 * 2 * most)
    world.disk.write_synced(path, (MARK + node_file(OTHER[node.file])).encode())
    if by_reload:
        world.rules.orders += 1
        run.order("reload")
    else:
        world.cut_power()


@kind
def boots_cut_short(run: Run, fault: Fault) -> None:
    """The power fails, and again in the next boots, each time before READY."""
    run.world.short_boots = 1 + int(fault.pick * MOST_BOOTS)
    run.world.cut_power()


@kind
def boot_without_dhcp(run: Run, fault: Fault) -> Callable[[], None]:  # noqa: ARG001
    """The power comes back, and the DHCP server of the first NIC does so later: it boots as well."""
    segment = run.world.uplink_segment
    segment.silent = True
    run.world.cut_power()
    return lambda: setattr(segment, "silent", False)


@kind
def boot_beside_a_stray(run: Run, fault: Fault) -> Callable[[], None]:
    """The power comes back, and a host announces a prefix that is not the LAN's; mostly the router is back later."""
    world, segment = run.world, run.world.uplink_segment
    if world.rules.next_boot.last is None:
        return lambda: None  # in a first boot only an administrator knows which router is the right one
    segment.stray6, segment.router_silent = PREFIX_OF_OTHER, fault.pick < 0.8
    world.cut_power()

    def end() -> None:
        segment.stray6, segment.router_silent = None, False
        world.manager.ip.stray_is_gone()

    return end


@kind
def boot_without_carrier(run: Run, fault: Fault) -> Callable[[], None]:  # noqa: ARG001
    """The first NIC gets its carrier late: its optics are trained, or its switch boots as well."""
    world, mac = run.world, next(iter(run.world.nics))
    world.unplugged |= {mac}
    world.cut_power()

    def end() -> None:
        world.unplugged -= {mac}
        world.kernel.set_carrier(world.nics[mac], present=True)
        world.manager.ip.carrier(world.nics[mac], present=True)

    return end
