"""The watch of the uplink: what it looks at, when it reports, and what it leaves alone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import ip_address, ip_network

import pytest

from fakes import BOOT_ID, FakeKernel, FakeNeighbours, FakeOvsdb, FakeRivals
from nodenet.core.boot.outcome import Facts, Problem
from nodenet.core.boot.stages import new_boot
from nodenet.core.errors import Unavailable
from nodenet.core.ip import IPAddress
from nodenet.core.kernel.neighbours import Neighbour
from nodenet.core.kernel.snapshot import Address, Link, NextHop, Route, Snapshot
from nodenet.core.messages import Message
from nodenet.core.node_ip.select import Selection
from nodenet.core.open_vswitch import OvsBridge, OvsInterface, OvsPort
from nodenet.core.resolver import RESOLV_CONF, Texts
from nodenet.core.since import BEAT_SECONDS
from nodenet.core.stage_name import StageName
from nodenet.core.status.document import BootStatus
from nodenet.loop.uplink import PROBE_SECONDS, UplinkEdges, UplinkWatch
from virtual_time import VirtualLoop

NODE_IP, GATEWAY = ip_address("192.0.2.5"), ip_address("192.0.2.1")
SNAPSHOT = Snapshot(
    addresses=(Address(NODE_IP, 24, "br-ex"),),
    routes=(Route(ip_network("0.0.0.0/0"), (NextHop("br-ex", GATEWAY),)),),
)
"""What the status says: the node IP is on br-ex over eth0."""
BRIDGED = Facts(selection=Selection((NODE_IP,), "br-ex"), bridge="br-ex", uplink="eth0")
READY = BootStatus(new_boot({}, degrade=True), BRIDGED, BOOT_ID, ready=True)


@dataclass
class FakeLinks:
    """Links that tests pull; *unknown* is what the kernel says instead."""

    known: dict[str, Link] = field(default_factory=lambda: {"eth0": Link(2, "eth0"), "br-ex": Link(3, "br-ex")})
    listened: tuple[str, ...] = ()
    changed: Callable[[], None] = lambda: None
    unrouted: Callable[[], None] = lambda: None
    closed: int = 0
    unknown: Exception | None = None
    asked: int = 0

    def link(self, name: str) -> Link | None:
        self.asked += 1
        assert self.asked < 1000, "the watch asks without a pause"
        if self.unknown:
            raise self.unknown
        return self.known.get(name)

    def listen(self, names: Sequence[str], changed: Callable[[], None], unrouted: Callable[[], None]) -> None:
        self.listened, self.changed, self.unrouted = tuple(names), changed, unrouted

    def close(self) -> None:
        self.closed += 1
        self.listened = ()

    def pull(self, name: str, *, carrier: bool = False) -> None:
        """Pull the cable, or put it back; the kernel reports it."""
        self.known[name] = replace(self.known[name], carrier=carrier)
        self.changed()


class LoopClock:
    """The clock of the loop, which a test may run in virtual time."""

    def boottime(self) -> float:
        return asyncio.get_running_loop().time()

    def unix(self) -> float:
        return 1_800_000_000 + self.boottime()

    def elsewhere(self) -> float:
        return 0.0


@dataclass
class FakeNameServers:
    """DNS servers; those in *there* answer."""

    content: bytes | None = None
    there: set[IPAddress] = field(default_factory=set)
    asked: list[tuple[IPAddress, ...]] = field(default_factory=list)
    waiting: frozenset[IPAddress] = frozenset()
    """Answers that came at once, and are not read yet."""
    closed: int = 0

    def files(self) -> Texts:
        return {RESOLV_CONF: self.content}

    def ask(self, servers: Collection[IPAddress]) -> None:
        self.asked.append(tuple(servers))
        self.waiting = frozenset(servers) & self.there

    def answered(self) -> frozenset[IPAddress]:
        return self.waiting

    def close(self) -> None:
        self.closed += 1


@dataclass
class CountedOvsdb(FakeOvsdb):
    """Open vSwitch's database that counts how often its bridges are read."""

    asked: int = 0

    async def bridges(self) -> tuple[OvsBridge, ...]:
        self.asked += 1
        return await super().bridges()


@dataclass
class Rig:
    """The watch over fakes."""

    links: FakeLinks = field(default_factory=FakeLinks)
    neighbours: FakeNeighbours = field(default_factory=lambda: FakeNeighbours({GATEWAY}))
    kernel: FakeKernel = field(default_factory=lambda: FakeKernel(SNAPSHOT))
    ovsdb: CountedOvsdb = field(default_factory=CountedOvsdb)
    name_servers: FakeNameServers = field(default_factory=FakeNameServers)
    rivals: FakeRivals = field(default_factory=FakeRivals)
    reports: list[Problem | None] = field(default_factory=list)
    notes: tuple[str, ...] = ()
    ended: list[str] = field(default_factory=list)
    """Errors that ended a run of the watch."""

    def __post_init__(self) -> None:
        clock, servers = LoopClock(), self.name_servers
        edges = UplinkEdges(self.links, self.neighbours, self.kernel, self.ovsdb, clock, servers, self.rivals)
        self.watch = UplinkWatch(edges, self.take)

    def take(self, problem: Problem | None, notes: tuple[str, ...]) -> None:
        if problem != (self.reports[-1] if self.reports else None):
            self.reports.append(problem)
        self.notes = notes

    async def supervised(self) -> None:
        """Run the watch, again two seconds after each error, as the daemon does."""
        while True:
            try:
                await self.watch.run()
            except RuntimeError as error:
                self.ended.append(str(error))
                await asyncio.sleep(2.0)

    @property
    def causes(self) -> list[str | None]:
        return [problem.cause.split(" since")[0].rstrip(",") if problem else None for problem in self.reports]


def run(story: Callable[[Rig], Awaitable[None]], rig: Rig | None = None, status: BootStatus = READY) -> Rig:
    """Play *story* in virtual time while the watch runs, and let it be READY first."""
    made = rig or Rig()

    async def played() -> None:
        task = asyncio.ensure_future(made.supervised())
        made.watch.show(status)
        await asyncio.sleep(1.0)
        await story(made)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(played())
    return made


def test_a_pulled_cable_is_reported_within_five_seconds_and_over_by_itself() -> None:
    """The uplink below the bridge is what counts; the bridge keeps its carrier (R27)."""

    async def story(rig: Rig) -> None:
        assert rig.links.listened == ("eth0",)
        rig.links.pull("eth0")
        await asyncio.sleep(4.9)
        assert rig.causes == ["eth0, the uplink of br-ex, has no carrier"]
        rig.links.pull("eth0", carrier=True)
        await asyncio.sleep(6.0)

    rig = run(story)
    assert rig.causes == ["eth0, the uplink of br-ex, has no carrier", None]
    assert rig.reports[0]
    assert rig.reports[0].message is Message.UPLINK_LOST


def test_a_problem_of_an_uplink_that_is_not_watched_any_more_is_withdrawn() -> None:
    """No node IP is on a link, or the node is not READY: what the status says of the uplink would never change."""

    async def story(rig: Rig) -> None:
        rig.links.pull("eth0")
        await asyncio.sleep(4.9)
        rig.watch.show(replace(READY, facts=Facts()))
        await asyncio.sleep(1.0)
        assert rig.links.listened == ()

    assert run(story).causes == ["eth0, the uplink of br-ex, has no carrier", None]


def test_a_short_loss_is_not_reported() -> None:
    """A second is what a switch port needs to negotiate."""

    async def story(rig: Rig) -> None:
        rig.links.pull("eth0")
        await asyncio.sleep(1.0)
        rig.links.pull("eth0", carrier=True)
        await asyncio.sleep(30.0)

    assert run(story).reports == []


def test_a_gateway_that_falls_silent_is_reported_within_seventy_seconds_and_back_by_itself() -> None:
    """It is asked once a minute while it answers (R31)."""

    async def story(rig: Rig) -> None:
        await asyncio.sleep(9.5 * PROBE_SECONDS)
        assert len(rig.neighbours.asked) == 10
        rig.neighbours.there.clear()
        await asyncio.sleep(70.0)
        assert rig.causes == ["No answer from the gateway 192.0.2.1 on br-ex"]
        rig.neighbours.there.add(GATEWAY)
        await asyncio.sleep(15.0)

    assert run(story).causes == ["No answer from the gateway 192.0.2.1 on br-ex", None]


def test_a_silent_gateway_whose_route_goes_with_the_node_ip_has_not_answered() -> None:
    """Where only the route goes, the route is the problem."""

    async def story(rig: Rig) -> None:
        await asyncio.sleep(PROBE_SECONDS - 2.0)
        rig.neighbours.there.clear()
        await asyncio.sleep(20.0)
        rig.kernel.now = Snapshot()
        await asyncio.sleep(60.0)
        assert rig.causes == ["No answer from the gateway 192.0.2.1 on br-ex"]
        rig.kernel.now = WITHOUT_ROUTE
        await asyncio.sleep(20.0)

    assert run(story).causes == [
        "No answer from the gateway 192.0.2.1 on br-ex",
        "No default route for IPv4 any more",
    ]


WITHOUT_ROUTE = replace(SNAPSHOT, routes=())


def test_a_default_route_that_ends_is_reported_within_ten_seconds_and_back_by_itself() -> None:
    """The kernel reports its end."""

    async def story(rig: Rig) -> None:
        await asyncio.sleep(10.0)
        rig.kernel.now = WITHOUT_ROUTE
        rig.links.unrouted()
        await asyncio.sleep(10.0)
        assert rig.causes == ["No default route for IPv4 any more"]
        rig.kernel.now = SNAPSHOT
        await asyncio.sleep(11.0)

    assert run(story).causes == ["No default route for IPv4 any more", None]


def test_a_default_route_whose_end_was_not_heard_of_is_reported_with_the_next_look() -> None:
    """The kernel does not report routes that go with an address (RFC 3549 has no acknowledged events)."""

    async def story(rig: Rig) -> None:
        rig.kernel.now = WITHOUT_ROUTE
        await asyncio.sleep(70.0)

    assert run(story).causes == ["No default route for IPv4 any more"]


def test_a_default_route_that_is_replaced_is_no_problem_and_costs_little() -> None:
    """NetworkManager does so with each change of a metric; a program that does nothing else is not followed."""

    async def story(rig: Rig) -> None:
        await asyncio.sleep(5.0)
        rig.neighbours.asked.clear()
        for _ in range(100):
            rig.links.unrouted()
            await asyncio.sleep(0.05)

    rig = run(story)
    assert rig.reports == []
    assert 1 <= len(rig.neighbours.asked) <= 11


def test_a_node_file_without_a_default_route_is_no_loss() -> None:
    """A reload or a confirmed trial brought it; what the network had before says nothing."""

    async def story(rig: Rig) -> None:
        rig.kernel.now = WITHOUT_ROUTE
        rig.watch.show(replace(READY, facts=replace(BRIDGED, applied_digest="d")))
        rig.links.unrouted()
        await asyncio.sleep(3 * PROBE_SECONDS)

    assert run(story).reports == []


@pytest.mark.parametrize("name", [StageName.NMSTATE, StageName.CONFIGURE_OVS])
def test_what_a_stage_changes_is_no_loss_before_the_stage_has_ended(name: StageName) -> None:
    """A wrong file has another gateway, and is rolled back; a gateway that stays silent after that is reported."""

    async def story(rig: Rig) -> None:
        running = replace(READY, boot=READY.boot.begun(name, 1.0))
        for _ in range(2):
            rig.watch.show(running)
            rig.neighbours.there.clear()
            rig.links.unrouted()
            await asyncio.sleep(2 * PROBE_SECONDS)
            assert rig.reports == []
            rig.neighbours.there.add(GATEWAY)
            rig.watch.show(READY)
            await asyncio.sleep(5.0)
        rig.watch.show(running)
        rig.neighbours.there.clear()
        rig.watch.show(READY)
        await asyncio.sleep(10.0)

    assert run(story).causes == ["No answer from the gateway 192.0.2.1 on br-ex"]


def test_one_answer_that_is_lost_is_no_problem() -> None:
    """The gateway is asked again two seconds later."""

    async def story(rig: Rig) -> None:
        await asyncio.sleep(PROBE_SECONDS - 2.0)
        rig.neighbours.there.clear()
        await asyncio.sleep(1.5)
        rig.neighbours.there.add(GATEWAY)
        await asyncio.sleep(PROBE_SECONDS)

    assert run(story).reports == []


@pytest.mark.parametrize("seconds", [200.0, 202.0, 204.0, 206.0, 208.0])
def test_a_cable_that_is_pulled_is_the_cause_of_a_silent_gateway(seconds: float) -> None:
    """One line, and none for what follows from it: the gateway is asked as soon as the carrier is back."""

    async def story(rig: Rig) -> None:
        rig.links.pull("eth0")
        rig.neighbours.there.clear()
        await asyncio.sleep(seconds)
        assert rig.causes == ["eth0, the uplink of br-ex, has no carrier"]
        rig.neighbours.there.add(GATEWAY)
        rig.links.pull("eth0", carrier=True)
        await asyncio.sleep(20.0)

    assert run(story).causes == ["eth0, the uplink of br-ex, has no carrier", None]


def test_nothing_is_watched_before_ready() -> None:
    """A boot that waits for a link says so itself."""

    async def story(rig: Rig) -> None:
        rig.links.pull("eth0")
        await asyncio.sleep(100.0)

    rig = run(story, status=replace(READY, ready=False))
    assert (rig.reports, rig.links.listened, rig.neighbours.asked) == ([], (), [])


def test_a_node_ip_that_moves_takes_the_watch_with_it() -> None:
    """A problem of the link that it left is over."""

    async def story(rig: Rig) -> None:
        rig.links.pull("eth0")
        await asyncio.sleep(5.0)
        rig.links.known["eth1"] = Link(4, "eth1")
        rig.watch.show(replace(READY, facts=Facts(selection=Selection((NODE_IP,), "eth1"))))
        await asyncio.sleep(5.0)
        assert rig.links.listened == ("eth1",)

    assert run(story).causes == ["eth0, the uplink of br-ex, has no carrier", None]


def test_the_ports_of_a_bridge_that_the_node_file_made_are_asked_of_open_vswitch() -> None:
    """No stage of nodenetd knows its uplink."""
    rig, place = made_by_node_file()

    async def story(rig: Rig) -> None:
        assert rig.links.listened == ("eth0",)
        rig.links.pull("eth0")
        await asyncio.sleep(4.0)

    assert run(story, rig, place).causes == ["eth0, the uplink of br-ex, has no carrier"]


def bridge_over(uplink: str) -> OvsBridge:
    """Return br-ex of the node file, over *uplink*."""
    ports = (OvsPort(uplink, (OvsInterface(uplink),)), OvsPort("br-ex", (OvsInterface("br-ex", "internal"),)))
    return OvsBridge("br-ex", ports=ports)


def made_by_node_file() -> tuple[Rig, BootStatus]:
    """Return a node with br-ex over eth0, which the node file made, and a second link."""
    rig = Rig(ovsdb=CountedOvsdb(held=(bridge_over("eth0"),)))
    rig.links.known |= {"br-ex": Link(3, "br-ex", kind="openvswitch"), "eth1": Link(4, "eth1")}
    return rig, replace(READY, facts=replace(BRIDGED, uplink=None))


def test_a_bridge_of_the_node_file_that_moves_to_another_link_is_watched_there() -> None:
    """A minute after a reload moved it: what the link that it left loses is no problem any more."""
    rig, status = made_by_node_file()

    async def story(rig: Rig) -> None:
        rig.links.pull("eth0")
        await asyncio.sleep(4.0)
        rig.ovsdb.held = (bridge_over("eth1"),)
        await asyncio.sleep(PROBE_SECONDS + 1.0)
        assert rig.links.listened == ("eth1",)
        assert rig.causes == ["eth0, the uplink of br-ex, has no carrier", None]
        rig.links.pull("eth1")
        await asyncio.sleep(4.0)

    assert run(story, rig, status).causes[2:] == ["eth1, the uplink of br-ex, has no carrier"]


def test_a_bridge_that_moves_from_one_dead_link_to_another_is_reported_by_the_new_one() -> None:
    """The problem names the link whose cable is to be checked."""
    rig, status = made_by_node_file()

    async def story(rig: Rig) -> None:
        rig.links.pull("eth0")
        rig.links.pull("eth1")
        await asyncio.sleep(4.0)
        rig.ovsdb.held = (bridge_over("eth1"),)
        await asyncio.sleep(PROBE_SECONDS + 5.0)

    assert run(story, rig, status).causes == [
        "eth0, the uplink of br-ex, has no carrier",
        None,
        "eth1, the uplink of br-ex, has no carrier",
    ]


def test_the_ports_that_are_known_are_watched_while_open_vswitch_does_not_answer() -> None:
    """A cable that is pulled meanwhile is reported as quickly as otherwise."""
    rig, status = made_by_node_file()
    asked = rig.ovsdb

    async def story(rig: Rig) -> None:
        asked.up = False
        await asyncio.sleep(1.75 * PROBE_SECONDS)
        assert (rig.links.listened, asked.asked) == (("eth0",), 2)
        rig.links.pull("eth0")
        await asyncio.sleep(4.0)
        assert asked.asked == 3
        assert rig.causes == ["eth0, the uplink of br-ex, has no carrier"]

    assert run(story, rig, status).causes == ["eth0, the uplink of br-ex, has no carrier"]


def test_open_vswitch_is_asked_once_a_minute_although_the_link_flaps() -> None:
    """An event of the link looks at its carrier alone."""
    rig, status = made_by_node_file()
    asked = rig.ovsdb

    async def story(rig: Rig) -> None:
        for _ in range(40):
            rig.links.pull("eth0", carrier=True)
            await asyncio.sleep(0.5)
        assert asked.asked == 1
        await asyncio.sleep(5 * PROBE_SECONDS)

    run(story, rig, status)
    assert asked.asked == 6


def test_a_kernel_that_does_not_answer_is_asked_again() -> None:
    """What is not known is no problem of the uplink."""
    rig = Rig()
    rig.links.unknown = Unavailable("The kernel does not say how eth0 is")

    async def story(rig: Rig) -> None:
        await asyncio.sleep(10.0)
        rig.links.unknown = None
        rig.links.pull("eth0")
        await asyncio.sleep(PROBE_SECONDS + 5.0)

    assert run(story, rig).causes == ["eth0, the uplink of br-ex, has no carrier"]


def test_a_kernel_that_stops_to_answer_in_a_loss_is_asked_again_with_pauses() -> None:
    """Without descriptors nothing is known of the link, and the loss is due to be reported all the time (R9)."""

    async def story(rig: Rig) -> None:
        rig.links.pull("eth0")
        await asyncio.sleep(1.0)
        rig.links.unknown, rig.links.asked = Unavailable("The kernel does not say how eth0 is"), 0
        await asyncio.sleep(30.0)
        assert 10 <= rig.links.asked <= 20
        rig.links.unknown = None
        await asyncio.sleep(3.0)

    assert run(story).causes == ["eth0, the uplink of br-ex, has no carrier"]


def test_a_watch_that_is_started_again_after_an_error_watches_the_same_uplink() -> None:
    """An unforeseen error ends one run; the next one reports that the gateway answers again."""
    rig = Rig()

    async def story(rig: Rig) -> None:
        rig.neighbours.there.clear()
        await asyncio.sleep(70.0)
        assert rig.causes == ["No answer from the gateway 192.0.2.1 on br-ex"]
        rig.links.unknown = RuntimeError("a message of the kernel that is not understood")
        rig.links.changed()
        await asyncio.sleep(1.0)
        assert rig.ended == ["a message of the kernel that is not understood"]
        rig.links.unknown = None
        rig.neighbours.there.add(GATEWAY)
        await asyncio.sleep(30.0)
        assert rig.links.listened == ("eth0",)

    assert run(story, rig).causes == ["No answer from the gateway 192.0.2.1 on br-ex", None]


FIRST, SECOND = ip_address("198.51.100.53"), ip_address("198.51.100.54")
BOTH = b"nameserver 198.51.100.53\nnameserver 198.51.100.54\n"


def asking(*there: IPAddress) -> Rig:
    """Return a node with two DNS servers of which those *there* answer."""
    return Rig(name_servers=FakeNameServers(BOTH, set(there)))


@pytest.mark.parametrize("after", range(0, 60, 4))
def test_dns_servers_that_fall_silent_are_reported_and_back_by_themselves(after: int) -> None:
    """Within seventy seconds, whenever it happens, and as soon as one of them answers again (R31)."""
    rig = asking(FIRST, SECOND)

    async def story(rig: Rig) -> None:
        await asyncio.sleep(2 * PROBE_SECONDS)
        rig.name_servers.there.discard(FIRST)
        await asyncio.sleep(2 * PROBE_SECONDS)
        assert rig.causes == []
        await asyncio.sleep(after)
        rig.name_servers.there.clear()
        await asyncio.sleep(70.0)
        assert rig.causes == ["No answer from the DNS servers 198.51.100.53 and 198.51.100.54"]
        rig.name_servers.there.add(SECOND)
        await asyncio.sleep(15.0)

    run(story, rig)
    assert rig.causes == ["No answer from the DNS servers 198.51.100.53 and 198.51.100.54", None]
    assert rig.reports[0]
    assert rig.reports[0].message is Message.NAME_SERVERS_SILENT


def test_a_dns_server_at_any_address_of_the_node_is_none_of_others() -> None:
    """As the probes around an apply see it: a resolver of the node listens on a VIP or a dummy link."""
    rig = asking(FIRST, SECOND)
    own = replace(SNAPSHOT.addresses[0], address=FIRST, link="dummy0")
    rig.kernel.now = replace(SNAPSHOT, addresses=(*SNAPSHOT.addresses, own))

    async def story(rig: Rig) -> None:
        await asyncio.sleep(PROBE_SECONDS)
        assert set(rig.name_servers.asked) == {(SECOND,)}
        rig.kernel.broken = Unavailable("no buffer space")
        await asyncio.sleep(PROBE_SECONDS)
        assert set(rig.name_servers.asked) == {(SECOND,), (FIRST, SECOND)}, "its node IPs are known all the same"

    run(story, rig)


def test_dns_servers_are_asked_twice_a_minute_while_they_answer() -> None:
    """Both at once, and what they answer is read with the watchdog's beat: nodenetd does not wake for it."""
    rig = asking(FIRST, SECOND)

    async def story(rig: Rig) -> None:
        await asyncio.sleep(9.5 * PROBE_SECONDS)
        assert rig.causes == []

    run(story, rig)
    assert rig.name_servers.asked == [(FIRST, SECOND)] * 20
    assert rig.reports == []


def test_a_dns_server_that_never_answered_is_not_reported() -> None:
    """It changes nothing for this node; one that comes later is watched from then on."""

    async def story(rig: Rig) -> None:
        await asyncio.sleep(5 * PROBE_SECONDS)
        assert rig.causes == []
        rig.name_servers.there.add(FIRST)
        await asyncio.sleep(2 * PROBE_SECONDS)
        rig.name_servers.there.clear()
        await asyncio.sleep(2 * PROBE_SECONDS)

    assert run(story, asking()).causes == ["No answer from the DNS server 198.51.100.53"]


def test_one_lost_answer_of_a_dns_server_is_no_problem() -> None:
    """It is asked again two seconds later."""

    async def story(rig: Rig) -> None:
        await asyncio.sleep(PROBE_SECONDS)
        rig.name_servers.there.clear()
        await asyncio.sleep(BEAT_SECONDS + 1.5)
        rig.name_servers.there.add(FIRST)
        await asyncio.sleep(2 * PROBE_SECONDS)

    assert run(story, asking(FIRST)).causes == []


def test_servers_of_another_resolv_conf_are_asked_instead() -> None:
    """A lease brought others: those before are no problem any more."""

    async def story(rig: Rig) -> None:
        await asyncio.sleep(PROBE_SECONDS)
        rig.name_servers.there = {SECOND}
        rig.name_servers.content = b"nameserver 198.51.100.54\n"
        await asyncio.sleep(3 * PROBE_SECONDS)
        assert rig.name_servers.asked[-1] == (SECOND,)

    assert run(story, asking(FIRST)).causes == []


NEW_FILE = replace(READY, facts=replace(BRIDGED, applied_digest="d"))
MOVED = replace(NEW_FILE, facts=replace(BRIDGED, selection=Selection((ip_address("192.0.2.6"),), "br-ex")))


@pytest.mark.parametrize("status", [NEW_FILE, MOVED])
@pytest.mark.parametrize(
    ("listed", "cause"),
    [
        (b"nameserver 198.51.100.54\n", "No answer from the DNS server 198.51.100.54"),
        (b"", "No DNS server is listed any more"),
    ],
)
def test_a_node_file_that_takes_the_dns_servers_away_is_reported(listed: bytes, cause: str, status: BootStatus) -> None:
    """A mistyped address, or none: the node had DNS before, also where another address took the place of its own."""

    async def story(rig: Rig) -> None:
        await asyncio.sleep(PROBE_SECONDS)
        rig.name_servers.content = listed
        rig.watch.show(status)
        await asyncio.sleep(70.0)
        assert rig.causes == [cause]
        rig.watch.show(READY)
        await asyncio.sleep(70.0)
        assert rig.causes == [cause]
        rig.name_servers.content = BOTH
        await asyncio.sleep(15.0)

    rig = run(story, asking(FIRST))
    assert rig.causes == [cause, None]
    assert "198.51.100.53 answered before" in str(rig.reports[0])


def test_a_node_that_lists_only_its_own_dns_server_has_lost_nothing() -> None:
    """The servers that its own one asks are in no file."""

    async def story(rig: Rig) -> None:
        await asyncio.sleep(PROBE_SECONDS)
        rig.name_servers.content = b"nameserver 192.0.2.5\n"
        await asyncio.sleep(5 * PROBE_SECONDS)

    assert run(story, asking(FIRST)).causes == []


@pytest.mark.parametrize("second", range(30))
def test_a_resolv_conf_that_is_empty_for_a_moment_is_no_loss(second: int) -> None:
    """NetworkManager empties it while it activates a profile again."""

    async def story(rig: Rig) -> None:
        await asyncio.sleep(PROBE_SECONDS + second)
        rig.name_servers.content = b""
        await asyncio.sleep(4.0)
        rig.name_servers.content = BOTH
        await asyncio.sleep(2 * PROBE_SECONDS)

    assert run(story, asking(FIRST)).causes == []


def test_dns_servers_that_are_silent_while_a_stage_changes_the_network_are_no_loss() -> None:
    """As for gateways: what stays silent after that is reported."""

    async def story(rig: Rig) -> None:
        await asyncio.sleep(PROBE_SECONDS)
        rig.watch.show(replace(READY, boot=READY.boot.begun(StageName.NMSTATE, 1.0)))
        rig.name_servers.there.clear()
        await asyncio.sleep(2 * PROBE_SECONDS)
        assert rig.causes == []
        rig.watch.show(READY)
        await asyncio.sleep(70.0)

    assert run(story, asking(FIRST)).causes == ["No answer from the DNS server 198.51.100.53"]


@pytest.mark.parametrize("after", range(0, 60, 4))
def test_a_silent_gateway_is_the_cause_of_silent_dns_servers(after: int) -> None:
    """Whichever was asked first, and also when the gateway is back: the servers answer a moment later."""

    async def story(rig: Rig) -> None:
        await asyncio.sleep(2 * PROBE_SECONDS + after)
        rig.neighbours.there.clear()
        rig.name_servers.there.clear()
        await asyncio.sleep(70.0)
        assert rig.causes == ["No answer from the gateway 192.0.2.1 on br-ex"]
        rig.name_servers.asked.clear()
        await asyncio.sleep(PROBE_SECONDS + after)
        assert len(rig.name_servers.asked) <= 3 + after / 30.0
        rig.neighbours.there.add(GATEWAY)
        await asyncio.sleep(1.0)
        rig.name_servers.there.add(FIRST)
        await asyncio.sleep(15.0)

    assert run(story, asking(FIRST)).causes == ["No answer from the gateway 192.0.2.1 on br-ex", None]


@pytest.mark.parametrize("gone", [True, False])
def test_the_network_is_never_changed(*, gone: bool) -> None:
    """The watch has no edge that could: it looks, asks neighbours, and reports."""
    rig = Rig()

    async def story(rig: Rig) -> None:
        if gone:
            del rig.links.known["eth0"]
        rig.links.changed()
        await asyncio.sleep(100.0)

    run(story, rig)
    assert rig.causes == (["eth0, the uplink of br-ex, does not exist"] if gone else [])
    assert (rig.ovsdb.removed, rig.ovsdb.marked) == ([], [])


RIVAL = {NODE_IP: frozenset({"02:de:ad:be:ef:09"})}


def test_another_host_that_claims_the_node_ip_is_named_and_over_when_it_is_silent() -> None:
    """Asked once a minute; the second answer counts (rule 19)."""

    async def story(rig: Rig) -> None:
        await asyncio.sleep(PROBE_SECONDS)
        assert rig.reports == []
        asked = len(rig.rivals.asked)
        await asyncio.sleep(10 * PROBE_SECONDS)
        assert len(rig.rivals.asked) - asked == 10
        rig.rivals.claims = RIVAL
        await asyncio.sleep(PROBE_SECONDS + BEAT_SECONDS + 5)
        assert len(rig.reports) == 1
        rig.rivals.claims = {}
        await asyncio.sleep(20)

    rig = run(story)
    assert rig.rivals.asked[0] == ((NODE_IP,), "br-ex")
    found, back = rig.reports
    assert back is None
    assert found is not None
    assert found.message is Message.NODE_IP_CLAIMED
    assert found.cause.startswith("Another host on br-ex says since 20")
    assert found.cause.endswith(": 02:de:ad:be:ef:09 has the node IP 192.0.2.5")


def test_one_stray_packet_and_a_router_that_answers_for_every_host_are_no_rivals() -> None:
    async def story(rig: Rig) -> None:
        rig.rivals.claims = RIVAL
        await asyncio.sleep(BEAT_SECONDS + 0.5)
        rig.rivals.claims = {}
        await asyncio.sleep(PROBE_SECONDS)
        router = Neighbour(3, GATEWAY, 2, mac=bytes.fromhex("02deadbeef09"))
        rig.neighbours.on["br-ex"] = (router,)
        rig.rivals.claims = RIVAL
        await asyncio.sleep(3 * PROBE_SECONDS)

    assert run(story).reports == []


def test_another_nic_of_this_node_on_the_same_lan_is_no_rival() -> None:
    """The kernel answers there for all addresses of the node."""

    async def story(rig: Rig) -> None:
        rig.kernel.now = replace(SNAPSHOT, links=(*SNAPSHOT.links, Link(9, "eth1", mac="02:de:ad:be:ef:09")))
        rig.rivals.claims = RIVAL
        await asyncio.sleep(3 * PROBE_SECONDS)

    assert run(story).reports == []


def test_a_bond_that_loses_a_leg_is_noted_within_a_minute_and_is_no_problem() -> None:
    noted: list[tuple[str, ...]] = []

    async def story(rig: Rig) -> None:
        whole = rig.kernel.now
        eth0 = Link(2, "eth0", kind="bond")
        ports = (Link(5, "eth1", master="eth0"), Link(6, "eth2", master="eth0", carrier=False))
        rig.kernel.now = replace(whole, links=(eth0, *ports))
        await asyncio.sleep(PROBE_SECONDS + 1)
        noted.append(rig.notes)
        rig.kernel.now = whole
        await asyncio.sleep(PROBE_SECONDS + 1)
        noted.append(rig.notes)

    assert run(story).reports == []
    assert noted == [("eth0 runs on 1 of 2 ports: eth2 has no carrier",), ()]
