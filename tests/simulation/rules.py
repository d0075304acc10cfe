"""The properties that hold in every run, whatever happens; the world reports to them, and the first violation ends it.

P1  a node is not without network for longer than a rollback takes while the world offers one
P2  kubelet starts with addresses that are on the node when READY is sent, and keeps them
P3  in a fair world READY comes; in any other the status names what is awaited
P4  applies and calls to the outside have a back-off, and each stage has its turn
P5  what other programs made stays
P6  a second run in the same boot writes nothing, but the entry of the history that a disk did not take in the first one
P7  each failure has one cause line, and none is repeated; no error is one that nodenetd has no name for
P8  the status is true
P9  an order is answered, once
P10 nothing waits without a bound or a visible reason
P11 to P13 are about what kubelet starts with from boot to boot: `next_boot`
P14 a node file that has worked works after a rename of its NICs: `renamed`
P15 and P16 are about orders, and about what is changed by hand: `by_hand`
P17 what is below br-ex after a swap: `swapped`
P18 an NMState policy is resolved once: its document in force stays the same: `test_policies`
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from nodenet.core.boot.stage_state import Inhibitor, Status
from nodenet.core.boot.stages import Boot, Health
from nodenet.core.ip import IPAddress
from nodenet.core.messages import Message
from nodenet.core.network_manager.state import ManagerState
from nodenet.core.status.document import BootStatus
from nodenet.core.trial.trial import TrialState
from nodenet.stages.apply.records import BRIDGE, BRIDGE_INTENT, CHANGE, INTENT
from simulation.by_hand import Hands
from simulation.engine import Violation
from simulation.next_boot import NextBoot
from simulation.trials import Trials

if TYPE_CHECKING:
    from simulation.open_vswitch import Row
    from simulation.run import Order
    from simulation.swapped import Uplink
    from simulation.systemd import Start
    from simulation.world import World

OVN_SECONDS = 5.0
"""After the start of kubelet ovnkube-node is there."""
UNSEEN_SECONDS = 45.0
"""How long a lost address or carrier may be unknown to the status: a watchdog's beat, and patience with a rollback."""
DARK_SECONDS = 240.0
"""NetworkManager rolls back after 60 s; a link that failed is activated again after 60 s, and DHCP may take 45."""
APPLY_WINDOW, MOST_APPLIES = 600.0, 9
MORE_APPLIES = 6
"""With each reload: a file that was refused is tried again, and so is br-ex."""
REPEATS = 4
"""How often one process may log the same error; once more for each reload, which asks for the cause."""
UNTURNED_SECONDS = 45.0
"""How long a stage may be due while others are looked at; an apply may take longer."""
BLAMED = ".yml: NetworkManager could not roll back"
READ, UNREAD_SECONDS = "cannot be read", 55.0
WAYS_BACK = frozenset(map(str, (BRIDGE, BRIDGE_INTENT, CHANGE, INTENT)))
"""The records that say what an interrupted apply has to be undone with."""
APPLIED = "/etc/nmstate/openshift/applied"
NODE_IP = "/run/nodeip-configuration/primary-ip"
PUBLISHED = "/etc/systemd/system/kubelet.service.d/20-nodenet.conf"


@dataclass(frozen=True, slots=True)
class Spoken:
    """A line of the journal."""

    now: float
    level: str
    text: str
    fields: dict[str, Any]


@dataclass(slots=True)
class Rules:
    """What is remembered of a run for its properties."""

    world: World
    journal: list[Spoken] = field(default_factory=list)
    checked: Counter[str] = field(default_factory=Counter)
    """How often each property was looked at."""
    repeated: Counter[tuple[str, str]] = field(default_factory=Counter)
    process_began: float = 0.0
    dark_since: float | None = None
    untrue_since: float | None = None
    due_since: tuple[tuple[str, float | None], float] | None = None
    """Which stage is due, since when by the boot's clock, and since when that is seen: it is not attempted."""
    unlike_since: float | None = None
    """Since when the status has another answer than the kernel to whether the node IPs are there."""
    orders: int = 0
    """Reloads, reselections and edits: each lets the stages run anew."""
    applies: int = 0
    """When this process began: how many applies there were."""
    foreign_profiles: set[str] = field(default_factory=set)
    foreign_ports: set[tuple[str, str]] = field(default_factory=set)
    others: dict[tuple[str, int], frozenset[str]] = field(default_factory=dict)
    """Link and its number → the addresses and routes that OVN-Kubernetes has put there."""
    trials: Trials = field(default_factory=Trials)
    bus_events: int = 0
    """How often the bus was away, or silent."""
    bridge_failed_at: tuple[float, ...] | None = None
    """What had happened when br-ex was tried last and not committed: boots, orders, and what came or went."""
    bridge_tried_at: float = 0.0
    """When the last apply of br-ex began."""
    uplink_back_at: float = 0.0
    """When nodenetd saw last that gateways answer again."""
    inhibitors: list[Inhibitor] = field(default_factory=list)
    """Those that programs hold at this moment, of the process that runs."""
    handles: Iterator[int] = field(default_factory=itertools.count)
    """The numbers that tell one inhibitor from another."""
    committed: bool = False
    """Whether the last apply of a node file was committed."""
    names_of_file: dict[str, str] = field(default_factory=dict)
    """MAC → the name that the node file has for the NIC, where one was renamed."""
    file_worked: bool | None = None
    """Whether the node file had worked each time when a NIC got another name; None: none has."""
    may_change_node_ip: bool = False
    """Whether an administrator has asked for it."""
    uplink: Uplink | None = None
    """What another NIC below br-ex must keep, since it was ordered."""
    next_boot: NextBoot = field(init=False)
    hands: Hands = field(init=False)
    asked: Callable[[], list[Order]] = list
    """The orders that have no answer yet."""

    def __post_init__(self) -> None:
        self.next_boot = NextBoot(self.world)
        self.hands = Hands(self.world)

    def blame(self, rule: str, text: str) -> None:
        raise Violation(rule, f"{text} (at {self.world.now:.2f} s)")

    def hold(self, rule: str, text: str, *, holds: bool) -> None:
        self.checked[rule] += 1
        if not holds:
            self.blame(rule, text)

    # -- P1

    def leases_are_held(self) -> None:
        """Look, at the commit of a node file, whether its gateway answers over a lease that was given up."""
        world = self.world
        for device in world.manager.memory.devices.values():
            segment = world.segment_of(device.link)
            answers = segment is not None and device.gateway is not None and segment.answers(device.gateway)
            text = f"a file was kept with the lease of {device.link} given up"
            self.hold("P1", text, holds=not (device.given_up and answers))

    def offers_network(self) -> bool:
        """Whether the world lets the node have a network at this moment."""
        world = self.world
        # Without the bus nothing can ask NetworkManager for anything; its own timers run on.
        if not world.manager.running or world.manager.hung or not world.bus_up or world.bus_stalled:
            return False
        # Nothing says which addresses there are, or what the network was before an apply that was interrupted.
        if world.kernel_silent or world.disk.closed or world.disk.unreadable & WAYS_BACK:
            return False
        # An apply has a time limit of its own; one that began on a node without network has taken none from it.
        if self.went_on_without_a_record() or (world.apply_began_dark and world.now < world.apply_until):
            return False
        # An administrator's own network, which was made and verified, is what the node is to have.
        applied = world.disk.content.get(APPLIED, b"")
        if not world.ovs.works and b"ovs-bridge" in applied:
            return False
        for mac, name in world.nics.items():
            link, segment = world.kernel.links.get(name), world.wire.tagged.get(mac) or world.wire.segments.get(mac)
            static = world.is_static and mac == next(iter(world.nics)) and b'"dhcp": true' not in applied
            # A static profile names its NIC; under another name only br-ex is followed.
            static = static and (name == "eth0" or str(BRIDGE) in world.disk.content)
            # A link that is set down is set up again in a boot that has no node IP yet, but for a node that is to wait
            # for an administrator; later it is left alone, and so it is while an apply runs, which has its own bound.
            is_raised = NODE_IP not in world.disk.content and not world.systemd.status.startswith("failed")
            is_raised = is_raised and world.now >= world.apply_until
            can_carry = link and (link.carrier or (link.plugged and is_raised))
            if can_carry and segment and (static or segment.offer or segment.gives6):
                return True
        return False

    def went_on_without_a_record(self) -> bool:
        """Whether this boot went on without a record that it could not read, or that a disk has torn which lied.

        Of the first one the status names a reload as remedy; nothing can know what was in the second one. While there
        is something to undo, nodenetd asks for the first one for a minute before it goes on.
        """
        asked = UNREAD_SECONDS if str(CHANGE) in self.world.disk.content else 0.0
        begin = self.world.boot_began
        said = [line.text for line in self.journal if line.now >= begin + (asked if READ in line.text else 0.0)]
        return any(text.startswith((f"{path} {READ}", f"Set {path} aside")) for text in said for path in WAYS_BACK)

    def look_at_darkness(self) -> None:
        """Called from time to time: no network although there could be one?"""
        world = self.world
        if world.kernel.has_network or not self.offers_network() or world.needs_boot:
            self.dark_since = None
            return
        if self.dark_since is None:
            self.dark_since = world.now
        # A start of NetworkManager may never end. A new nodenetd, and a new NetworkManager, begin that wait again.
        waits = ManagerState.STARTING.value in world.systemd.status
        dark = world.now - max(self.dark_since, self.process_began if waits else 0.0, world.manager.memory.began)
        self.hold("P1", f"no network for {dark:.0f} s though the world offers one", holds=dark < DARK_SECONDS)

    def addresses_taken(self, link: str, gone: Collection[IPAddress]) -> None:
        """The daemon has let a link lose addresses: none of a lease that its server would still renew.

        One that another link has is not lost. In a later boot the node takes the address that the server gives then.
        """
        segment = self.world.segment_of(link)
        manager = self.world.manager
        devices = manager.memory.devices.values()
        given = {device.lease.ip for device in devices if device.link == link and device.lease}
        for address in [one for one in gone if self.world.kernel.place_of(one) is None]:
            left = self.world.leased_until.get(address, 0.0) - self.world.now
            is_earlier = manager.ip.leased_in.get(address, 0) < self.world.boots
            other = (segment is not None and segment.other is not None) or bool(is_earlier and given - {address})
            # No clock but this one goes on from boot to boot.
            other = other or (is_earlier and self.world.wall_stepped)
            self.hold("P1", f"{address} is taken away, and leased for {left:.0f} s", holds=left < 1.0 or other)

    def kernel_changed(self) -> None:
        if self.world.kernel.has_network:
            self.dark_since = None

    # -- P2

    def kubelet_started(self, start: Start) -> None:
        self.world.after_in_boot(OVN_SECONDS, self.world.ovn_comes)
        name = self.world.static_name or self.world.transient_name
        self.hold("P2", f"kubelet starts on a host called {name}", holds=name != "localhost")
        address = start.variables.get("KUBELET_NODE_IP", "")
        self.hold("P2", "kubelet starts without a node IP", holds=bool(address))
        for each in start.variables.get("KUBELET_NODE_IPS", address).split(","):
            here = ip_address(each) in start.usable
            self.hold("P2", f"kubelet starts with {each}, which is not on the node", holds=here)
            vip = ip_address(each) in self.world.vips
            self.hold("P2", f"kubelet starts with the VIP {each}", holds=not vip)
        self.next_boot.kubelet_started(start)

    def written(self, path: str, content: bytes | None) -> None:
        """A file of nodenet is about to change."""
        if path == PUBLISHED and content:
            self.next_boot.published(content)
        if path == PUBLISHED and self.world.systemd.kubelet_runs:
            before = self.world.disk.content.get(path)
            self.hold(
                "P2",
                f"the node IP of a running kubelet changes: {before!r} to {content!r}",
                holds=self.may_change_node_ip or before == content,
            )

    # -- P4

    def look_at_applies(self) -> None:
        applies = self.world.manager.applies[self.applies :]
        recent = [one for one in applies if one > self.world.now - APPLY_WINDOW]
        most = MOST_APPLIES + MORE_APPLIES * self.orders
        self.hold("P4", f"{len(recent)} applies in {APPLY_WINDOW:.0f} s", holds=len(recent) <= most)

    def look_at_turns(self, boot: Boot) -> None:
        """Called from time to time: does a stage that is due have its turn, whatever else is looked at?"""
        name, now = boot.next(), self.world.boottime
        if (
            name is None
            or (boot[name].due or 0.0) > now
            or self.world.now < self.world.apply_until  # READY waits for it: an apply has its own time limit
            or any(stage.status is Status.RUNNING for stage in boot.stages)
            or any(not point.foreign for point in self.world.manager.memory.points.values())
        ):
            self.due_since = None
            return
        if self.due_since is None or self.due_since[0] != (name, boot[name].due):  # it had a turn, and is due again
            self.due_since = (name, boot[name].due), self.world.now
        due = self.world.now - self.due_since[1]
        self.hold("P4", f"{name} is due for {due:.0f} s and has no turn", holds=due < UNTURNED_SECONDS)

    def look_at_inhibitors(self, boot: Boot) -> None:
        """Called from time to time: a stage that a program inhibits does not run, and says who keeps it."""
        for each in self.inhibitors:
            state = boot[each.stage]
            self.hold("P9", f"{each.stage} runs, and {each.who} inhibits it", holds=state.status is not Status.RUNNING)

    # -- P10

    def look_at_watchdog(self) -> None:
        """Called from time to time: has systemd heard of the daemon as often as it asks for?"""
        late = self.world.now - self.world.systemd.lives_until
        self.hold("P10", f"systemd would have ended nodenetd {late:.0f} s ago", holds=late <= 0)

    def bridge_tried(self) -> None:
        """An apply of br-ex begins: under kubelet never for the second time without a reason."""
        world = self.world
        self.bridge_tried_at = world.now
        if not world.systemd.kubelet_runs:
            return
        bus = self.bus_events, world.bus_up, world.bus_stalled
        now = (world.boots, self.orders, world.ovs.events, world.manager.memory.number, self.uplink_back_at, *bus)
        self.hold(
            "P4", "br-ex is tried again under kubelet, and nothing has happened", holds=now != self.bridge_failed_at
        )
        self.bridge_failed_at = now

    # -- P5

    def profile_deleted(self, uuid: str) -> None:
        self.hold("P5", f"the profile {uuid} of another program is deleted", holds=uuid not in self.foreign_profiles)

    def bridge_removed(self, row: Row) -> None:
        foreign = [name for name in row.ports if (row.name, name) in self.foreign_ports]
        self.hold("P5", f"the bridge {row.name} is removed with {foreign} of others", holds=not foreign)

    def written_profile(self, link: str) -> None:
        """Libnmstate is about to write a profile for *link*: it takes over whatever stands on the link."""
        found = self.world.kernel.links.get(link)
        theirs = found.routes if found else set()
        self.hold("P5", f"{sorted(theirs)} of OVN-Kubernetes get into the profile of {link}", holds=not theirs)

    def look_at_others(self) -> None:
        """Called once all is calm: is everything that others put on a link there after all that was done?

        An apply that hangs has set it aside.
        """
        if self.world.apply_until:
            return
        for (name, index), put in self.others.items():
            link = self.world.kernel.links.get(name)
            if link is None or link.index != index:
                continue  # another link, or none: its own program puts that on a new one
            lacking = put - {*map(str, link.addresses), *link.routes}
            self.hold("P5", f"{sorted(lacking)} of OVN-Kubernetes are gone from {name}", holds=not lacking)

    def manager_started(self) -> None:
        """It activates a bridge again that Open vSwitch does not carry out: no change of nodenetd, if none is open."""
        if not self.world.ovs.works and str(CHANGE) not in self.world.disk.content:
            self.others.clear()

    # -- P7

    def said(self, level: str, text: str, fields: dict[str, Any]) -> None:
        """A line was logged."""
        self.journal.append(Spoken(self.world.now, level, text, fields))
        message = fields.get("message")
        self.hands.said(message)
        self.orders += message is Message.EDITED  # as after a reload, all is tried anew
        silent = message is Message.NAME_SERVERS_SILENT and fields.get("stage") is None
        if silent or text.startswith("The uplink has a carrier"):
            self.uplink_back_at = self.world.now
        self.committed = self.committed and not text.startswith("Put the profiles from before the apply")
        if text.startswith("The apply of ") and self.committed:
            runs = self.world.systemd.kubelet_runs
            self.hold("P1", f"what is committed is undone under kubelet: {text}", holds=not runs)
        if message is Message.WATCHER_FAILED or fields.get("exc_info"):
            self.blame("P7", f"an unforeseen error: {text} {fields.get('exc_info')!r}")
        if BLAMED in text:
            record = self.world.disk.content.get(str(INTENT), b"")
            self.hold("P8", f"a file in force is blamed: {text}", holds=b'"phase": "good"' not in record)
        if level in ("warning", "error", "critical"):
            self.repeated[str(message), text] += 1
            count, most = self.repeated[str(message), text], REPEATS * (1 + (level == "warning")) + self.orders
            self.hold("P7", f"logged {count} times by one process: {text}", holds=count <= most)

    def new_process(self) -> None:
        self.process_began = self.world.now
        self.bridge_failed_at = None  # a try that a kill cut short has not failed
        self.repeated.clear()
        self.inhibitors.clear()
        self.due_since = None
        self.applies = len(self.world.manager.applies)

    # -- P8

    def look_at_status(self, status: BootStatus) -> None:
        """Called from time to time: does the status say ok although the node cannot be reached?"""
        world, lost = self.world, ""
        selection = status.facts.selection
        if status.ready and selection and (runs_with := world.systemd.runs_with("kubelet.service")):
            of_kubelet, now = runs_with.get("KUBELET_NODE_IPS", ""), ",".join(map(str, selection.node_ips))
            text = f"kubelet runs with {of_kubelet}, and the node IPs of the status are {now}"
            self.hold("P2", text, holds=of_kubelet == now or self.may_change_node_ip or status.health is not Health.OK)
        if status.ready and status.health is Health.OK and selection:
            gone = [one for one in selection.node_ips if world.kernel.place_of(one) is None]
            nic = world.kernel.links.get(world.uplink_of(selection.link or ""))
            cut = world.kernel.links.get(selection.link or "")
            is_uplink = selection.link == "br-ex" or cut is nic
            lost = f"{gone} are gone" if gone else "no carrier" if is_uplink and nic and not nic.carrier else ""
        trial = status.trial  # nothing is called lost while it is applied
        is_applying = trial is not None and trial.state is TrialState.APPLYING
        if not lost or is_applying or world.kernel_silent or world.disk.closed:
            self.untrue_since = None
            return
        self.untrue_since = self.untrue_since or world.now
        unseen = world.now - self.untrue_since
        self.hold("P8", f"health is ok for {unseen:.0f} s, and {lost}", holds=unseen < UNSEEN_SECONDS)
