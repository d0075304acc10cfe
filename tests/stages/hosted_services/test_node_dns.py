"""DNS of this node: dnsmasq is what it should be after every look, whatever happened to it before."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import PurePath, PurePosixPath
from typing import Any

import pytest
from structlog.testing import capture_logs

from fakes import FakeClock, FakeFiles, FakeHost, FakeKernel, FakeOvsdb, FakeProbe, FakeServiceUnits, FakeTable
from nodenet.core.boot.outcome import Facts
from nodenet.core.errors import NodenetError, Unavailable
from nodenet.core.hosted_services import model
from nodenet.core.hosted_services.model import OWED_RESTART
from nodenet.core.hosted_services.units import DnsLook, Listener, Others, Running
from nodenet.core.ip import IPAddress
from nodenet.core.kernel.snapshot import Address, Link, Snapshot
from nodenet.core.messages import Message
from nodenet.core.node_ip import last_published
from nodenet.core.node_ip.last_published import LastPublished
from nodenet.core.node_ip.select import Selection
from nodenet.core.settings.model import Enabled, HostedMode, HostedSettings, Settings
from nodenet.stages.hosted_services.node_dns import CONFIGURATION, LOCALHOST, UNIT, NodeDns, NodeDnsEdges, OwedRestart
from stages.hosted_services.test_cluster_dns import SERVICE, FakeNames, FakeSockets
from stages.hosted_services.test_on_disk import NODE, FakeApiInt, FakeCaches, cached


def test_it_is_owed_until_it_is_done_also_by_another_nodenetd() -> None:
    disk = FakeFiles()
    first = OwedRestart(FakeTexts(disk))
    first.note(changed=False)
    assert (first.is_owed, disk.content) == (False, {})
    first.note(changed=True)
    first.note(changed=False)
    assert first.is_owed
    second = OwedRestart(FakeTexts(disk))
    second.note(changed=False)
    assert second.is_owed
    assert set(disk.content) == {str(OWED_RESTART)}
    second.done()
    third = OwedRestart(FakeTexts(disk))
    third.note(changed=False)
    assert (second.is_owed, third.is_owed, disk.content) == (False, False, {})


NODE_IP, SITE = ip_address("192.0.2.10"), ip_address("10.0.0.1")
VIP = ip_address("192.0.2.2")
FACTS = Facts(selection=Selection((NODE_IP,), "eth0"))
SETTINGS = Settings(
    platform="baremetal", api_vips=(VIP,), cluster_domain="c.example.com", hosted=HostedSettings(enabled=Enabled.AUTO)
)
ON_ETH0 = Snapshot(links=(Link(2, "eth0"),), addresses=(Address(NODE_IP, 24, "eth0"),))
CLUSTER_DNS = (LOCALHOST, 5354)


@dataclass
class FakeTexts:
    """Configurations, on the same disk as other files."""

    disk: FakeFiles
    broken: NodenetError | None = None

    def write(self, texts: Mapping[PurePath, str]) -> frozenset[PurePath]:
        return frozenset(path for path, text in texts.items() if self.disk.write(path, text.encode()))

    def remove(self, gone: Iterable[PurePath]) -> frozenset[PurePath]:
        return frozenset(path for path in gone if self.disk.remove(path))


@dataclass
class FakeDnsmasq:
    """dnsmasq on the bus, while its unit is up."""

    units: FakeServiceUnits
    process: str = ":1.7"
    given: list[Any] = field(default_factory=list)
    hosts_read: int = 0
    broken: NodenetError | None = None
    off_the_bus: bool = False

    async def owner(self) -> str | None:
        return self.process if (await self.units.state(UNIT)).is_up and not self.off_the_bus else None

    async def set_servers(self, servers: Sequence[Sequence[str]]) -> None:
        if self.broken:
            raise self.broken
        self.given.append(servers)

    async def further(self) -> str:
        return ""

    async def read_hosts(self) -> None:
        self.hosts_read += 1


@dataclass
class FakeStacks:
    """What others have on this node."""

    others: Others = field(default_factory=Others)

    def look(self, units: Collection[str], ports: Collection[int]) -> Others:  # noqa: ARG002
        return self.others


@dataclass
class Rig:
    """DNS of a node over fakes."""

    settings: Settings = SETTINGS
    files: FakeFiles = field(default_factory=FakeFiles)
    units: FakeServiceUnits = field(default_factory=FakeServiceUnits)
    guard: FakeTable = field(default_factory=FakeTable)
    caches: FakeCaches = field(default_factory=FakeCaches)
    stacks: FakeStacks = field(default_factory=FakeStacks)
    sockets: FakeSockets = field(default_factory=lambda: FakeSockets({CLUSTER_DNS: {(53, SERVICE)}}))
    probe: FakeProbe = field(default_factory=FakeProbe)
    clock: FakeClock = field(default_factory=FakeClock)
    kernel: FakeKernel = field(default_factory=lambda: FakeKernel(ON_ETH0))
    ovsdb: FakeOvsdb = field(default_factory=FakeOvsdb)

    def __post_init__(self) -> None:
        self.dnsmasq = FakeDnsmasq(self.units)
        self.restart()

    def restart(self, settings: Settings | None = None) -> None:
        """Begin as a daemon that knows nothing but its files."""
        edges = NodeDnsEdges(
            files=self.files,
            host=FakeHost("m0"),
            kernel=self.kernel,
            clock=self.clock,
            probe=self.probe,
            texts=FakeTexts(self.files),
            units=self.units,
            dnsmasq=self.dnsmasq,
            guard=self.guard,
            caches=self.caches,
            api_int=FakeApiInt(),
            stacks=self.stacks,
            sockets=self.sockets,
            names=FakeNames(),
            ovsdb=self.ovsdb,
        )
        self.dns = NodeDns(edges, settings or self.settings)

    async def look(self, known: tuple[IPAddress, ...] = (SITE,), facts: Facts = FACTS) -> DnsLook:
        return await self.dns.look(facts, known)

    async def served(self) -> None:
        """Bring dnsmasq up."""
        await self.look()
        assert (await self.look()).problem is None
        assert self.units.now[UNIT].is_up

    def text(self, path: PurePosixPath) -> str:
        return self.files.content[str(path)].decode()


@pytest.mark.parametrize(
    "settings",
    [
        Settings(),
        replace(SETTINGS, platform="aws"),
        replace(SETTINGS, cluster_domain=""),
        replace(SETTINGS, hosted=replace(SETTINGS.hosted, enabled=Enabled.NO)),
        replace(SETTINGS, stages={**SETTINGS.stages, "hosted-services": "skip"}),
    ],
)
async def test_where_it_is_not_wanted_nothing_is_asked_or_written(settings: Settings) -> None:
    """Platforms without VIPs start nothing at all."""
    rig = Rig(settings)
    assert await rig.look() == DnsLook()
    assert (rig.units.orders, rig.files.writes, rig.guard.puts) == ([], [], 0)
    assert not rig.dns.is_wanted


async def test_it_starts_with_the_node_ip_and_answers_from_disk() -> None:
    """No Node was ever read and no API exists: api-int is the VIP."""
    rig = Rig(kernel=FakeKernel(Snapshot(ON_ETH0.links)))
    assert await rig.look(facts=Facts()) == DnsLook()
    assert rig.units.orders == []
    rig.kernel.now = ON_ETH0
    await rig.served()
    assert rig.units.orders == [("start", UNIT)]
    assert f"listen-address={NODE_IP}\n" in rig.text(CONFIGURATION)
    assert rig.text(model.HOSTS).splitlines()[0] == f"{VIP} api-int.c.example.com"
    assert rig.dnsmasq.given == [((str(SITE),),)]
    assert rig.guard.rules
    assert str(NODE_IP) in rig.guard.rules


def published(*addresses: str) -> bytes:
    return last_published.render(LastPublished(tuple(map(ip_address, addresses)), boot_id="the boot before"))


async def test_it_is_started_for_the_node_ip_of_the_last_boot_before_this_boot_has_one() -> None:
    """It answers as soon as a link has that address, and goes on with the node IP; all links are guarded until then."""
    rig = Rig()
    rig.files.content[str(last_published.SELECTION)] = published(str(NODE_IP))
    assert await rig.look(facts=Facts()) == DnsLook()
    assert rig.units.orders == [("start", UNIT)]
    assert f"listen-address={NODE_IP}\n" in rig.text(CONFIGURATION)
    assert rig.guard.rules
    assert f'iifname != "lo" ip daddr {NODE_IP} ' in rig.guard.rules
    assert rig.dnsmasq.given == []
    await rig.look(facts=Facts())
    await rig.served()
    assert rig.units.orders == [("start", UNIT)]
    assert f'iifname {{ "eth0" }} ip daddr {NODE_IP} ' in rig.guard.rules


async def test_another_node_ip_than_that_of_the_last_boot_restarts_it() -> None:
    rig = Rig()
    rig.files.content[str(last_published.SELECTION)] = published("192.0.2.77", "2001:db8::77")
    await rig.look(facts=Facts())
    await rig.look()
    assert rig.units.orders == [("start", UNIT), ("restart", UNIT)]
    assert f"listen-address={NODE_IP}\n" in rig.text(CONFIGURATION)
    assert "192.0.2.77" not in rig.text(CONFIGURATION)


@pytest.mark.parametrize("content", [b"", b"{}", b"torn", b"[" * 5000])
async def test_without_a_record_it_waits_for_an_address_in_the_subnet_of_a_vip(content: bytes) -> None:
    rig = Rig(kernel=FakeKernel(Snapshot(ON_ETH0.links, (Address(SITE, 24, "eth0"),))))
    rig.files.content[str(last_published.SELECTION)] = content
    assert await rig.look(facts=Facts()) == DnsLook()
    assert rig.units.orders == []
    rig.kernel.now = ON_ETH0
    await rig.look(facts=Facts())
    assert rig.units.orders == [("start", UNIT)]
    assert f"listen-address={NODE_IP}\n" in rig.text(CONFIGURATION)


async def test_what_fails_before_the_node_ip_is_no_problem_yet() -> None:
    """The bus may not be there; and the former stack goes first in any case."""
    rig = Rig()
    rig.files.content[str(last_published.SELECTION)] = published(str(NODE_IP))
    rig.units.broken = Unavailable("the system bus does not answer")
    assert await rig.look(facts=Facts()) == DnsLook()
    rig.units.broken = None
    rig.stacks.others = Others(manifests=["coredns.yaml"])
    assert await rig.look(facts=Facts()) == DnsLook()
    assert rig.units.orders == []


async def test_a_second_look_changes_nothing() -> None:
    rig = Rig()
    await rig.served()
    orders, writes, given = list(rig.units.orders), list(rig.files.writes), list(rig.dnsmasq.given)
    await rig.look()
    assert (rig.units.orders, rig.files.writes, rig.guard.puts, rig.dnsmasq.given) == (orders, writes, 1, given)


async def test_the_servers_follow_network_manager_without_a_restart() -> None:
    rig = Rig()
    await rig.served()
    other = ip_address("10.0.0.2")
    await rig.look((other, SITE))
    assert rig.dnsmasq.given[-1] == ((str(other),), (str(SITE),))
    assert rig.units.orders == [("start", UNIT)]


async def test_a_dnsmasq_that_was_restarted_is_given_its_servers_again() -> None:
    """It forgets what came over D-Bus."""
    rig = Rig()
    await rig.served()
    rig.dnsmasq.process = ":1.8"
    await rig.look()
    assert rig.dnsmasq.given == [((str(SITE),),)] * 2


async def test_a_dnsmasq_without_a_name_on_the_bus_is_restarted_with_growing_pauses() -> None:
    """A bus that was restarted: dnsmasq does not connect to it again."""
    rig = Rig()
    await rig.served()
    rig.dnsmasq.off_the_bus = True
    starts: list[int] = []
    problems = []
    for second in range(40):
        look = await rig.look()
        if len(rig.units.orders) > 1 + len(starts):
            starts.append(second)
        problems.append(look.problem and look.problem.cause)
        rig.clock.now += 1.0
    assert starts == [3, 5, 9, 17, 33]
    assert {order for order, _ in rig.units.orders[1:]} == {"restart"}
    assert problems[:4] == [None] * 4
    assert problems[-1] == "nodenet-dnsmasq.service is not on the system bus: its servers cannot be set"
    rig.dnsmasq.off_the_bus = False
    rig.dnsmasq.process = ":1.9"
    assert (await rig.look()).problem is None
    assert len(rig.dnsmasq.given) == 2


async def test_servers_that_it_did_not_take_are_given_again() -> None:
    rig = Rig()
    await rig.served()
    rig.dnsmasq.process, rig.dnsmasq.broken = ":1.8", Unavailable("it ended")
    look = await rig.look()
    assert look.problem
    assert look.problem.cause == "it ended"
    rig.dnsmasq.broken = None
    await rig.look()
    assert len(rig.dnsmasq.given) == 2


async def test_the_journal_names_the_servers_that_it_asks() -> None:
    """And not dnsmasq's word for the names of nodes, which no other server is asked for."""
    rig = Rig()
    rig.caches.write("nodes", cached([NODE]))
    with capture_logs() as logs:
        await rig.served()
    assert f"dnsmasq answers on {NODE_IP}; it asks {SITE}" in [entry["event"] for entry in logs]


async def test_new_nodes_are_read_without_a_restart() -> None:
    rig = Rig()
    await rig.served()
    rig.caches.write("nodes", cached([NODE]))
    await rig.look()
    assert f"{NODE_IP} m0.c.example.com m0" in rig.text(model.HOSTS)
    assert (rig.dnsmasq.hosts_read, rig.units.orders) == (1, [("start", UNIT)])


async def test_a_node_ip_that_moves_to_the_bridge_is_waited_for() -> None:
    """Nothing is written or restarted while no link has it; the servers go on following NetworkManager."""
    rig = Rig()
    await rig.served()
    orders, writes = list(rig.units.orders), list(rig.files.writes)
    rig.kernel.now = Snapshot(links=ON_ETH0.links)
    other = ip_address("10.0.0.2")
    assert await rig.look((other,)) == DnsLook(seconds=1.0)
    assert rig.dnsmasq.given[-1] == ((str(other),),)
    assert (rig.units.orders, rig.files.writes) == (orders, writes)
    rig.kernel.now = Snapshot(links=(Link(3, "br-ex"),), addresses=(Address(NODE_IP, 24, "br-ex"),))
    await rig.look((other,))
    assert (rig.units.orders, rig.files.writes) == (orders, writes)
    assert rig.guard.rules
    assert '"br-ex"' in rig.guard.rules


async def test_another_node_ip_restarts_it_even_while_it_starts() -> None:
    """It has perhaps read the older configuration."""
    rig = Rig(settings=replace(SETTINGS, ingress_vips=(ip_address("192.0.2.3"),)))
    await rig.served()
    rig.restart(SETTINGS)
    rig.units.now[UNIT] = Running("loaded", "activating")
    await rig.look()
    assert rig.units.orders == [("start", UNIT)]
    rig.units.now[UNIT] = Running("loaded", "active")
    await rig.look()
    assert rig.units.orders == [("start", UNIT), ("restart", UNIT)]
    await rig.look()
    assert len(rig.units.orders) == 2


async def test_an_error_that_nothing_foresaw_is_a_problem_of_dns_and_logged_once() -> None:
    """It would end pass 2 of resolv-prepender, which keeps resolv.conf true (R42)."""
    rig = Rig()
    await rig.served()
    rig.dnsmasq.broken = TypeError("unhashable")  # type: ignore[assignment]
    with capture_logs() as logs:
        for _ in range(3):
            look = await rig.look(known=())
    assert look.problem
    assert "TypeError: unhashable" in look.problem.cause
    assert [entry["log_level"] for entry in logs if "exc_info" in entry] == ["error"]


async def test_a_dnsmasq_whose_start_does_nothing_is_started_with_growing_pauses() -> None:
    """A condition in a drop-in does not hold: each start job ends at once, and its end wakes the look (R7)."""
    rig = Rig()
    rig.units.obeys = False
    for _ in range(20):
        look = await rig.look()
        rig.clock.now += 0.01
    assert rig.units.orders == [("start", UNIT)]
    assert look.problem
    assert look.problem.cause == "nodenet-dnsmasq.service does not run: inactive"
    assert look.seconds
    assert look.seconds > 1
    rig.clock.now += 2
    await rig.look()
    assert len(rig.units.orders) == 2


async def test_a_dnsmasq_that_systemd_gave_up_is_started_with_growing_pauses() -> None:
    rig = Rig()
    rig.units.obeys = False
    rig.units.now[UNIT] = Running("loaded", "failed", result="start-limit-hit")
    look = await rig.look()
    assert look.problem
    assert look.problem.message is Message.NODE_DNS_FAILED
    assert look.problem.cause == "nodenet-dnsmasq.service does not run: failed, result start-limit-hit"
    waits = []
    for _ in range(5):
        look = await rig.look()
        assert look.seconds
        waits.append(look.seconds)
        rig.clock.now += look.seconds
        await rig.look()
    assert waits == [2.0, 4.0, 8.0, 16.0, 32.0]
    assert rig.units.orders == [("start", UNIT)] * 6


async def test_an_installation_without_the_unit_is_named() -> None:
    rig = Rig()
    rig.units.obeys = False
    rig.units.now[UNIT] = Running("not-found", "inactive")
    look = await rig.look()
    assert look.problem
    assert look.problem.cause == ("nodenet-dnsmasq.service cannot be started: systemd has no such unit (not-found)")


async def test_a_node_without_dnsmasq_is_named_at_once_and_nothing_is_started() -> None:
    """Its unit would be started five times, and the boot would wait for half a minute for an answer."""
    rig = Rig()
    rig.units.now[UNIT] = Running("loaded", "inactive", missing="/usr/sbin/dnsmasq")
    look = await rig.look()
    assert look.problem
    assert look.problem.cause == "dnsmasq of this node is not started: /usr/sbin/dnsmasq is not installed"
    assert (look.lasts, rig.dns.stuck, rig.units.orders) == (True, look.problem, [])
    rig.units.now[UNIT] = Running("loaded", "inactive")
    await rig.served()
    assert rig.dns.stuck is None


async def test_another_program_on_port_53_is_named_and_dnsmasq_waits_until_it_has_left() -> None:
    rig = Rig()
    rig.stacks.others = Others(listeners=[Listener(53, False, ip_address("0.0.0.0"), "named.service")])  # noqa: S104
    look = await rig.look()
    assert look.problem
    assert look.problem.message is Message.NODE_DNS_FAILED
    assert look.problem.cause.startswith("dnsmasq of this node is not started: named.service listens on port 53")
    assert rig.units.orders == []
    assert rig.dns.stuck == look.problem
    rig.stacks.others = Others()
    await rig.served()
    assert rig.dns.stuck is None


async def test_a_program_on_port_53_of_another_address_is_in_nobody_s_way() -> None:
    """As systemd-resolved's stub on 127.0.0.53."""
    rig = Rig()
    rig.stacks.others = Others(listeners=[Listener(53, False, ip_address("127.0.0.53"), "systemd-resolved.service")])
    await rig.served()


async def test_the_former_stack_s_coredns_goes_first_and_ours_stops_when_it_comes_back() -> None:
    """No problem: a node that was not migrated is as it was."""
    rig = Rig()
    rig.stacks.others = Others(manifests=["coredns.yaml"])
    look = await rig.look()
    assert (look.problem, look.waits) == (None, True)
    assert look.note.startswith("dnsmasq waits: kubelet has the static pod /etc/kubernetes/manifests/coredns.yaml")
    assert rig.units.orders == []
    assert await rig.dns.waits(FACTS)
    rig.stacks.others = Others()
    await rig.served()
    rig.stacks.others = Others(manifests=["coredns.yaml"])
    await rig.look()
    assert rig.units.orders[-1] == ("stop", UNIT)
    assert rig.guard.rules is None


async def test_a_coredns_is_asked_for_the_cluster_s_names_while_it_answers() -> None:
    """Registered, dead, back; it is looked at more often while it is asked."""
    rig = Rig()
    await rig.served()
    rig.probe.ports.add(CLUSTER_DNS)
    look = await rig.look()
    assert rig.dnsmasq.given[-1] == (("127.0.0.1#5354", "c.example.com"), (str(SITE),))
    assert look.seconds == 5.0
    read = rig.dnsmasq.hosts_read
    rig.probe.ports.clear()
    look = await rig.look()
    assert rig.dnsmasq.given[-1] == ((str(SITE),),)
    assert look.seconds == 15.0
    assert rig.dnsmasq.hosts_read == read + 1, "what it had said is forgotten"
    rig.probe.ports.add(CLUSTER_DNS)
    await rig.look()
    assert rig.dnsmasq.given[-1][0] == ("127.0.0.1#5354", "c.example.com")


async def test_without_nft_dns_works_and_the_open_port_is_a_problem() -> None:
    rig = Rig()
    rig.guard.broken = Unavailable("/usr/sbin/nft does not start: No such file or directory", remedy="Install it")
    look = await rig.look()
    assert look.problem
    assert look.problem.cause == (
        "Hosts outside can use this node's DNS: /usr/sbin/nft does not start: No such file or directory"
    )
    assert rig.units.orders == [("start", UNIT)]


@dataclass
class NoRestarts(FakeServiceUnits):
    """A systemd that answers, and takes no order to restart while it is *silent*."""

    silent: bool = False

    async def restart(self, unit: str) -> None:
        if self.silent:
            raise Unavailable("the system bus does not answer")
        await super().restart(unit)


async def test_a_restart_that_an_earlier_nodenetd_owes_is_done_by_the_next() -> None:
    """It was stopped between the write and the restart: dnsmasq listened on the old node IP from then on."""
    units = NoRestarts()
    rig = Rig(units=units)
    await rig.served()
    moved = ip_address("192.0.2.11")
    rig.kernel.now = Snapshot(ON_ETH0.links, (Address(moved, 24, "eth0"),))
    facts = Facts(selection=Selection((moved,), "eth0"))
    units.silent = True
    await rig.look(facts=facts)
    assert f"listen-address={moved}" in rig.text(CONFIGURATION)
    units.silent = False
    rig.restart()
    orders = len(rig.units.orders)
    await rig.look(facts=facts)
    await rig.look(facts=facts)
    assert rig.units.orders[orders:] == [("restart", UNIT)]
    assert str(model.OWED_RESTART) not in rig.files.content


async def test_a_guard_that_was_flushed_is_put_back() -> None:
    rig = Rig()
    await rig.served()
    await rig.guard.remove()
    await rig.look()
    assert rig.guard.rules


async def test_rendered_only_nothing_is_started() -> None:
    rig = Rig(replace(SETTINGS, hosted=replace(SETTINGS.hosted, mode=HostedMode.RENDER)))
    look = await rig.look()
    assert look.note == "dnsmasq's configuration is written and nothing is started (hosted.mode)"
    assert (rig.units.orders, rig.guard.puts) == ([], 0)
    assert rig.text(CONFIGURATION)


async def test_switched_off_it_goes_with_all_that_it_had() -> None:
    rig = Rig()
    await rig.served()
    rig.restart(Settings())
    assert await rig.look() == DnsLook()
    assert rig.units.orders[-1] == ("stop", UNIT)
    assert rig.guard.rules is None
    assert str(CONFIGURATION) not in rig.files.content
    orders = len(rig.units.orders)
    await rig.look()
    assert len(rig.units.orders) == orders


async def test_a_bus_that_is_gone_is_a_problem_that_passes() -> None:
    rig = Rig()
    rig.units.broken = Unavailable("the system bus does not answer")
    look = await rig.look()
    assert look.problem
    assert look.problem.cause == "the system bus does not answer"
    rig.units.broken = None
    await rig.served()
