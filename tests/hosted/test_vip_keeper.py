"""Looks at the wire, and the number that keepalived gets after each of them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from structlog.testing import capture_logs

from hosted.rig import OWN_MAC, PEER_MAC, STRANGER_MAC, FakeAddresses, FakeWeights, FakeWire, state
from nodenet.core.hosted_services.cluster import Known
from nodenet.core.hosted_services.keepalived import MUTE_FILES, WEIGHT_FILES, router_ids
from nodenet.core.hosted_services.model import Place, Purpose, Service
from nodenet.core.hosted_services.packets import Advert
from nodenet.core.hosted_services.stance import LOOKS, OUT, Position, Stance
from nodenet.core.ip import Family, IPAddress, family_of
from nodenet.core.messages import Message
from nodenet.hosted.state import State
from nodenet.hosted.vip_keeper import LEARN_SECONDS, OBEY_SECONDS, SOON_SECONDS, SPLIT_SECONDS, SPLITS, VipKeeper

API = WEIGHT_FILES[Purpose.API]


def advert(number: int, priority: int = 65, *, version: int = 2, interval: float = 1) -> Advert:
    return Advert(number, priority, version, interval)


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
        return self.state.positions[self.vip].stance


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
    for _ in range(5):
        assert await bench.keeper.look() == SOON_SECONDS
    assert (bench.stance(), bench.weights.numbers[API]) == (Stance.STAYING_OUT, OUT)
    assert bench.wire.asked <= 5 + 1
    bench.wire.macs.pop(bench.vip)
    await bench.keeper.look()
    await bench.keeper.look()
    assert bench.stance() is Stance.CANDIDATE


async def test_a_peer_that_holds_it_is_no_reason_to_stay_out() -> None:
    bench = Bench()
    bench.wire.macs[bench.vip] = frozenset({PEER_MAC})
    await bench.keeper.look()
    assert bench.stance() is Stance.CANDIDATE
    assert bench.state.report().peers[PEER_MAC] == "master-1"


async def test_a_split_is_yielded_by_the_lower_mac_until_vrrp_is_heard() -> None:
    bench = Bench()
    await bench.keeper.look()
    assert OWN_MAC < PEER_MAC
    bench.addresses.here = {bench.vip}
    bench.wire.macs[bench.vip] = frozenset({OWN_MAC, PEER_MAC})
    await bench.keeper.look()
    await bench.keeper.look()
    assert (bench.stance(), bench.weights.numbers[API]) == (Stance.YIELDING, OUT)
    bench.addresses.here = set()
    for _ in range(4):
        await bench.keeper.look()
    assert bench.stance() is Stance.YIELDING
    number = router_ids(bench.state.options.cluster_domain.partition(".")[0])[Purpose.API]
    bench.keeper.heard(advert(number), Family.IPV4)
    await bench.keeper.look()
    await bench.keeper.look()
    assert bench.stance() is Stance.CANDIDATE


async def test_a_split_of_one_family_costs_the_other_one_nothing_and_lasts_until_its_own_vrrp_is_heard() -> None:
    """A packet filter often passes VRRP of IPv4 only: the advertisements of IPv4 ended the yielding again and again."""
    bench = Bench(state("dual-stack-control-plane"))
    await bench.keeper.look()
    four, six = (duty.address for duty in bench.state.plan.vips if duty.purpose is Purpose.API)
    number = router_ids(bench.state.options.cluster_domain.partition(".")[0])[Purpose.API]
    bench.addresses.here = {four, six}
    bench.wire.macs[six] = frozenset({PEER_MAC})
    mutes = {vip: MUTE_FILES[Purpose.API, family_of(vip)] for vip in (four, six)}
    for _ in range(6):
        bench.keeper.heard(advert(number), Family.IPV4)
        await bench.keeper.look()
        stances = {vip: bench.state.positions[vip].stance for vip in (four, six)}
        if bench.weights.numbers[mutes[six]] == OUT:
            bench.addresses.here.discard(six)
    assert stances == {four: Stance.CANDIDATE, six: Stance.YIELDING}
    assert {vip: bench.weights.numbers[path] for vip, path in mutes.items()} == {four: 0, six: OUT}
    assert bench.weights.numbers[API] == 25, "the VIP of IPv4 stays"
    again = Bench(bench.state)
    again.weights.numbers = bench.weights.numbers
    again.keeper.prepare(speaking=True)
    assert again.state.positions[four].stance is Stance.CANDIDATE
    assert again.state.positions[six].stance is Stance.PROBING
    for _ in range(2):
        bench.state.positions[six] = Position(Stance.YIELDING, bench.state.positions[six].against)
        bench.keeper.heard(advert(number, version=3), Family.IPV6)
        await bench.keeper.look()
    assert bench.state.positions[six].stance is Stance.CANDIDATE


async def test_a_vip_is_overdue_some_time_after_it_has_to_be_off() -> None:
    bench = Bench()
    await bench.keeper.look()
    bench.state.muted = frozenset({bench.vip})
    bench.keeper.write_weights()
    assert bench.keeper.overdue() == set()
    await asyncio.sleep(OBEY_SECONDS)
    bench.keeper.write_weights()
    assert bench.keeper.overdue() == {bench.vip}
    bench.state.muted = frozenset()
    bench.keeper.write_weights()
    assert bench.keeper.overdue() == set()
    bench.state.positions[bench.vip] = Position(Stance.YIELDING)
    bench.keeper.write_weights()
    await asyncio.sleep(OBEY_SECONDS)
    assert bench.keeper.overdue() == {bench.vip}


async def test_a_vip_that_this_node_may_no_longer_hold_is_forgotten() -> None:
    bench = Bench(state("dual-stack-control-plane"))
    await bench.keeper.look()
    assert len(bench.state.positions) == len(bench.state.sightings) == 4
    given = bench.state.known.inputs
    places: dict[Family, Place] = {Family.IPV4: given.here.places[Family.IPV4]}
    bench.state.take(Known(replace(given, here=replace(given.here, places=places))))
    await bench.keeper.look()
    assert {vip.version for vip in bench.state.positions} == {vip.version for vip in bench.state.sightings} == {4}


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
    assert {vip.version for vip in bench.state.positions} == {4}


async def test_an_advertisement_that_keepalived_does_not_take_is_not_heard() -> None:
    """Of another group, of a master that goes, and of a node whose interval was changed before or after this one's.

    Such a node ended the yielding of this one, and the VIP had two holders again and again until all were changed.
    """
    bench = Bench()
    number = router_ids(bench.state.options.cluster_domain.partition(".")[0])[Purpose.API]
    bench.state.positions[bench.vip] = Position(Stance.YIELDING)
    bench.wire.macs[bench.vip] = frozenset({PEER_MAC})
    bench.keeper.heard(advert(number, 0), Family.IPV4)
    bench.keeper.heard(advert(number + 1), Family.IPV4)
    bench.keeper.heard(advert(number, version=3), Family.IPV6)
    for other in (advert(number, version=3), advert(number, interval=2)):
        bench.keeper.heard(other, Family.IPV4)
    for _ in range(3):
        await bench.keeper.look()
    assert bench.stance() is Stance.YIELDING


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


async def test_a_drained_node_whose_keepalived_hangs_is_made_to_give_the_vip_up() -> None:
    """The node with the higher MAC has it too: both held it for as long as this one was drained."""
    bench = Bench()
    await bench.keeper.look()
    bench.state.drained = True
    bench.addresses.here = {bench.vip}
    bench.wire.macs[bench.vip] = frozenset({PEER_MAC})
    for _ in range(LOOKS):
        await bench.keeper.look()
    await asyncio.sleep(OBEY_SECONDS)
    assert bench.keeper.overdue() == {bench.vip}
    bench.addresses.here = set()
    number = router_ids(bench.state.options.cluster_domain.partition(".")[0])[Purpose.API]
    for _ in range(LOOKS):
        bench.keeper.heard(advert(number), Family.IPV4)
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
    assert f"The VIP {bench.vip} has 2 holders, master-0 and master-1: look for filtered VRRP" in problems


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


async def test_a_host_that_answers_with_ever_other_macs_fills_no_memory() -> None:
    bench = Bench()
    vip, silent = bench.vip, bench.state.known.inputs.nodes[1].addresses[0]
    for number in range(50):
        bench.wire.macs[vip] = frozenset({STRANGER_MAC})
        bench.wire.macs[silent] = frozenset({f"06:00:00:00:00:{number:02x}"})
        bench.keeper._learnt = -LEARN_SECONDS  # as after the pause
        await bench.keeper.look()
    assert len(bench.state.peers) <= len(bench.state.known.inputs.nodes)
    assert bench.state.peers["06:00:00:00:00:31"] == "master-1"


async def test_a_host_that_comes_and_goes_as_a_second_holder_does_not_fill_the_journal() -> None:
    """Any host of the LAN can answer every other question: that was an error line a second."""
    bench = Bench()
    bench.addresses.here.add(bench.vip)
    with capture_logs() as logs:
        for number in range(600):
            bench.wire.macs[bench.vip] = frozenset({STRANGER_MAC}) if number % 2 else frozenset()
            await bench.keeper.look()
            await asyncio.sleep(SOON_SECONDS)
    counted = Counter(entry["message"] for entry in logs)
    minutes = 600 * SOON_SECONDS / SPLIT_SECONDS
    assert SPLITS <= counted[Message.VIP_SPLIT] <= SPLITS + minutes
    assert counted[Message.VIP_CLEAR] <= counted[Message.VIP_SPLIT]
