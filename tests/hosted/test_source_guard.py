"""A node IP that goes from its link: what a candidate does and what a holder does, also with real keepalived."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest

from edge.namespace import Namespace
from hosted.rig import FakeAddresses, FakeWeights, FakeWire, inputs, state
from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services.cluster import Known
from nodenet.core.hosted_services.keepalived import MUTE_FILES, WEIGHT_FILES
from nodenet.core.hosted_services.model import Here, Place, Purpose
from nodenet.core.hosted_services.report import WITHOUT_SOURCE, document
from nodenet.core.hosted_services.vips import OUT, PATIENCE_INTERVALS, PATIENCE_SECONDS
from nodenet.core.ip import Family, IPAddress, family_of
from nodenet.edge.hosted_services.wire import AddressEvents, VipAddresses
from nodenet.hosted.state import State
from nodenet.hosted.vip_keeper import GUARD_SECONDS, PAUSE_SECONDS, TIMER_SECONDS, SourceGuard, VipKeeper


def wait_for(look: Callable[[], object], seconds: float = 20) -> None:
    """Return when *look* is true."""
    began = time.monotonic()
    while not look():
        assert time.monotonic() - began < seconds, "waited without result"
        time.sleep(0.005)


class FakeEvents:
    """The next change comes when the test says so."""

    def __init__(self) -> None:
        self.changes: asyncio.Queue[Exception | None] = asyncio.Queue()

    async def next(self) -> None:
        error = await self.changes.get()
        if error is not None:
            raise error

    def close(self) -> None:
        """There is nothing to close."""


class Storm(FakeEvents):
    """There is always a next change already, as while a host of the LAN floods it with router advertisements."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    async def next(self) -> None:
        self.count += 1
        if self.count > 1000:
            await super().next()


class Bench:
    """A guard and a keeper that share a state."""

    def __init__(self, made: State | None = None, events: FakeEvents | None = None) -> None:
        self.state = made or state()
        self.addresses, self.weights, self.events = FakeAddresses(), FakeWeights(), events or FakeEvents()
        healthy = {Purpose.API: [20, 5], Purpose.INGRESS: [20]}
        self.wire = FakeWire(self.state)
        self.keeper = VipKeeper(self.state, self.wire, self.addresses, self.weights, lambda purpose: healthy[purpose])
        self.guard = SourceGuard(
            self.state, self.events, self.addresses, self.keeper.write_weights, self.keeper.look_now.set
        )
        self.node_ips = set(self.state.here.addresses)
        self.addresses.here |= self.node_ips
        self.vips = {duty.address for duty in self.state.plan.vips if duty.wanted}

    async def change(self, error: Exception | None = None) -> None:
        self.events.changes.put_nowait(error)
        await asyncio.sleep(PAUSE_SECONDS / 2)

    @property
    def muted(self) -> set[IPAddress]:
        """The VIPs whose files keep keepalived's instance from speaking."""
        numbers = {
            duty.address: self.weights.numbers[MUTE_FILES[duty.purpose, family_of(duty.address)]]
            for duty in self.state.plan.vips
            if duty.wanted
        }
        assert set(numbers.values()) <= {0, OUT}
        return {vip for vip, number in numbers.items() if number == OUT}


async def test_a_candidate_whose_node_ip_goes_takes_no_vip_until_it_is_back() -> None:
    """It became a second holder: keepalived heard the first one no longer."""
    bench = Bench()
    task = asyncio.ensure_future(bench.guard.run())
    await bench.keeper.look()
    await bench.change()
    assert bench.muted == set()
    bench.addresses.here -= bench.node_ips
    await bench.change()
    assert bench.muted == bench.vips
    assert {vip["reason"] for vip in document(bench.state.report())["vips"]} == {WITHOUT_SOURCE}
    await bench.keeper.look()
    assert bench.muted == bench.vips, "a look at the wire changes nothing"
    await bench.change(Unavailable("the kernel does not answer"))
    assert bench.muted == bench.vips
    assert bench.state.failures == {"events of addresses": "the kernel does not answer"}
    bench.state.wake.clear()
    bench.guard.look()
    assert not bench.state.wake.is_set(), "a look that works does not hide that events are missing, again and again"
    await asyncio.sleep(PAUSE_SECONDS)
    bench.addresses.here |= bench.node_ips
    await bench.change()
    assert bench.muted == set()
    assert bench.weights.numbers[WEIGHT_FILES[Purpose.API]] == 25
    assert bench.state.failures == {}
    task.cancel()


async def test_changes_without_a_pause_leave_time_for_everything_else() -> None:
    """The kernel reports each renewal of an address, and each look lists all addresses."""
    storm = Storm()
    bench = Bench(events=storm)
    task = asyncio.ensure_future(bench.guard.run())
    await asyncio.sleep(0.2)
    assert 0 < storm.count < 100
    bench.addresses.here -= bench.node_ips
    await bench.keeper.look()
    await asyncio.sleep(0.2)
    assert bench.muted == bench.vips
    task.cancel()


async def test_a_holder_keeps_its_vip_for_a_moment_and_then_gives_it_up() -> None:
    """As while its node IP moves to a bridge: its advertisements still reach the peers."""
    bench = Bench()
    held = {duty.address for duty in bench.state.plan.vips if duty.purpose is Purpose.API}
    task = asyncio.ensure_future(bench.guard.run())
    await bench.keeper.look()
    bench.addresses.here = set(held)
    await bench.change()
    assert bench.muted == bench.vips - held
    await asyncio.sleep(PATIENCE_SECONDS)
    assert bench.muted == bench.vips, "it hears no peer: one with a higher priority would be a second holder"
    bench.addresses.here = set()
    await bench.change()
    assert bench.muted == bench.vips
    task.cancel()


async def test_a_node_that_gets_or_loses_a_vip_soon_looks_at_the_wire() -> None:
    """A candidate of 500 looks every 250 s: where VRRP was filtered, a VIP had two holders for as long."""
    bench = Bench()
    task = asyncio.ensure_future(bench.guard.run())
    vip = min(bench.vips, key=str)
    moves: list[set[IPAddress]] = [{vip}, set()]
    for held in moves:
        bench.keeper.look_now.clear()
        bench.addresses.here = bench.node_ips | held
        await bench.change()
        assert not bench.keeper.look_now.is_set(), "a takeover may still go on"
        await asyncio.sleep(GUARD_SECONDS)
        assert bench.keeper.look_now.is_set()
    bench.keeper.look_now.clear()
    await bench.change()
    await asyncio.sleep(GUARD_SECONDS)
    assert not bench.keeper.look_now.is_set(), "no VIP has moved"
    task.cancel()


async def test_a_node_ip_that_was_replaced_by_another_one_lets_the_node_take_part_again() -> None:
    """Its address came before it was published, and no event comes after that."""
    bench = Bench()
    task = asyncio.ensure_future(bench.guard.run())
    await bench.keeper.look()
    other = ip_address("192.0.2.77")
    bench.addresses.here = {other}
    await bench.change()
    assert bench.muted == bench.vips
    before = bench.state.here
    places = {family: replace(place, address=other) for family, place in before.places.items()}
    bench.state.take(Known(replace(bench.state.known.inputs, here=replace(before, places=places))))
    bench.guard.look()
    assert bench.muted == set()
    task.cancel()


async def test_in_dual_stack_the_holder_of_one_family_takes_no_vip_of_the_family_whose_node_ip_goes() -> None:
    """It held a VIP of the purpose, and so it was not muted: the VIP of the other family had two holders."""
    bench = Bench(state("dual-stack-control-plane"))
    assert len(bench.node_ips) == 2
    task = asyncio.ensure_future(bench.guard.run())
    await bench.keeper.look()
    for gone in bench.node_ips:
        lost = {vip for vip in bench.vips if vip.version == gone.version}
        bench.addresses.here = bench.node_ips - {gone}
        await bench.change()
        assert bench.muted == lost
        bench.addresses.here |= bench.vips - lost
        await bench.change()
        assert bench.muted == lost
    task.cancel()


async def test_a_holder_that_no_peer_hears_gives_the_vip_up_before_a_peer_takes_it() -> None:
    """The kernel sends no IPv6 packet from an address that no link has."""
    bench = Bench(state("ipv6-control-plane"))
    task = asyncio.ensure_future(bench.guard.run())
    await bench.keeper.look()
    for back in (True, False):
        bench.addresses.here = set(bench.vips)
        await bench.change()
        assert bench.muted == set(), "it may move to a bridge"
        if back:
            bench.addresses.here |= bench.node_ips
            await bench.change()
            await asyncio.sleep(5)
            assert bench.muted == set()
    interval = bench.state.options.advert_interval
    await asyncio.sleep(PATIENCE_INTERVALS * interval)
    assert bench.muted == bench.vips, "without another event"
    assert PATIENCE_INTERVALS * interval + 2 * TIMER_SECONDS < (3 + 156 / 256 - 1) * interval, "a skew of priority 100"
    task.cancel()


async def test_the_only_node_of_the_control_plane_keeps_its_vip_without_its_node_ip() -> None:
    """No peer could take it: the API was at no address for as long as the node IP was gone."""
    nodes = tuple(node for node in inputs("ipv6-control-plane").nodes if node.name in {"master-0", "worker-0"})
    bench = Bench(state("ipv6-control-plane", nodes=nodes))
    await bench.keeper.look()
    bench.addresses.here = set(bench.vips)
    bench.guard.look()
    await asyncio.sleep(PATIENCE_INTERVALS + 2 * TIMER_SECONDS)
    assert bench.muted == {duty.address for duty in bench.state.plan.vips if duty.purpose is Purpose.INGRESS}


@pytest.mark.parametrize("change", [{"link": "eth0"}, {"address": ip_address("192.0.2.77")}], ids=["link", "address"])
async def test_a_node_ip_counts_as_keepalived_has_read_it(change: dict[str, Any]) -> None:
    """After a change of the node IP, keepalived receives nothing until it has read the new configuration."""
    bench = Bench()
    now = bench.state.here.places
    bench.state.sources = {family: replace(place, **change) for family, place in now.items()}
    bench.guard.look()
    assert bench.state.muted == bench.vips
    bench.state.sources = now
    bench.guard.look()
    assert bench.state.muted == set()


needs_keepalived = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("keepalived") or not shutil.which("nsenter"),
    reason="keepalived in a network namespace needs root and the program",
)
FAST = 0.1
NETWORKS = {Family.IPV4: ip_network("192.0.2.0/24"), Family.IPV6: ip_network("2001:db8::/64")}
VIPS = {Family.IPV4: ip_address("192.0.2.2"), Family.IPV6: ip_address("2001:db8::2")}
LENGTHS = {Family.IPV4: 24, Family.IPV6: 128}
INSTANCE = """\
track_file {family}_mute {{
    file "{mute}"
    weight 1
}}
vrrp_instance {family} {{
    state BACKUP
    interface eth0
    virtual_router_id 14
    priority {priority}
    advert_int {fast}
    version 3
    unicast_src_ip {own}
    unicast_peer {{
        {peer}
    }}
    track_src_ip
    virtual_ipaddress {{
        {vip}/{length}
    }}
    track_file {{
        {family}_mute
    }}
}}
"""


class Host:
    """A real keepalived in a namespace of its own: host 1 or host 2, with an instance in each family."""

    def __init__(self, directory: Path, number: int, priorities: Mapping[Family, int]) -> None:
        self.space, self.directory = Namespace(), directory / str(number)
        self.directory.mkdir()
        self.node_ips = {family: network[10 + number] for family, network in NETWORKS.items()}
        text = "global_defs {\n    vrrp_check_unicast_src\n}\n"
        for family, network in NETWORKS.items():
            self.mute(family, 0)
            text += INSTANCE.format(
                family=family.value,
                mute=self._mute_file(family),
                priority=priorities[family],
                fast=FAST,
                own=self.node_ips[family],
                peer=network[13 - number],
                vip=VIPS[family],
                length=LENGTHS[family],
            )
        (self.directory / "keepalived.conf").write_text(text)
        self.program: subprocess.Popen[bytes] | None = None
        self.space.sysctl("net/ipv6/conf/default/accept_dad", 0)
        for link in ("all", "default"):
            self.space.sysctl(f"net/ipv4/conf/{link}/promote_secondaries", 1)  # as systemd sets it

    def _mute_file(self, family: Family) -> Path:
        return self.directory / f"{family.value}-mute"

    def mute(self, family: Family, number: int) -> None:
        self._mute_file(family).write_text(f"{number}\n")

    def start(self) -> None:
        command = [*self.space._prefix, "keepalived", "-n", "-l", "-P", "-f", str(self.directory / "keepalived.conf")]
        command += [f"-{option}{self.directory}/{option}.pid" for option in "pr"]
        with (self.directory / "log").open("ab") as log:
            self.program = subprocess.Popen(command, stdout=log, stderr=log)

    def address(self, verb: str, family: Family) -> None:
        self.space.ip(f"address {verb} {self.node_ips[family]}/{NETWORKS[family].prefixlen} dev eth0")

    def holds(self, family: Family) -> bool:
        return f"'{VIPS[family]}'" in str(self.space.ip_json("address show dev eth0"))

    @contextmanager
    def guarded(self) -> Iterator[State]:
        """Run the guard for this host."""
        given = inputs("dual-stack-control-plane")
        places = {family: Place(own, "eth0", NETWORKS[family]) for family, own in self.node_ips.items()}
        options = replace(given.options, advert_interval=FAST)
        made = state("dual-stack-control-plane", here=Here(given.here.name, places), options=options)
        assert set(VIPS.values()) <= {duty.address for duty in made.plan.vips if duty.wanted}
        stop = asyncio.Event()
        loops: list[asyncio.AbstractEventLoop] = []

        def write() -> None:
            for family, vip in VIPS.items():
                self.mute(family, OUT if vip in made.muted else 0)

        async def guard() -> None:
            loops.append(asyncio.get_running_loop())
            task = asyncio.create_task(SourceGuard(made, AddressEvents(), VipAddresses(), write, lambda: None).run())
            await stop.wait()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        done: Future[None] = self.space.start(lambda: asyncio.run(guard()))
        wait_for(lambda: loops)
        try:
            yield made
        finally:
            loops[0].call_soon_threadsafe(stop.set)
            done.result(10)

    def close(self) -> None:
        if self.program is not None:
            self.program.terminate()
            self.program.wait()
        self.space.close()


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[tuple[Host, Host]]:
    """Two hosts on one cable; the first one holds the VIP of IPv6, the second one that of IPv4."""
    orders = ({Family.IPV4: 40, Family.IPV6: 50}, {Family.IPV4: 50, Family.IPV6: 40})
    with ExitStack() as opened:
        first, second = (
            opened.enter_context(closing(Host(tmp_path, number, order))) for number, order in enumerate(orders, 1)
        )
        first.space.ip(f"link add eth0 type veth peer name eth0 netns {second.space._holder.pid}")
        for host in (first, second):
            host.space.ip("link set eth0 up")
            for family in Family:
                host.address("add", family)
        for host in (first, second):
            host.start()
        wait_for(lambda: hold(first, second) == {Family.IPV4: [2], Family.IPV6: [1]})
        yield first, second


def hold(*hosts: Host) -> dict[Family, list[int]]:
    """Return the numbers of the hosts that hold the VIP of each family."""
    return {family: [number for number, host in enumerate(hosts, 1) if host.holds(family)] for family in Family}


@needs_keepalived
def test_with_the_guard_the_holder_of_one_vip_does_not_take_the_other_familys(hosts: tuple[Host, Host]) -> None:
    """Without it, the second host takes the VIP of IPv6 0.4 s later, also with ``track_src_ip``."""
    first, second = hosts
    before = hold(first, second)
    with second.guarded() as made:
        second.address("delete", Family.IPV6)
        wait_for(lambda: VIPS[Family.IPV6] in made.muted)
        assert VIPS[Family.IPV4] not in made.muted
        time.sleep(1)  # more than twice as long as keepalived waits for an advertisement
        wait_for(lambda: hold(first, second) == before)
        second.address("add", Family.IPV6)
        wait_for(lambda: not made.muted)
        time.sleep(1)
        wait_for(lambda: hold(first, second) == before)


@needs_keepalived
@pytest.mark.parametrize("family", list(Family), ids=str)
def test_a_vip_whose_holder_loses_its_node_ip_has_one_holder(hosts: tuple[Host, Host], family: Family) -> None:
    """The peers hear a holder of IPv4 all the same. Without the guard, both hosts held the VIP of IPv6."""
    first, second = hosts
    holder = second if family is Family.IPV4 else first
    wanted = {Family.IPV4: [2], Family.IPV6: [1 if family is Family.IPV4 else 2]}
    with holder.guarded():
        holder.address("delete", family)
        time.sleep(1)
        wait_for(lambda: hold(first, second) == wanted)
