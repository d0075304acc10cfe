"""A node IP that goes from its link: what a candidate does and what a holder does, also with real keepalived."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack, closing
from dataclasses import replace
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest

from edge.namespace import Namespace
from hosted.rig import FakeAddresses, FakeWeights, FakeWire, inputs, state
from hosted.test_vip_guard import wait_for
from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services.cluster import Known
from nodenet.core.hosted_services.keepalived import WEIGHT_FILES
from nodenet.core.hosted_services.model import Here, Place, Purpose
from nodenet.core.hosted_services.report import WITHOUT_SOURCE, document
from nodenet.core.hosted_services.stance import OUT
from nodenet.core.ip import Family
from nodenet.edge.hosted_services.address_events import AddressEvents
from nodenet.edge.hosted_services.vip_addresses import VipAddresses
from nodenet.hosted.source_guard import PAUSE_SECONDS, SourceGuard
from nodenet.hosted.state import State
from nodenet.hosted.vip_keeper import VipKeeper


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
        self.keeper = VipKeeper(
            self.state, FakeWire(self.state), self.addresses, self.weights, lambda purpose: healthy[purpose]
        )
        self.guard = SourceGuard(self.state, self.events, self.addresses, self.keeper.write_weights)
        self.node_ips = set(self.state.here.addresses)
        self.addresses.here |= self.node_ips

    async def change(self, error: Exception | None = None) -> None:
        self.events.changes.put_nowait(error)
        await asyncio.sleep(PAUSE_SECONDS / 2)

    def weight(self, purpose: Purpose = Purpose.API) -> int:
        return self.weights.numbers[WEIGHT_FILES[purpose]]


async def test_a_candidate_whose_node_ip_goes_takes_no_vip_until_it_is_back() -> None:
    """It became a second holder: keepalived heard the first one no longer."""
    bench = Bench()
    task = asyncio.ensure_future(bench.guard.run())
    await bench.keeper.look()
    await bench.change()
    assert (bench.weight(), bench.weight(Purpose.INGRESS)) == (25, 20)
    bench.addresses.here -= bench.node_ips
    await bench.change()
    assert (bench.weight(), bench.weight(Purpose.INGRESS)) == (OUT, OUT)
    assert {vip["reason"] for vip in document(bench.state.report())["vips"]} == {WITHOUT_SOURCE}
    await bench.keeper.look()
    assert bench.weight() == OUT, "a look at the wire changes nothing"
    await bench.change(Unavailable("the kernel does not answer"))
    assert bench.weight() == OUT
    assert bench.state.failures == {"events of addresses": "the kernel does not answer"}
    bench.state.wake.clear()
    bench.guard.look()
    assert not bench.state.wake.is_set(), "a look that works does not hide that events are missing, again and again"
    await asyncio.sleep(PAUSE_SECONDS)
    bench.addresses.here |= bench.node_ips
    await bench.change()
    assert (bench.weight(), bench.weight(Purpose.INGRESS)) == (25, 20)
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
    assert bench.weight() == OUT
    task.cancel()


async def test_a_holder_keeps_its_vip_and_one_that_loses_it_then_takes_it_no_more() -> None:
    """As while its node IP moves to a bridge: its advertisements still reach the peers."""
    bench = Bench()
    vips = {duty.address for duty in bench.state.plan.vips if duty.purpose is Purpose.API}
    task = asyncio.ensure_future(bench.guard.run())
    await bench.keeper.look()
    bench.addresses.here = set(vips)
    await bench.change()
    assert (bench.weight(), bench.weight(Purpose.INGRESS)) == (25, OUT)
    bench.addresses.here = set()
    await bench.change()
    assert bench.weight() == OUT
    task.cancel()


async def test_a_node_ip_that_was_replaced_by_another_one_lets_the_node_take_part_again() -> None:
    """Its address came before it was published, and no event comes after that."""
    bench = Bench()
    task = asyncio.ensure_future(bench.guard.run())
    await bench.keeper.look()
    other = ip_address("192.0.2.77")
    bench.addresses.here = {other}
    await bench.change()
    assert bench.weight() == OUT
    before = bench.state.here
    places = {family: replace(place, address=other) for family, place in before.places.items()}
    bench.state.take(Known(replace(bench.state.known.inputs, here=replace(before, places=places))))
    bench.guard.look()
    assert bench.weight() == 25
    task.cancel()


async def test_in_dual_stack_the_loss_of_one_node_ip_is_enough() -> None:
    bench = Bench(state("dual-stack-control-plane"))
    assert len(bench.node_ips) == 2
    task = asyncio.ensure_future(bench.guard.run())
    for gone in bench.node_ips:
        bench.addresses.here = bench.node_ips - {gone}
        await bench.change()
        assert bench.state.without_source == {Purpose.API, Purpose.INGRESS}
    task.cancel()


needs_keepalived = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("keepalived") or not shutil.which("nsenter"),
    reason="keepalived in a network namespace needs root and the program",
)
VIP, OWN = ip_address("192.0.2.2"), ip_address("192.0.2.12")
CONFIGURATION = """\
global_defs {{
    vrrp_check_unicast_src
}}
track_file weight {{
    file "{weight}"
    weight 1
}}
vrrp_instance one {{
    state BACKUP
    interface eth0
    virtual_router_id 14
    priority {priority}
    advert_int 0.1
    version 3
    unicast_src_ip {own}
    unicast_peer {{
        {peer}
    }}
    track_src_ip
    virtual_ipaddress {{
        192.0.2.2/24 label vip
    }}
    track_file {{
        weight
    }}
}}
"""


class Host:
    """A real keepalived in a namespace of its own."""

    def __init__(self, directory: Path, number: int, priority: int) -> None:
        self.space, self.directory = Namespace(), directory / str(number)
        self.directory.mkdir()
        self.weight = self.directory / "weight"
        self.weight.write_text("0\n")
        own, peer = f"192.0.2.{10 + number}", f"192.0.2.{13 - number}"
        text = CONFIGURATION.format(weight=self.weight, priority=priority, own=own, peer=peer)
        (self.directory / "keepalived.conf").write_text(text)
        self.program: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [*self.space._prefix, "keepalived", "-n", "-l", "-P", "-f", str(self.directory / "keepalived.conf")]
        command += [f"-{option}{self.directory}/{option}.pid" for option in "pr"]
        with (self.directory / "log").open("ab") as log:
            self.program = subprocess.Popen(command, stdout=log, stderr=log)

    @property
    def holds(self) -> bool:
        return str(VIP) in str(self.space.ip_json("address show dev eth0"))

    def close(self) -> None:
        if self.program is not None:
            self.program.terminate()
            self.program.wait()
        self.space.close()


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[tuple[Host, Host]]:
    """Two hosts on one cable; the first one holds the VIP."""
    with ExitStack() as opened:
        first, second = (
            opened.enter_context(closing(Host(tmp_path, number, priority))) for number, priority in ((1, 50), (2, 40))
        )
        for space in (first.space, second.space):
            space.sysctl("net/ipv4/conf/all/promote_secondaries", 1)  # as systemd sets it
            space.sysctl("net/ipv4/conf/default/promote_secondaries", 1)
        first.space.ip(f"link add eth0 type veth peer name eth0 netns {second.space._holder.pid}")
        for number, host in ((1, first), (2, second)):
            host.space.ip(f"address add 192.0.2.{10 + number}/24 dev eth0", "link set eth0 up")
        first.start()
        wait_for(lambda: first.holds)
        second.start()
        time.sleep(0.6)
        yield first, second


@needs_keepalived
def test_with_the_guard_there_is_one_holder(hosts: tuple[Host, Host]) -> None:
    """Without it, the second host takes the VIP 0.4 s later, also with ``track_src_ip``."""
    first, second = hosts
    name = inputs().here.name
    made = state(here=Here(name, {Family.IPV4: Place(OWN, "eth0", ip_network("192.0.2.0/24"))}))
    assert VIP in {duty.address for duty in made.plan.vips if duty.wanted}
    stop = asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    def write() -> None:
        second.weight.write_text(f"{OUT if made.without_source else 0}\n")

    async def guard() -> None:
        loops.append(asyncio.get_running_loop())
        task = asyncio.create_task(SourceGuard(made, AddressEvents(), VipAddresses(), write).run())
        await stop.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    done: Future[None] = second.space.start(lambda: asyncio.run(guard()))
    wait_for(lambda: loops)
    try:
        second.space.ip(f"address delete {OWN}/24 dev eth0")
        wait_for(lambda: made.without_source)
        time.sleep(1)  # more than twice as long as keepalived waits for an advertisement
        wait_for(lambda: first.holds and not second.holds)
        second.space.ip(f"address add {OWN}/24 dev eth0")
        wait_for(lambda: not made.without_source)
        time.sleep(1)
        wait_for(lambda: first.holds and not second.holds)
    finally:
        loops[0].call_soon_threadsafe(stop.set)
        done.result(10)
