"""The world of one node: its parts, the passing of time, power cuts, and the process that is nodenetd."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from ipaddress import IPv4Address, IPv6Address
from random import Random
from typing import TYPE_CHECKING

from nodenet.cli.undo_keyfiles import put_back
from nodenet.core.boot.outcome import Topic
from nodenet.core.errors import NodenetError
from nodenet.core.ip import IPAddress
from simulation.disk import Disk, DiskOfBoot
from simulation.engine import Timeline
from simulation.hosted import HostedUnits
from simulation.kernel import Kernel, SimulatedLink
from simulation.life import Life, Listeners
from simulation.network_manager import NetworkManager
from simulation.nmstate import Trouble
from simulation.open_vswitch import OpenVswitch
from simulation.rules import Rules
from simulation.systemd import Systemd
from simulation.units import Units
from simulation.wire import Segment, Wire

if TYPE_CHECKING:
    from simulation.faults_of_boots import Panics
    from simulation.open_vswitch import Row

COALESCED_SECONDS = 0.002
LATEST_SECONDS, MOMENT_SECONDS = 30.0, 0.02
"""How much later an answer may come, and how long before the end of the daemon's timer."""
OVN_ADDRESSES: tuple[tuple[IPAddress, int], ...] = ((IPv4Address("169.254.0.2"), 17), (IPv6Address("fd69::2"), 112))
OVN_ROUTES = frozenset({"169.254.0.1/32", "172.30.0.0/16"})
"""What OVN-Kubernetes has on br-ex: masquerade addresses, its host route, and one to the services."""
LONGEST_SHORT_BOOT = 4.0
"""Seconds."""


class World:
    """Everything outside nodenetd. *random* decides what is left to chance."""

    apply_until = 0.0
    """Until when the call of an apply may last: a hung one outlives its checkpoint. 0.0: there is none."""
    apply_began_dark = False
    """Whether the node had no network when the last apply began."""
    panics: Panics | None = None
    """Which node file the kernel panics with."""
    unplugged: frozenset[str] = frozenset()
    """The NICs that have no carrier when a boot begins."""
    short_boots = 0
    """In how many boots to come the power fails before READY."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.rules = Rules(self)
        self.timeline = Timeline(10.0)
        self.boots = 0
        self.disk = Disk()
        self.wire = Wire()
        self.kernel = Kernel(self._kernel_changed, self.after_in_boot, partial(self.answer, self.after_in_boot))
        self.ovs = OpenVswitch(lambda: self.signal(Topic.OVS))
        self.manager = NetworkManager(self, lambda: self.signal(Topic.NETWORK_MANAGER))
        self.troubles: list[Trouble] = []
        self.show_seconds = 0.03
        self.late: float | None = None
        """Which of the daemon's timers an answer comes with, between 0 and 1; None: it comes when it is ready."""
        self.slept = 0.0
        """In this boot, while no timer went on."""
        self.busy = 0.0
        """How many seconds longer each answer takes."""
        self.systemd = Systemd(self, self.rules.kubelet_started)
        self.units = Units(self)
        self.hosted = HostedUnits(self)
        self.bus_up = True
        self.bus_stalled = False
        self.kernel_silent = False
        self.applying = False
        """Whether libnmstate has begun an apply and made no checkpoint yet."""
        self.dns_answers = False
        self.resolved = False
        """Whether systemd-resolved runs."""
        self.static_name = "worker-0"
        self.transient_name = "worker-0"
        self.leased_until: dict[IPAddress, float] = {}
        """What DHCP servers gave, and until when."""
        self.wall = 1_760_000_000.0
        self.wall_stepped = False
        self.boot_began = 0.0
        self.life = Life(self, alive=False)
        self.listeners: Listeners | None = None
        self.points: Counter[str] = Counter()
        """How often the daemon has passed each point, in all its lives."""
        self.last_point = ""
        self.on_point: dict[tuple[str, int], list[Callable[[], None]]] = {}
        self.nics: dict[str, str] = {}
        """MAC → name."""
        self.made_uplink = ""
        """The bond or VLAN that has the node's address."""
        self.vips: frozenset[IPv4Address] = frozenset()
        self.is_static = False
        """Whether the first NIC has a static address: no DHCP server is needed."""
        self.needs_boot = False
        self._signalled: set[Topic] = set()

    @property
    def now(self) -> float:
        return self.timeline.now

    def after(self, seconds: float, work: Callable[[], None]) -> None:
        """Do *work* later, whatever happens until then."""
        self.timeline.after(seconds, work)

    def after_in_boot(self, seconds: float, work: Callable[[], None]) -> None:
        """Do *work* later, unless the power was cut."""
        boot = self.boots
        self.timeline.after(seconds, lambda: work() if self.boots == boot else None)

    def answer(self, later: Callable[[float, Callable[[], None]], None], work: Callable[[], None]) -> None:
        """Let an answer come now, or *later* in the very moment in which the daemon's time for something is over."""
        ends: list[float] = []
        if self.late is not None:
            ends = sorted(end for end in self.life.deadlines() if self.now + 1.0 < end < self.now + LATEST_SECONDS)
        if self.late is None or not ends:
            work()
        else:
            end = ends[int(self.late * len(ends))]
            later(end - self.now - self.random.uniform(0.0, MOMENT_SECONDS), work)

    @property
    def boottime(self) -> float:
        """CLOCK_BOOTTIME."""
        return self.now - self.boot_began + self.slept

    @property
    def boot_id(self) -> str:
        return f"{self.boots:032x}"

    # -- what the daemon hears

    def signal(self, topic: Topic) -> None:
        """Let the daemon hear that something about *topic* changed."""
        if topic in self._signalled or self.listeners is None:
            return
        self._signalled.add(topic)
        self.after(COALESCED_SECONDS, lambda: self._deliver(topic))

    def _deliver(self, topic: Topic) -> None:
        self._signalled.discard(topic)
        heard = self.listeners
        if heard is None or not self.life.alive:
            return
        by_bus = topic not in (Topic.KERNEL, Topic.OVS)
        if (by_bus and (not self.bus_up or self.bus_stalled)) or (topic is Topic.KERNEL and not heard.kernel):
            return
        if topic is Topic.OVS and not heard.ovs:
            return
        heard.wake(topic)

    def _kernel_changed(self) -> None:
        self.signal(Topic.KERNEL)
        if self.listeners is not None and self.listeners.link is not None:
            self.listeners.link()
        self.rules.kernel_changed()

    # -- power

    def cut_power(self) -> None:
        """Lose all that is not on the platter; the node boots again."""
        self.life.alive = False
        self.listeners = None
        self.disk.power_cut(self.random)
        if self.random.random() < 0.5:
            self.ovs.sync()
        self.needs_boot = True

    def ovn_comes(self) -> None:
        """OVN-Kubernetes puts its masquerade addresses and routes on br-ex, once: at its start, beside the node IP."""
        link = self.kernel.links.get("br-ex")
        if link is None or link.routes or not any(who == "nm" for _, _, who in link.addresses.values()):
            return
        for address, prefix in OVN_ADDRESSES:
            self.kernel.give("br-ex", address, prefix, leased=False, who="ovn")
            link.tentative.discard(address)
        link.routes |= OVN_ROUTES
        self.rules.others["br-ex", link.index] = frozenset({*(str(one) for one, _ in OVN_ADDRESSES), *OVN_ROUTES})
        self.kernel.touch()

    def boot(self) -> None:
        """Begin a boot: kernel, Open vSwitch, systemd, NetworkManager; the daemon is started by the run."""
        self.boots += 1
        self.boot_began, self.slept = self.now - 5.0, 0.0
        self.needs_boot = False
        self.kernel.boot()
        self.rules.others.clear()
        self.rules.hands.boots()
        for mac, name in self.nics.items():
            self.kernel.add(name, mac)
            self.kernel.set_carrier(name, present=mac not in self.unplugged)
        self.ovs.boot()
        for name, row in self.ovs.rows.items():
            if name in row.ports:
                self.kernel.add(name, self._mac_below(row), "openvswitch")
        self.systemd.boot()
        self.units.boot()
        self.hosted.boot()
        self.manager.stop()
        with suppress(NodenetError, ValueError):  # nodenet-undo.service fails, and NetworkManager starts all the same
            put_back(DiskOfBoot(self.disk), self.boot_id)
        self.manager.start()
        self.touched_by_rollback()
        if self.short_boots:
            self._cut_short()

    def _mac_below(self, row: Row) -> str:
        """Return the MAC of the NIC below a bridge, which the bridge has too."""
        ports = [name for name, (kind, _) in row.ports.items() if kind == "system"]
        return next((mac for mac, name in self.nics.items() if name in ports), next(iter(self.nics)))

    def _cut_short(self) -> None:
        self.short_boots -= 1
        lasts = self.random.uniform(0.2, LONGEST_SHORT_BOOT)
        self.after_in_boot(lasts, lambda: None if self.systemd.active else self.cut_power())

    def kill(self) -> None:
        """End the process of nodenetd at once, its child with it."""
        self.life.alive = False
        self.listeners = None

    def name_after(self, seconds: float) -> None:
        """Let the host get its name late, from DHCP for one."""
        self.static_name, self.transient_name = "", "localhost"

        def named() -> None:
            self.transient_name = "worker-0"
            self.signal(Topic.HOSTNAME)

        self.after(seconds, named)

    def set_link(self, name: str, *, up: bool) -> None:
        """Set a NIC up or down: NetworkManager gives up at once what is down, and sees a carrier that is back.

        That takes a moment: no program can foresee it between its last look at the kernel and READY.
        """

        def changed() -> None:
            self.kernel.set_up(name, up=up)
            self.manager.ip.carrier(name, present=up, at_once=not up)

        self.after_in_boot(MOMENT_SECONDS, changed)

    # -- what the laws ask of each other

    @property
    def uplink_segment(self) -> Segment:
        """The LAN of the first NIC, or of the VLAN on it."""
        mac = next(iter(self.nics))
        return self.wire.tagged.get(mac) or self.wire.segments[mac]

    @property
    def uplink(self) -> str:
        """The link that a configuration from outside gives the node's address."""
        return self.made_uplink or next(iter(self.nics.values()))

    def uplink_of(self, link: str) -> str:
        """Return what *link*, which has the node IP, sends by: on a node with two ways out it has one of the two MACs.

        Which one, is decided by the first boot or a reselection; the law of the next boot is another one.
        """
        found = self.kernel.links.get(link)
        return self.uplink if self.made_uplink or found is None else self.nics.get(found.mac, self.uplink)

    def segment_of(self, link: str) -> Segment | None:
        """Return the LAN that packets of *link* reach now, None where they reach none."""
        found = self.kernel.links.get(link)
        if found is None:
            return None
        if found.kind != "openvswitch":
            return self._segment_below(found) if found.carrier and not found.master else None
        row = self.ovs.rows.get(link)
        if row is None or not self.ovs.works or link not in row.ports:
            return None
        uplinks = (name for name, (kind, _) in row.ports.items() if kind == "system")
        return next((segment for name in uplinks if (segment := self.segment_of(name))), None)

    def _segment_below(self, link: SimulatedLink) -> Segment | None:
        if link.kind is None:
            return self.wire.segments.get(link.mac)
        below = [found for name in link.below if (found := self.kernel.links.get(name)) and found.carrier]
        lans = self.wire.tagged if link.kind == "vlan" else self.wire.segments
        return next((lans[one.mac] for one in below if one.mac in lans), None)

    def touched_by_rollback(self) -> None:
        """Let everybody look at the network again."""
        self.signal(Topic.NETWORK_MANAGER)
