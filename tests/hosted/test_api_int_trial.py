"""An external load balancer that is dead when the node comes up, on virtual time (K1)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from hosted.rig import state
from nodenet.core.errors import PublishFailed
from nodenet.core.hosted_services.api_int import dead
from nodenet.core.hosted_services.cluster import Known
from nodenet.core.hosted_services.health import Answer, Result, Target
from nodenet.core.hosted_services.migration import Migration, Phase
from nodenet.core.hosted_services.model import Mode, Service
from nodenet.hosted.mover import ApiIntTrial
from nodenet.hosted.state import State


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
