"""What an administrator changes by hand on a node that is ready, and the laws of that.

P15  under a running kubelet no node file is applied without an order; what an order began may go on
P16  a change by hand is reported within a minute, and stays until an order or a boot; without one, no difference is
     reported
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from typing import TYPE_CHECKING

from nodenet.core.boot.stages import Health
from nodenet.core.messages import Message
from nodenet.core.status.document import BootStatus
from nodenet.stages.apply.records import CHANGE
from simulation.asked_for import SECOND_LOOKS
from simulation.faults import Fault, kind

if TYPE_CHECKING:
    from simulation.run import Run
    from simulation.world import World

HAND = "changed-by-hand"
WHAT = ("mtu", "dns", "address", "gateway")
COMPARED = frozenset({"static", "dhcp", "other-lease"})
"""What a node file may ask for on a node that is changed by hand."""
SAID_SECONDS = 65.0
"""A minute, and the time between two looks of the laws."""
HARMLESS = SECOND_LOOKS | {HAND}
"""Kinds of faults that change nothing of a network that works."""
RESOLV_CONF = "/etc/resolv.conf"
ANOTHER, OTHER_DNS = IPv4Address("192.0.2.51"), b"nameserver 192.0.2.9\n"
MTU = 1400


@dataclass(frozen=True, slots=True)
class ByHand:
    """A change: *stands* says whether the network still has it."""

    what: str
    link: str
    at: float
    stands: Callable[[], bool]


@dataclass(slots=True)
class Hands:
    """What was changed by hand in this boot, and whether an order is being carried out."""

    world: World
    changes: list[ByHand] = field(default_factory=list)
    watched: list[ByHand] = field(default_factory=list)
    """Those that no order came after."""
    ordered: bool = False

    def standing(self, link: str) -> Iterator[str]:
        """Yield what is still changed on *link*."""
        return (each.what for each in self.changes if each.link == link and each.stands())

    def is_ordered(self) -> None:
        """An administrator has given an order: what was changed by hand may be undone."""
        self.ordered = True
        self.watched.clear()

    def boots(self) -> None:
        """A boot makes the network as it was."""
        if any(each.what == "dns" for each in self.changes):
            self.world.disk.write_synced(RESOLV_CONF, b"nameserver 192.0.2.1\n")
        self.ordered = False
        self.changes.clear()
        self.watched.clear()

    def applied(self) -> None:
        """P15: the network is about to be changed for a node file; `Rules.bridge_tried` has the law of br-ex."""
        world = self.world
        free = self.ordered or not world.systemd.kubelet_runs
        world.rules.hold("P15", "a node file is applied under kubelet, and nothing has ordered it", holds=free)

    def said(self, message: object) -> None:
        """P16: a line of the journal says that the network is not as the file asks."""
        world = self.world
        if message is Message.NETWORK_CHANGED and world.rules.next_boot.struck.keys() <= HARMLESS:
            # A change of a moment ago that an order has undone since is no wrong line.
            holds = bool(self.changes) or self.ordered
            world.rules.hold("P16", "a difference is reported, and nothing was changed by hand", holds=holds)

    def look(self, status: BootStatus) -> None:
        """Called from time to time, while nodenetd runs."""
        world = self.world
        trial = status.trial is not None and status.trial.runs
        if status.boot.next() is None and not (trial or str(CHANGE) in world.disk.content):
            self.ordered = self.ordered and any(not each.answer.done() for each in world.rules.asked())
        if not world.rules.next_boot.struck.keys() <= HARMLESS or not world.systemd.active:
            return
        for each in self.watched:
            world.rules.hold("P16", f"{each.what} of {each.link} is undone without an order", holds=each.stands())
            since = world.now - max(each.at, world.rules.process_began)
            is_said = status.health is not Health.OK or any(_names(each.what, line) for line in status.facts.changed)
            text = (
                f"{each.what} of {each.link} was changed {since:.0f} s ago, and the status says {status.facts.changed}"
            )
            world.rules.hold("P16", text, holds=is_said or since < SAID_SECONDS)


def _names(what: str, line: str) -> bool:
    return {"mtu": "mtu", "dns": "DNS", "address": "ipv4", "gateway": "ipv4"}[what] in line or line.startswith("eth0")


@kind
def changed_by_hand(run: Run, fault: Fault) -> None:
    """An administrator changes one value of a network that is as its node file asks."""
    world, reconciler = run.world, run.process.reconciler if run.process else None
    status = reconciler.status if reconciler else None
    in_force = status and status.facts.applied_digest and status.facts.applied_digest == status.facts.digest
    if not status or not in_force or run.scenario.node.file not in COMPARED or status.health is not Health.OK:
        return
    calm = status.ready and world.systemd.kubelet_runs and status.boot.next() is None and world.life.alive
    if not calm or world.rules.hands.ordered or world.manager.memory.points or not world.manager.running:
        return
    what = WHAT[int(fault.pick * len(WHAT))]
    link = world.kernel.place_of(IPv4Address("192.0.2.5")) or ""
    if run.scenario.node.file != "static" or (what == "gateway" and link == "br-ex"):
        what = "mtu"
    link = "eth0" if what == "mtu" else link
    if link in world.kernel.links:
        change = ByHand(what, link, world.now, _changed(world, what, link))
        world.rules.hands.changes.append(change)
        world.rules.hands.watched.append(change)


def _changed(world: World, what: str, link: str) -> Callable[[], bool]:
    """Carry the change out; return what says whether it stands."""
    kernel, found, gateway = world.kernel, world.kernel.links[link], world.uplink_segment.gateway
    match what:
        case "mtu":
            kernel.set_mtu(link, MTU)
            return lambda: found.mtu == MTU
        case "dns":
            world.disk.write_synced(RESOLV_CONF, OTHER_DNS)
            return lambda: world.disk.read(RESOLV_CONF) == OTHER_DNS
        case "address":
            kernel.give(link, ANOTHER, 24, leased=False, who="nm")
            kernel.take(link, IPv4Address("192.0.2.5"))
            return lambda: IPv4Address("192.0.2.5") not in found.addresses
        case _:
            if gateway:
                kernel.route(link, gateway, None)
            return lambda: gateway not in found.gateways
