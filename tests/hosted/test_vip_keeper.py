"""Looks at the wire, and the number that keepalived gets after each of them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from ipaddress import ip_address

import pytest
from structlog.testing import capture_logs

from hosted.rig import PEER_MAC, STRANGER_MAC, FakeAddresses, FakeWeights, FakeWire, inputs, state
from nodenet.core.hosted_services.cluster import Known
from nodenet.core.hosted_services.keepalived import MUTE_FILES, WEIGHT_FILES
from nodenet.core.hosted_services.model import ClusterNode, Place, Purpose, Role, Service
from nodenet.core.hosted_services.vips import OUT, REMEDY, STAY_OUT_SECONDS, Sighting, Stance
from nodenet.core.ip import Family, IPAddress
from nodenet.core.messages import Message
from nodenet.hosted.state import State
from nodenet.hosted.vip_keeper import SOON_SECONDS, SPLIT_SECONDS, SPLITS, Drain, VipKeeper

API = WEIGHT_FILES[Purpose.API]


class Bench:
    """A keeper over edges of the test's own."""

    def __init__(self, made: State | None = None) -> None:
        self.state = made or state()
        self.wire, self.addresses, self.weights = FakeWire(self.state), FakeAddresses(), FakeWeights()
        self.healthy = {Purpose.API: [20, 5], Purpose.INGRESS: [20]}
        self.keeper = VipKeeper(
            self.state, self.wire, self.addresses, self.weights, lambda purpose: self.healthy[purpose]
        )
        self.vip = self.state.plan.vips[0].address

    @property
    def purposes(self) -> set[int]:
        """The weights of the purposes."""
        return {self.weights.numbers[path] for path in WEIGHT_FILES.values()}

    def stance(self) -> Stance:
        return self.state.stances[self.vip]


async def test_nothing_takes_part_before_the_first_look() -> None:
    bench = Bench()
    bench.keeper.prepare(speaking=False)
    bench.keeper.write_weights()
    assert bench.purposes == {OUT}
    await bench.keeper.look()
    assert bench.weights.numbers[API] == 25


async def test_a_companion_that_comes_back_beside_a_speaking_keepalived_changes_no_number() -> None:
    bench = Bench()
    bench.weights.numbers = {WEIGHT_FILES[Purpose.API]: 25, WEIGHT_FILES[Purpose.INGRESS]: 20}
    bench.keeper.prepare(speaking=True)
    bench.keeper.write_weights()
    assert bench.purposes == {25, 20}


async def test_a_stranger_keeps_it_out_and_costs_few_questions() -> None:
    bench = Bench()
    bench.wire.macs[bench.vip] = frozenset({STRANGER_MAC})
    assert [await bench.keeper.look() for _ in range(5)] == [0.5, 1.0, 2.0, 2.0, 2.0]
    assert (bench.stance(), bench.weights.numbers[API]) == (Stance.STAYING_OUT, OUT)
    bench.wire.macs.pop(bench.vip)
    await bench.keeper.look()
    assert bench.stance() is Stance.CANDIDATE


async def test_a_stranger_that_answers_for_ever_does_not_keep_the_vip_from_the_cluster() -> None:
    bench = Bench()
    bench.wire.macs[bench.vip] = frozenset({STRANGER_MAC})
    await bench.keeper.look()
    await asyncio.sleep(STAY_OUT_SECONDS)
    await bench.keeper.look()
    assert bench.stance() is Stance.CANDIDATE


@pytest.mark.parametrize("mac", [PEER_MAC, STRANGER_MAC, "fe:ff:ff:ff:ff:ff"])
async def test_no_answer_on_the_wire_takes_the_vip_from_its_holder(mac: str) -> None:
    """A host that answered ARP for the VIP and for a node that is off took the API from the whole cluster."""
    bench = Bench()
    await bench.keeper.look()
    bench.addresses.here = {bench.vip}
    bench.wire.macs[bench.vip] = frozenset({mac})
    off = bench.state.known.inputs.nodes[-1].addresses[0]
    bench.wire.known[off] = mac
    for _ in range(20):
        await bench.keeper.look()
    assert (bench.stance(), bench.weights.numbers[API]) == (Stance.CANDIDATE, 25)
    assert bench.weights.numbers[MUTE_FILES[Purpose.API, Family.IPV4]] == 0
    assert mac in str(bench.state.report().all_problems), "the status says who answers"


async def test_of_three_hundred_nodes_each_asks_for_the_vips_alone_and_knows_the_holder() -> None:
    """The nodes beyond the 256th were strangers, and each of the others asked for all addresses twice a second."""
    given = inputs("worker")
    more = tuple(
        ClusterNode(f"node-{number:04}", (ip_address(f"192.0.2.{number % 200 + 30}"),), Role.WORKER)
        if number < 200
        else ClusterNode(f"node-{number:04}", (ip_address(f"198.51.100.{number - 190}"),), Role.WORKER)
        for number in range(300)
    )
    bench = Bench(state("worker", nodes=(*given.nodes, *more)))
    vip = next(duty.address for duty in bench.state.plan.vips if duty.wanted)
    bench.wire.known = {more[-1].addresses[0]: PEER_MAC}
    bench.wire.macs[vip] = frozenset({PEER_MAC})
    pauses = [await bench.keeper.look() for _ in range(20)]
    assert bench.state.stances[vip] is Stance.CANDIDATE
    assert bench.state.report().peers == {PEER_MAC: "node-0299"}
    assert bench.wire.asked_for <= {duty.address for duty in bench.state.plan.vips}
    assert min(pauses) > 100, "together about two questions a second"


async def test_a_peer_that_holds_it_is_no_reason_to_stay_out() -> None:
    bench = Bench()
    bench.wire.macs[bench.vip] = frozenset({PEER_MAC})
    await bench.keeper.look()
    assert bench.stance() is Stance.CANDIDATE
    assert bench.state.report().peers[PEER_MAC] == "master-1"


async def test_a_vip_that_this_node_may_no_longer_hold_is_forgotten() -> None:
    bench = Bench(state("dual-stack-control-plane"))
    await bench.keeper.look()
    assert len(bench.state.stances) == len(bench.state.sightings) == 4
    given = bench.state.known.inputs
    places: dict[Family, Place] = {Family.IPV4: given.here.places[Family.IPV4]}
    bench.state.take(Known(replace(given, here=replace(given.here, places=places))))
    await bench.keeper.look()
    assert {vip.version for vip in bench.state.stances} == {vip.version for vip in bench.state.sightings} == {4}


async def test_a_node_ip_that_goes_while_the_wire_is_asked_ends_nothing() -> None:
    """It ended the whole task, also the one that starts and reloads the services."""
    bench = Bench(state("dual-stack-control-plane"))
    given = bench.state.known.inputs

    class Going(FakeWire):
        async def claims(self, addresses: Iterable[IPAddress], link: str) -> Mapping[IPAddress, frozenset[str]]:
            found = await super().claims(addresses, link)
            places: dict[Family, Place] = {Family.IPV4: given.here.places[Family.IPV4]}
            bench.state.take(Known(replace(given, here=replace(given.here, places=places))))
            return found

    bench.keeper = VipKeeper(bench.state, Going(bench.state), bench.addresses, bench.weights, lambda _: [20])
    await bench.keeper.look()
    await bench.keeper.look()
    assert {vip.version for vip in bench.state.stances} == {4}


async def test_a_drained_node_goes_down_and_comes_back() -> None:
    bench = Bench()
    await bench.keeper.look()
    bench.state.drained = True
    await bench.keeper.look()
    assert (bench.stance(), bench.weights.numbers[API]) == (Stance.DRAINING, -39)
    bench.state.drained = False
    await bench.keeper.look()
    assert (bench.stance(), bench.weights.numbers[API]) == (Stance.CANDIDATE, 25)


async def test_a_drained_node_that_starts_takes_part_with_the_lowest_priority_only() -> None:
    """It was a candidate like any other until the next look, ten seconds later."""
    bench = Bench()
    bench.state.drained = True
    bench.keeper.prepare(speaking=False)
    await bench.keeper.look()
    assert (bench.stance(), bench.weights.numbers[API]) == (Stance.DRAINING, -39)


async def test_a_wire_that_cannot_be_asked_is_reported_and_moves_nothing() -> None:
    bench = Bench()
    await bench.keeper.look()
    bench.wire.down = True
    assert await bench.keeper.look() == SOON_SECONDS
    assert bench.stance() is Stance.CANDIDATE
    assert bench.weights.numbers[API] == 25
    assert any("cannot be asked" in text for text in bench.state.failures.values())
    bench.wire.down = False
    await bench.keeper.look()
    assert bench.state.failures == {}


async def test_a_full_run_is_reported() -> None:
    bench = Bench()
    bench.weights.full = True
    await bench.keeper.look()
    assert any("cannot be written" in text for text in bench.state.failures.values())


async def test_beside_another_stack_and_without_duties_nothing_is_asked() -> None:
    for made in (state("user-managed-lb"), state("platform-none")):
        bench = Bench(made)
        await bench.keeper.look()
        assert bench.wire.asked == 0
        assert bench.weights.numbers == {}
    waiting = Bench()
    waiting.state.waits[Service.KEEPALIVED] = "another stack"
    await waiting.keeper.look()
    assert waiting.wire.asked == 0
    assert waiting.purposes == {OUT}


async def test_a_split_is_a_problem_of_the_report_with_both_names() -> None:
    bench = Bench()
    await bench.keeper.look()
    bench.addresses.here = {bench.vip}
    bench.wire.macs[bench.vip] = frozenset({PEER_MAC})
    await bench.keeper.look()
    problems = bench.state.report().all_problems
    assert f"The VIP {bench.vip} has 2 holders, master-0 and master-1 ({PEER_MAC}): {REMEDY}" in problems


async def test_a_node_that_calls_the_vip_its_own_takes_it_from_nobody() -> None:
    """A worker reports its addresses itself: the VIP goes on, and who answers there is no peer by that."""
    made = state()
    given = made.known.inputs
    vip = made.plan.vips[0].address
    nodes = tuple(replace(node, addresses=(vip,)) if node.name == "worker-0" else node for node in given.nodes)
    made.take(Known(replace(given, nodes=nodes)))
    assert all(duty.wanted for duty in made.plan.vips)
    assert f"The VIP {vip} is the address of node worker-0: give the VIP an address of its own" in made.plan.problems
    assert f"    {vip}\n" not in made.plan.texts[Service.KEEPALIVED]
    bench = Bench(made)
    bench.wire.macs[vip] = frozenset({STRANGER_MAC})
    await bench.keeper.look()
    assert STRANGER_MAC not in made.peers
    assert bench.stance() is Stance.STAYING_OUT


async def test_a_host_that_comes_and_goes_as_a_second_holder_does_not_fill_the_journal() -> None:
    """Any host of the LAN can answer every other question: that was an error line a second."""
    bench = Bench()
    bench.addresses.here.add(bench.vip)
    with capture_logs() as logs:
        for number in range(600):
            bench.wire.macs[bench.vip] = frozenset({STRANGER_MAC}) if number % 2 else frozenset()
            await bench.keeper.look()
            await asyncio.sleep(SOON_SECONDS)
    counted = Counter(entry.get("message") for entry in logs)
    cleared = [entry for entry in logs if "has one holder again" in entry["event"]]
    minutes = 600 * SOON_SECONDS / SPLIT_SECONDS
    assert SPLITS <= counted[Message.VIP_SPLIT] <= SPLITS + minutes
    assert len(cleared) <= counted[Message.VIP_SPLIT]


PEER = frozenset({"02:00:00:00:00:11"})


def holding() -> State:
    made = state()
    made.running[Service.KEEPALIVED] = True
    made.sightings = {duty.address: Sighting(duty.address, here=True) for duty in made.plan.vips}
    return made


def away(made: State) -> None:
    made.sightings = {duty.address: Sighting(duty.address, here=False, others=PEER) for duty in made.plan.vips}


async def test_it_ends_when_another_node_holds_every_vip() -> None:
    made = holding()
    kept: list[bool] = []
    loop = asyncio.get_running_loop()
    loop.call_later(2, away, made)
    began = loop.time()
    assert await Drain(made, lambda: None, kept.append).drain()
    assert 1.9 < loop.time() - began < 2.5
    assert (made.drained, kept) == (True, [True])


async def test_without_a_successor_it_ends_after_five_intervals_and_the_vips_stay() -> None:
    made = holding()
    loop = asyncio.get_running_loop()
    began = loop.time()
    assert not await Drain(made, lambda: None, lambda _: None).drain()
    assert loop.time() - began < 10
    assert made.sightings[made.plan.vips[0].address].here


async def test_a_node_without_keepalived_is_drained_at_once() -> None:
    made = state("worker")
    assert await Drain(made, lambda: None, lambda _: None).drain()


async def test_undo_takes_part_again() -> None:
    made = holding()
    kept: list[bool] = []
    made.drained = True
    Drain(made, lambda: None, kept.append).undo()
    assert (made.drained, kept, made.wake.is_set()) == (False, [False], True)
