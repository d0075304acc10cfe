"""The stage hosted-services: bounded, and nothing at all where nothing is wanted."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from ipaddress import ip_address, ip_network

import pytest

from fakes import FakeClock, FakeFiles, FakeNodeDns, FakeOvsdb, FakeProbe, FakeServiceUnits, FakeTable
from nodenet.core.boot.outcome import Done, Facts, Outcome, Problem, Skipped, Topic, Waiting
from nodenet.core.errors import PublishFailed, Unavailable, UnitFailed
from nodenet.core.hosted_services.dns import PATIENCE_SECONDS, UNWELL_SECONDS, WELL_SECONDS
from nodenet.core.hosted_services.model import COMPANION, STARTED, Here, Inputs, Place, options_of
from nodenet.core.hosted_services.units import Running
from nodenet.core.ip import Family
from nodenet.core.kernel.snapshot import Address, Link, Snapshot
from nodenet.core.messages import Message
from nodenet.core.node_ip.select import Selection
from nodenet.core.open_vswitch import OvsBridge
from nodenet.core.settings.model import Enabled, HostedMode, HostedSettings, KubernetesSettings, Settings
from nodenet.stages.hosted_services.stage import (
    RETRY_SECONDS,
    STOPPED,
    TOPICS,
    HostedEdges,
    HostedServicesStage,
    OutsideLinks,
)

HERE = Here("n", {Family.IPV4: Place(ip_address("192.0.2.10"), "eth0", ip_network("192.0.2.0/24"))})
ALONE = Snapshot((Link(1, "eth0"),), (Address(ip_address("192.0.2.10"), 24, "eth0"),))
BRIDGE = Snapshot(
    (*ALONE.links, Link(2, "storage", kind="openvswitch")),
    (*ALONE.addresses, Address(ip_address("198.51.100.1"), 24, "storage")),
)


@dataclass
class Database(FakeOvsdb):
    """Counts the questions; it may be silent."""

    asked: int = 0
    silent: bool = False

    async def bridges(self) -> tuple[OvsBridge, ...]:
        self.asked += 1
        if self.silent:
            await asyncio.sleep(3600)
        return await super().bridges()


def rig() -> tuple[Database, FakeClock, OutsideLinks]:
    database, clock = Database(held=(OvsBridge("storage"),)), FakeClock()
    return database, clock, OutsideLinks(database, clock)


async def test_the_database_is_asked_where_its_links_have_changed() -> None:
    database, _, links = rig()
    assert await links.look(HERE, ALONE) == ("eth0",)
    assert database.asked == 0
    for _ in range(3):
        assert await links.look(HERE, BRIDGE) == ("eth0", "storage")
    assert database.asked == 1
    assert await links.look(HERE, ALONE) == ("eth0",)
    assert await links.look(HERE, BRIDGE) == ("eth0", "storage")
    assert database.asked == 2


async def test_a_database_that_is_dead_or_silent_is_asked_again_later() -> None:
    database, clock, links = rig()
    database.up, database.silent = False, True
    assert await links.look(HERE, BRIDGE) == ("eth0",)
    database.silent = False
    assert await links.look(HERE, BRIDGE) == ("eth0",)
    assert database.asked == 1
    clock.now += RETRY_SECONDS
    assert await links.look(HERE, BRIDGE) == ("eth0",)
    database.up = True
    clock.now += RETRY_SECONDS
    assert await links.look(HERE, BRIDGE) == ("eth0", "storage")
    database.up = False
    clock.now += 2 * RETRY_SECONDS
    assert await links.look(HERE, BRIDGE) == ("eth0", "storage")


NODE_IP = ip_address("192.0.2.10")
FACTS = Facts(selection=Selection((NODE_IP,), "eth0"))
SETTINGS = Settings(
    platform="baremetal",
    api_vips=(ip_address("192.0.2.2"),),
    cluster_domain="c.example.com",
    hosted=HostedSettings(enabled=Enabled.AUTO),
)


@dataclass
class Rig:
    """The stage over fakes; DNS answers."""

    settings: Settings = SETTINGS
    files: FakeFiles = field(default_factory=FakeFiles)
    units: FakeServiceUnits = field(default_factory=FakeServiceUnits)
    redirect: FakeTable = field(default_factory=lambda: FakeTable("rules"))
    dns: FakeNodeDns = field(default_factory=FakeNodeDns)
    probe: FakeProbe = field(default_factory=lambda: FakeProbe({NODE_IP}))
    clock: FakeClock = field(default_factory=FakeClock)

    def __post_init__(self) -> None:
        self.reload(self.settings)

    def reload(self, settings: Settings) -> None:
        self.dns.inputs = Inputs(options_of(settings), Here("m0"))
        outside = HostedEdges(self.units, self.dns, self.probe, self.redirect, self.files, self.clock)
        self.stage = HostedServicesStage(outside, settings)

    async def attempt(self) -> Outcome:
        return await self.stage.attempt(FACTS)

    async def done(self) -> Done:
        outcome = await self.attempt()
        assert isinstance(outcome, Done), outcome
        return outcome

    async def pause(self) -> float:
        """Return the seconds until the next look."""
        again = (await self.done()).again
        assert again
        assert again.seconds
        return again.seconds


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (replace(SETTINGS, hosted=HostedSettings()), '`[hosted] enabled` is "no"'),
        (replace(SETTINGS, platform="none"), 'the platform "none" has its own DNS and load balancers'),
    ],
    ids=["by default", "on another platform"],
)
async def test_where_nothing_is_wanted_nothing_is_asked(settings: Settings, reason: str) -> None:
    """No call, no file, no unit."""
    rig = Rig(settings)
    assert await rig.attempt() == Skipped(reason, FACTS)
    assert (rig.units.orders, rig.files.writes, rig.redirect.rules) == ([], [], "rules")


async def test_without_a_node_ip_it_is_skipped_until_there_is_one() -> None:
    """A stage that waits would hide that nodeip has failed: a reload would end with its time limit (R55)."""
    rig = Rig()
    outcome = await rig.stage.attempt(Facts())
    assert isinstance(outcome, Skipped)
    assert outcome.again
    assert Topic.NODE_IP in outcome.again.topics
    assert rig.units.orders == []


async def test_a_full_run_does_not_restart_the_companion_at_every_look() -> None:
    """It holds VIPs; the file that says with what it was started is written once there is space (R16)."""
    rig = Rig()
    rig.files.broken = PublishFailed("/run is full")
    for _ in range(3):
        assert (await rig.done()).problem
        rig.clock.now += 5
    assert rig.units.orders == [("start", COMPANION)]
    rig.files.broken = None
    assert (await rig.done()).problem is None
    assert str(STARTED) in rig.files.content


async def test_it_starts_the_companion_once_and_is_done_when_that_has_decided() -> None:
    rig = Rig()
    outcome = await rig.attempt()
    assert isinstance(outcome, Waiting)
    assert Topic.UNIT in outcome.topics
    outcome = await rig.done()
    assert outcome.detail == "api-int is 192.0.2.2, the API VIP; does not hold 192.0.2.2"
    assert outcome.problem is None
    await rig.done()
    assert rig.units.orders == [("start", COMPANION)]


async def test_a_companion_that_does_not_decide_holds_kubelet_for_a_bounded_time() -> None:
    rig = Rig()
    rig.units.obeys = False
    rig.units.now[COMPANION] = Running("loaded", "activating")
    waited, outcome = 0.0, await rig.attempt()
    for _ in range(100):
        if isinstance(outcome, Waiting):
            rig.clock.now += outcome.seconds
            waited += outcome.seconds
            outcome = await rig.attempt()
    assert waited == PATIENCE_SECONDS
    assert isinstance(outcome, Done)
    assert outcome.problem
    assert outcome.problem.message is Message.HOSTED_FAILED
    assert outcome.again
    assert outcome.again.seconds == 5.0
    rig.units.now[COMPANION] = Running("loaded", "active")
    assert (await rig.done()).problem is None


async def test_dns_that_does_not_answer_is_waited_for_as_long() -> None:
    rig = Rig(probe=FakeProbe())
    rig.units.now[COMPANION] = Running("loaded", "active")
    outcome = await rig.attempt()
    assert isinstance(outcome, Waiting)
    assert outcome.reason == "DNS on the node IP 192.0.2.10"
    rig.clock.now += PATIENCE_SECONDS
    done = await rig.done()
    assert done.problem
    assert done.problem.message is Message.NODE_DNS_FAILED


async def test_dns_is_asked_for_on_the_node_ip_of_each_family() -> None:
    """It was asked on the first node IP alone: a dnsmasq that did not listen on the IPv6 address was no problem."""
    rig = Rig()
    rig.units.now[COMPANION] = Running("loaded", "active")
    both = (NODE_IP, ip_address("2001:db8::10"), ip_address("192.0.2.11"), ip_address("2001:db8::11"))
    facts = Facts(selection=Selection(both, "eth0"))
    assert await rig.stage.attempt(facts) == Waiting("DNS on the node IP 2001:db8::10", TOPICS, 1.0)
    rig.clock.now += PATIENCE_SECONDS
    outcome = await rig.stage.attempt(facts)
    assert isinstance(outcome, Done)
    assert outcome.problem
    assert outcome.problem.cause == "No DNS server answers on the node IP 2001:db8::10"
    rig.probe.servers.add(both[1])
    outcome = await rig.stage.attempt(facts)
    assert isinstance(outcome, Done)
    assert outcome.problem is None


async def test_dns_that_does_not_come_by_itself_is_a_problem_at_once() -> None:
    """It is not installed, or another program has its port: half a minute of each boot was lost."""
    rig = Rig(probe=FakeProbe())
    rig.units.now[COMPANION] = Running("loaded", "active")
    rig.dns.stuck = Problem(Message.NODE_DNS_FAILED, "named.service listens on port 53", "Stop it")
    done = await rig.done()
    assert done.problem == rig.dns.stuck
    rig.probe.servers.add(NODE_IP)  # that program answers on the node IP
    assert (await rig.done()).problem is None


async def test_a_companion_that_is_not_installed_is_a_problem_at_once() -> None:
    rig = Rig()
    rig.units.obeys = False
    rig.units.now[COMPANION] = Running("loaded", "inactive", missing="/usr/libexec/nodenet-hosted")
    done = await rig.done()
    assert done.problem
    assert done.problem.cause == (
        "nodenet-hosted.service does not run: its program /usr/libexec/nodenet-hosted is not installed"
    )


async def test_dns_of_others_is_not_waited_for() -> None:
    """The former stack's pods start after kubelet; a node that only renders, or leaves DNS to others, serves none."""
    settings = (
        SETTINGS,
        replace(SETTINGS, stages={**SETTINGS.stages, "resolv-prepender": "skip"}),
        replace(SETTINGS, hosted=replace(SETTINGS.hosted, mode=HostedMode.RENDER)),
    )
    for given in settings:
        rig = Rig(given, probe=FakeProbe())
        rig.dns.other_stack = given is SETTINGS
        rig.units.now[COMPANION] = Running("loaded", "active")
        assert (await rig.done()).problem is None
        assert rig.probe.asked == []


async def test_a_companion_that_fails_again_with_each_start_is_one_problem() -> None:
    """It is started again and again: a start that has not ended yet is no news, and neither is its end."""
    rig = Rig()
    rig.units.obeys = False
    await rig.attempt()
    rig.clock.now += PATIENCE_SECONDS
    seen = []
    for active in ("failed", "activating", "failed", "activating"):
        rig.units.now[COMPANION] = Running("loaded", active, "exit-code")
        seen.append((await rig.done()).problem)
    assert seen[0] is not None
    assert seen == [seen[0]] * 4
    rig.units.now[COMPANION] = Running("loaded", "active")
    assert (await rig.done()).problem is None


async def test_other_settings_restart_the_companion() -> None:
    rig = Rig()
    await rig.attempt()
    rig.reload(replace(SETTINGS, hosted=replace(SETTINGS.hosted, advert_interval=0.1)))
    await rig.attempt()
    assert rig.units.orders == [("start", COMPANION), ("restart", COMPANION)]


async def test_another_host_name_restarts_the_companion() -> None:
    """It went on as the node of the old name, which is in no list of nodes: it held no VIP."""
    rig = Rig()
    for name in ("m0", "m0", "m1"):
        await rig.stage.attempt(replace(FACTS, hostname=name))
    assert rig.units.orders == [("start", COMPANION), ("restart", COMPANION)]
    named = Rig(replace(SETTINGS, kubernetes=KubernetesSettings(node_name="n")))
    for name in ("m0", "m1"):
        await named.stage.attempt(replace(FACTS, hostname=name))
    assert named.units.orders == [("start", COMPANION)]


async def test_dns_is_asked_for_a_name_that_it_always_answers_from_disk() -> None:
    """It was asked for api-int, which the resource may leave to the site: READY waited for a server that was away."""
    rig = Rig()
    rig.units.now[COMPANION] = Running("loaded", "active")
    await rig.done()
    assert rig.probe.asked == [(NODE_IP, "api.c.example.com")]


async def test_a_companion_that_ended_is_started_with_growing_pauses() -> None:
    rig = Rig()
    await rig.attempt()
    rig.units.obeys = False
    rig.units.now[COMPANION] = Running("loaded", "failed", result="exit-code")
    for _ in range(20):
        await rig.done()
        rig.clock.now += 1
    assert len(rig.units.orders) == 1 + 4  # after 0, 2, 6 and 14 seconds


async def test_a_companion_that_is_missing_is_looked_for_with_growing_pauses() -> None:
    """It was looked for every 5 s for ever. An event comes at any time, and changes no pause."""
    rig = Rig()
    rig.units.obeys = False
    rig.units.now[COMPANION] = Running("loaded", "inactive", missing="/usr/libexec/nodenet-hosted")
    pauses = []
    for _ in range(6):
        pauses.append(await rig.pause())
        rig.clock.now += pauses[-1] / 2
        assert await rig.pause() == pauses[-1] / 2
        rig.clock.now += pauses[-1] / 2
    assert pauses == [5, 10, 20, 40, 60, 60]
    rig.units.now[COMPANION] = Running("loaded", "active")
    assert await rig.pause() == WELL_SECONDS
    rig.units.now[COMPANION] = Running("loaded", "failed", result="exit-code")
    assert await rig.pause() == UNWELL_SECONDS


async def test_switched_off_everything_stops() -> None:
    rig = Rig()
    await rig.attempt()
    rig.reload(replace(SETTINGS, platform="aws"))
    assert isinstance(await rig.attempt(), Skipped)
    assert rig.units.orders[1:] == [("stop", unit) for unit in STOPPED]
    assert rig.redirect.rules is None
    orders = len(rig.units.orders)
    assert isinstance(await rig.attempt(), Skipped)
    assert len(rig.units.orders) == orders


async def test_what_cannot_be_stopped_is_a_problem_and_tried_again() -> None:
    rig = Rig()
    await rig.attempt()
    rig.reload(replace(SETTINGS, platform="aws"))
    rig.units.broken = UnitFailed("systemd refuses an order")
    outcome = await rig.done()
    assert outcome.problem
    assert outcome.problem.cause == "Hosted services are not stopped: systemd refuses an order"
    rig.units.broken = None
    assert isinstance(await rig.attempt(), Skipped)
    assert str(STARTED) not in rig.files.content


async def test_a_silent_systemd_is_waited_for_and_then_named() -> None:
    rig = Rig()
    rig.units.broken = Unavailable("the system bus does not answer")
    outcome = await rig.attempt()
    assert isinstance(outcome, Waiting)
    rig.clock.now += PATIENCE_SECONDS
    done = await rig.done()
    assert done.problem
    assert done.problem.cause == "systemd does not answer"
