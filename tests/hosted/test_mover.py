"""This node's part of each phase, on virtual time, with servers and a DNS server of the test's own."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from hosted.rig import state
from hosted.test_checks import FakeProcesses
from nodenet.core.errors import PublishFailed
from nodenet.core.hosted_services.api_int import dead
from nodenet.core.hosted_services.cluster import Known
from nodenet.core.hosted_services.haproxy import BY_WIRE
from nodenet.core.hosted_services.health import Answer, Result, Target, Verdict
from nodenet.core.hosted_services.migration import AT_REST, Migration, Phase
from nodenet.core.hosted_services.migration_progress import Progress
from nodenet.core.hosted_services.model import Mode, Service
from nodenet.core.hosted_services.vips import Sighting
from nodenet.core.ip import Family, IPAddress, family_of
from nodenet.hosted.checks import HealthChecks
from nodenet.hosted.mover import ApiIntTrial, Mover
from nodenet.hosted.state import State


class Rest:
    """The servers that answer, and what DNS answers."""

    def __init__(self) -> None:
        self.good = False
        self.alive: set[str] = set()
        """Servers that answer all the same."""
        self.marks: set[int] = set()
        self.named: set[IPAddress] = set()
        self.checks = self.asked = self.reports = 0

    async def check(self, target: Target, seconds: float) -> Result:  # noqa: ARG002
        assert (target.path, target.server_name) == ("/readyz", "api-int.ostest.example.com")
        assert target.ca_file
        self.checks += 1
        self.marks.add(target.mark)
        good = self.good or target.host in self.alive
        return Result(Answer.GOOD) if good else Result(Answer.DEAD, problem="connection refused")

    async def addresses(
        self,
        server: IPAddress,
        name: str,
        family: Family,
        port: int | None = None,  # noqa: ARG002  (DNS's own)
    ) -> frozenset[IPAddress]:
        assert (str(server), name) == ("192.0.2.10", "api-int.ostest.example.com")
        self.asked += 1
        return frozenset(one for one in self.named if family_of(one) is family)

    def reported(self) -> None:
        self.reports += 1


@contextlib.asynccontextmanager
async def moving(made: State, rest: Rest) -> AsyncIterator[Mover]:
    mover = Mover(made, rest, rest, rest.reported)
    task = asyncio.ensure_future(mover.run())
    try:
        yield mover
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def led(made: State, phase: Phase, *, back: bool = False, attempt: int = 1) -> State:
    """Return the state in a phase."""
    inputs = made.known.inputs
    way = [made.options.api_vips, inputs.spec.api_int_addresses]
    origin, target = reversed(way) if back else way
    migration = Migration(phase, origin, target, attempt)
    made.take(Known(replace(inputs, spec=replace(inputs.spec, migration=migration))))
    return made


async def test_a_load_balancer_is_verified_and_each_attempt_begins_anew_from_nothing() -> None:
    made, rest = led(state("api-int-is-external"), Phase.VERIFY), Rest()
    (balancer,) = made.known.inputs.spec.api_int_addresses
    async with moving(made, rest) as mover:
        await asyncio.sleep(5)
        assert made.progress == Progress(1, Phase.VERIFY, problem=f"{balancer}: connection refused")
        rest.good = True
        await asyncio.sleep(5)
        assert made.progress == Progress(1, Phase.VERIFY, ready=True)
        led(made, Phase.VERIFY, attempt=2)
        mover.look_now.set()
        await asyncio.sleep(0.2)
        assert made.progress == Progress(2, Phase.VERIFY), "what was found before counts no more"
        reports = rest.reports
        await asyncio.sleep(60)
        assert rest.reports == reports + 1, "an unchanged part is reported once"
    assert rest.marks == {0}


async def test_dns_is_asked_back() -> None:
    made, rest = led(state("api-int-is-external"), Phase.SWITCH_DNS), Rest()
    async with moving(made, rest):
        await asyncio.sleep(2)
        assert made.progress is not None
        assert made.progress.problem == "DNS of this node answers nothing for api-int"
        rest.named = set(made.known.inputs.spec.api_int_addresses)
        await asyncio.sleep(2)
        assert made.progress == Progress(1, Phase.SWITCH_DNS, ready=True)
        assert rest.checks == 0


async def test_a_service_that_has_followed_is_seen_at_once_and_an_address_is_asked_at_its_pace() -> None:
    made, rest = led(state("api-int-is-external"), Phase.SWITCH_DNS), Rest()
    async with moving(made, rest) as mover:
        await asyncio.sleep(0.1)
        assert made.progress is not None
        assert not made.progress.ready
        rest.named = set(made.known.inputs.spec.api_int_addresses)
        mover.services_changed()
        await asyncio.sleep(0.1)
        assert made.progress == Progress(1, Phase.SWITCH_DNS, ready=True)
        led(made, Phase.DRAIN_HAPROXY)
        mover.look_now.set()
        await asyncio.sleep(0.1)
        mover.services_changed()
        await asyncio.sleep(0.1)
        assert rest.checks == 1


async def test_a_cluster_whose_dns_answers_api_int_elsewhere_is_not_asked() -> None:
    made, rest = state("api-int-is-external"), Rest()
    inputs = made.known.inputs
    made.take(Known(replace(inputs, spec=replace(inputs.spec, api_int=False))))
    async with moving(led(made, Phase.SWITCH_DNS), rest):
        await asyncio.sleep(2)
    assert (made.progress, rest.asked) == (Progress(1, Phase.SWITCH_DNS, ready=True), 0)


async def test_the_redirect_ends_and_a_balancer_that_died_is_reported() -> None:
    made, rest = led(state("api-int-is-external"), Phase.REDIRECT_OFF), Rest()
    made.running[Service.REDIRECT] = True
    async with moving(made, rest):
        await asyncio.sleep(1)
        assert made.progress == Progress(1, Phase.REDIRECT_OFF, problem="the redirect to haproxy is on")
        made.running[Service.REDIRECT] = False
        await asyncio.sleep(1)
        assert made.progress == Progress(1, Phase.REDIRECT_OFF, ready=True)
        made.dead = frozenset(made.known.inputs.spec.api_int_addresses)
        await asyncio.sleep(1)
        assert made.progress is not None
        assert (made.progress.ready, made.progress.lost) == (False, True)


async def test_the_way_back_waits_for_haproxy_and_for_one_holder_that_answers() -> None:
    made, rest = led(state("api-int-is-external"), Phase.START_HAPROXY, back=True), Rest()
    (vip,) = made.options.api_vips
    async with moving(made, rest) as mover:
        await asyncio.sleep(1)
        assert made.progress is not None
        assert not made.progress.ready
        made.running[Service.HAPROXY] = True
        made.verdicts[Service.HAPROXY] = Verdict(healthy=True)
        await asyncio.sleep(1)
        assert made.progress == Progress(1, Phase.START_HAPROXY, ready=True)
        led(made, Phase.VERIFY_VIP, back=True)
        mover.look_now.set()
        rest.good = True
        await asyncio.sleep(8)
        assert made.progress == Progress(1, Phase.VERIFY_VIP, problem=f"the VIP {vip} has 0 holders")
        made.sightings[vip] = Sighting(vip, here=True)
        await asyncio.sleep(1)
        assert made.progress == Progress(1, Phase.VERIFY_VIP, ready=True)
        assert rest.marks == {BY_WIRE}, "not by this node's own redirect"
        led(made, Phase.DRAIN_EXTERNAL, back=True)
        made.reachable, made.asked = False, vip
        mover.look_now.set()
        await asyncio.sleep(1)
        assert made.progress is not None
        assert made.progress.lost, "the API does not answer at the VIP any more"


async def test_the_way_back_from_a_load_balancer_that_fails_is_not_lost_at_once() -> None:
    """The last look at `api-int` was about the load balancer for ten seconds more, and the API was moved back there."""
    made, rest = state("api-int-is-external"), Rest()
    (vip,) = made.options.api_vips
    rest.named, rest.alive = {vip}, {str(vip)}
    watch = asyncio.ensure_future(HealthChecks(made, rest, FakeProcesses(), lambda: None).watch_vip())
    await asyncio.sleep(35)
    assert made.reachable is False
    async with moving(led(made, Phase.SWITCH_DNS, back=True), rest):
        await asyncio.sleep(1)
        assert made.progress == Progress(1, Phase.SWITCH_DNS, ready=True)
        assert made.report().reachable is None, "the VIP was not asked yet"
        await asyncio.sleep(20)
        assert made.reachable is True
        rest.alive = set()
        await asyncio.sleep(40)
        assert made.progress is not None
        assert made.progress.lost, "this is about the VIP"
    watch.cancel()


async def test_the_new_address_is_asked_until_the_drain_ends() -> None:
    made, rest = led(state("api-int-is-external"), Phase.DRAIN_HAPROXY), Rest()
    async with moving(made, rest):
        await asyncio.sleep(1.2)
        assert made.progress == Progress(1, Phase.DRAIN_HAPROXY)
        rest.good = True
        await asyncio.sleep(1)
        assert made.progress == Progress(1, Phase.DRAIN_HAPROXY, ready=True)


async def test_at_rest_nothing_is_asked_and_nothing_reported() -> None:
    made, rest = led(state("api-int-is-external"), Phase.EXTERNAL), Rest()
    async with moving(made, rest):
        await asyncio.sleep(600)
    assert (made.progress, rest.checks, rest.asked, rest.reports) == (None, 0, 0, 0)


@pytest.mark.parametrize("phase", [phase for phase in Phase if phase not in AT_REST])
async def test_a_companion_that_is_killed_in_a_phase_does_its_part_again(phase: Phase) -> None:
    back = phase in (Phase.START_HAPROXY, Phase.VERIFY_VIP, Phase.DRAIN_EXTERNAL)
    rest = Rest()
    rest.good = True
    for _ in range(2):  # nothing but the record is known to the second one
        made = led(state("api-int-is-external"), phase, back=back)
        (vip,) = made.options.api_vips
        rest.named = set(made.known.inputs.spec.api_int_addresses)
        made.running[Service.HAPROXY] = True
        made.verdicts[Service.HAPROXY] = Verdict(healthy=True)
        made.sightings[vip] = Sighting(vip, here=True)
        async with moving(made, rest):
            await asyncio.sleep(10)
        assert made.progress == Progress(1, phase, ready=True)


class Servers:
    """The API at the addresses that answer."""

    def __init__(self, *alive: str) -> None:
        self.alive = set(alive)
        self.asked: list[str] = []

    async def check(self, target: Target, seconds: float) -> Result:
        assert (target.path, target.server_name, seconds) == ("/readyz", "api-int.ostest.example.com", 5.0)
        assert target.ca_file, "never without the cluster's CA"
        self.asked.append(target.host)
        return Result(Answer.GOOD if target.host in self.alive else Answer.DEAD)


class FakeFile:
    def __init__(self, content: bytes | None = None) -> None:
        self.content = content
        self.full = False

    def read(self) -> bytes | None:
        return self.content

    def write(self, content: bytes) -> None:
        if self.full:
            raise PublishFailed("it cannot be written")
        self.content = content


def renewed(made: State) -> State:
    """Return the state with the plan that follows from what is dead, as the companion makes it."""
    made.take(Known(replace(made.known.inputs, dead=made.dead)))
    return made


@asynccontextmanager
async def trying(made: State, servers: Servers, file: FakeFile) -> AsyncIterator[None]:
    trial = ApiIntTrial(made, servers, file)
    trial.prepare()
    task = asyncio.create_task(trial.run())
    try:
        yield
    finally:
        task.cancel()


async def test_dead_for_a_minute_with_a_healthy_vip_it_loses_the_name_and_gets_it_back() -> None:
    made, file = state("api-int-is-external"), FakeFile()
    (vip,), (balancer,) = made.options.api_vips, made.plan.api_int.addresses
    servers = Servers(str(vip))
    async with trying(made, servers, file):
        await asyncio.sleep(59)
        assert renewed(made).plan.mode is Mode.EXTERNAL
        await asyncio.sleep(5)
        assert renewed(made).plan.mode is Mode.SELF_HOSTED
        assert made.plan.api_int.addresses == (vip,)
        assert f"{vip} api-int.ostest.example.com" in made.plan.hosts
        assert Service.HAPROXY in made.plan.texts
        (problem,) = made.plan.problems
        assert problem == (
            f"The external load balancer {balancer} does not answer, and api-int is the API VIP until it does: "
            "see to the load balancer, or remove apiintIpAddress"
        )
        assert made.report().health == "degraded"
        assert dead(file.content) == {balancer}
        servers.alive.add(str(balancer))
        await asyncio.sleep(60)
        assert renewed(made).plan.api_int.addresses == (balancer,)
        assert dead(file.content) == frozenset()
        asked = len(servers.asked)
        await asyncio.sleep(600)
        assert len(servers.asked) == asked, "one that has answered is asked no more"


async def test_a_companion_that_comes_back_goes_on_where_it_was() -> None:
    made, file = state("api-int-is-external"), FakeFile()
    (vip,), (balancer,) = made.options.api_vips, made.plan.api_int.addresses
    async with trying(made, Servers(str(vip)), file):
        await asyncio.sleep(70)
    again = state("api-int-is-external")
    async with trying(again, Servers(str(vip)), file):
        assert renewed(again).plan.api_int.addresses == (vip,)
        await asyncio.sleep(30)
        assert again.dead == {balancer}


async def test_a_companion_that_has_gathered_nothing_yet_keeps_what_an_earlier_one_found() -> None:
    """It took no load balancer for known, and for ten seconds the dead one had the name again."""
    there, file = state("api-int-is-external"), FakeFile()
    (vip,), (balancer,) = there.options.api_vips, there.plan.api_int.addresses
    async with trying(there, Servers(str(vip)), file):
        await asyncio.sleep(70)
    again = State(there.node, there.options)
    async with trying(again, Servers(str(vip)), file):
        await asyncio.sleep(2)
        assert again.dead == {balancer}
        again.take(Known(replace(there.known.inputs, dead=again.dead)))
        assert again.plan.api_int.addresses == (vip,)
        await asyncio.sleep(30)
        assert again.dead == {balancer}


async def test_without_a_vip_that_answers_nothing_changes() -> None:
    made = state("api-int-is-external")
    async with trying(made, Servers(), FakeFile()):
        await asyncio.sleep(600)
        assert renewed(made).plan.mode is Mode.EXTERNAL


async def test_a_cluster_without_an_external_balancer_asks_nothing() -> None:
    made, servers = state("control-plane"), Servers()
    async with trying(made, servers, FakeFile()):
        await asyncio.sleep(600)
    assert servers.asked == []
    assert made.dead == frozenset()


async def test_a_file_that_cannot_be_written_is_named_and_the_name_changes_all_the_same() -> None:
    made, file = state("api-int-is-external"), FakeFile()
    file.full = True
    async with trying(made, Servers(str(made.options.api_vips[0])), file):
        await asyncio.sleep(70)
    assert made.dead
    assert made.failures == {"api-int": "it cannot be written"}


def migrating(made: State, phase: Phase) -> State:
    """Return the state in a phase of a migration from the VIP to the load balancer."""
    inputs = made.known.inputs
    way = Migration(phase, made.options.api_vips, inputs.spec.api_int_addresses, 1)
    made.take(Known(replace(inputs, spec=replace(inputs.spec, migration=way), dead=made.dead)))
    return made


async def test_a_balancer_that_dies_before_the_drain_ends_loses_the_name_and_is_tried_again_later() -> None:
    made, file = state("api-int-is-external"), FakeFile()
    (vip,), (balancer,) = made.options.api_vips, made.plan.api_int.addresses
    servers = Servers(str(vip), str(balancer))
    migrating(made, Phase.DRAIN_HAPROXY)
    async with trying(made, servers, file):
        await asyncio.sleep(30)
        assert not made.dead
        servers.alive = {str(vip)}
        await asyncio.sleep(10)
        assert migrating(made, Phase.DRAIN_HAPROXY).plan.api_int.addresses == (vip,)
        # nodenet-operator takes the migration back, and another one begins after an edit.
        back = replace(made.known.inputs.spec, migration=Migration(Phase.SELF_HOSTED, (vip,), (vip,)))
        made.take(Known(replace(made.known.inputs, spec=back, dead=made.dead)))
        await asyncio.sleep(20)
        assert made.dead == frozenset()
        assert dead(file.content) == frozenset()
        servers.alive = {str(vip), str(balancer)}
        assert migrating(made, Phase.SWITCH_DNS).plan.api_int.addresses == (balancer,)
        await asyncio.sleep(20)
        assert not made.dead


async def test_what_an_earlier_companion_found_is_forgotten_when_the_api_has_moved_meanwhile() -> None:
    """It took the name from the load balancer in the next migration there, which answered, and that was rolled back."""
    made, file = state("api-int-is-external"), FakeFile()
    (vip,), (balancer,) = made.options.api_vips, made.plan.api_int.addresses
    async with trying(made, Servers(str(vip)), file):
        await asyncio.sleep(70)
    assert dead(file.content) == {balancer}
    made = state("api-int-is-external")
    asks = made.known.inputs.spec
    here = replace(asks, api_int_addresses=(), migration=Migration(Phase.SELF_HOSTED, (vip,), (vip,)))
    made.take(Known(replace(made.known.inputs, spec=here)))
    async with trying(made, Servers(str(vip), str(balancer)), file):
        await asyncio.sleep(5)
        assert dead(file.content) == frozenset()
        made.take(Known(replace(made.known.inputs, spec=asks)))
        migrating(made, Phase.SWITCH_DNS)
        for _ in range(60):
            await asyncio.sleep(1)
            assert not made.dead


async def test_at_rest_a_balancer_that_has_answered_keeps_the_name() -> None:
    made = migrating(state("api-int-is-external"), Phase.EXTERNAL)
    (vip,), (balancer,) = made.options.api_vips, made.plan.api_int.addresses
    servers = Servers(str(vip), str(balancer))
    async with trying(made, servers, FakeFile()):
        await asyncio.sleep(30)
        servers.alive = {str(vip)}
        await asyncio.sleep(600)
        assert not made.dead
