"""What happens to ``api-int`` on three nodes while the API moves: load balancers, nodes, operators and the API fail."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from cluster_operator.fake_api import RESOURCE
from hosted_cluster_world import LB, NAMES, OTHER, VIP, Node, World
from nodenet.cluster_operator.steward import LEASES, NODES
from nodenet.core.hosted_services.migration import Migration, Outcome, Phase
from nodenet.core.ip import IPAddress

BOUND_SECONDS = 90.0
"""How long a node may use an address where the API does not answer, while it does at one that the node knows."""
CALM_SECONDS = 900


@contextlib.asynccontextmanager
async def cluster(*addresses: IPAddress) -> AsyncIterator[World]:
    """A cluster that is at rest at *addresses* (none: its VIP)."""
    world = World()
    world.begin_operator()
    for node in world.nodes.values():
        await node.boot()
    try:
        await at(world, Phase.SELF_HOSTED)
        if addresses:
            world.edit(*addresses)
            await at(world, Phase.EXTERNAL)
            await asyncio.sleep(60)
        yield world
    finally:
        await world.end_operators()
        for node in world.nodes.values():
            await node.cut()


async def at(world: World, phase: Phase, seconds: float = CALM_SECONDS) -> Migration:
    """Return the record in a phase."""
    async with asyncio.timeout(seconds):
        while (found := world.record) is None or found.phase is not phase:
            await asyncio.sleep(0.2)
    return found


async def lead_to(world: World, *addresses: IPAddress, seconds: float = 120) -> None:
    """Return when ``api-int`` has *addresses* on every node."""
    async with asyncio.timeout(seconds):
        while any(node.dns != addresses for node in world.nodes.values()):
            await asyncio.sleep(0.2)


@pytest.mark.parametrize("silent", [False, True])
async def test_a_vip_that_dies_before_the_drain_ends_gives_the_api_back_to_the_load_balancer(silent: bool) -> None:  # noqa: FBT001
    """Nodes went back to the VIP alone: with a dead one they neither reported that nor read that it was taken back."""
    async with cluster(LB) as world:
        world.edit()
        await at(world, Phase.DRAIN_EXTERNAL)
        await lead_to(world, VIP)
        world.dead, world.silent = {VIP}, {VIP} if silent else set()
        await lead_to(world, LB, seconds=60)
        found = await at(world, Phase.EXTERNAL, 60)
        assert (found.target, found.outcome) == ((LB,), Outcome.ROLLED_BACK)
        assert "the API does not answer at 192.0.2.2 any more" in found.message
        await asyncio.sleep(600)
        assert {node.dns for node in world.nodes.values()} == {(LB,)}


async def test_another_load_balancer_that_dies_gives_the_api_back_to_that_of_before_also_without_a_vip() -> None:
    async with cluster(LB) as world:
        world.dead = {VIP}
        world.edit(OTHER)
        await at(world, Phase.DRAIN_EXTERNAL)
        await lead_to(world, OTHER)
        world.dead = {VIP, OTHER}
        await lead_to(world, LB, seconds=60)
        found = await at(world, Phase.EXTERNAL, 60)
        assert (found.target, found.outcome) == ((LB,), Outcome.ROLLED_BACK)


@pytest.mark.parametrize("phase", [Phase.SWITCH_DNS, Phase.DRAIN_EXTERNAL])
async def test_a_migration_that_is_aborted_while_the_vip_dies_ends_at_the_load_balancer(phase: Phase) -> None:
    """A verified migration leads back. At a VIP that does not answer, no node can read its record."""
    async with cluster(LB) as world:
        world.edit()
        await at(world, phase)
        await lead_to(world, VIP)
        world.dead = world.silent = {VIP}
        await asyncio.sleep(1)
        world.edit(LB)
        await at(world, Phase.VERIFY, 5)
        found = await at(world, Phase.EXTERNAL, 180)
        assert (found.target, found.outcome) == ((LB,), Outcome.COMPLETED)
        await lead_to(world, LB)


@pytest.mark.parametrize("asked", [(), (OTHER,)])
async def test_an_edit_leads_out_of_a_load_balancer_that_died_at_rest(asked: tuple[IPAddress, ...]) -> None:
    """No kubelet could renew its Lease, so no node took part in the migration, and each needed steps by hand."""
    async with cluster(LB) as world:
        world.dead = world.silent = {LB}
        await asyncio.sleep(600)
        assert {node.dns for node in world.nodes.values()} == {(LB,)}, "at rest it keeps the name"
        world.edit(*asked)
        await at(world, Phase.VERIFY if asked else Phase.START_HAPROXY, 5)
        found = await at(world, Phase.EXTERNAL if asked else Phase.SELF_HOSTED, 180)
        assert (found.target, found.outcome) == (asked or (VIP,), Outcome.COMPLETED)
        await lead_to(world, *found.target)


class Story:
    """A sequence of events that *seed* gives, and what may never be seen in it."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.random = random.Random(seed)  # noqa: S311
        self.history: list[str] = []
        self.kept: dict[str, Any] = {}
        self.since: dict[str, float] = {}

    def happening(self) -> tuple[str, Callable[[], Any]]:
        """Return what happens next: a name, and what makes it happen."""
        world, choice = self.world, self.random.choice
        node, address = world.nodes[choice(NAMES)], choice((VIP, LB, OTHER))
        asked: tuple[IPAddress, ...] = choice(((), (LB,), (OTHER,), (VIP,)))
        found: list[tuple[str, Callable[[], Any]]] = [
            *[(f"edit {asked}", lambda: world.edit(*asked))] * 8,
            *[("all is well", self.mended)] * 6,
            (f"{address} dies", lambda: world.fail(address, silent=False)),
            (f"{address} is silent", lambda: world.fail(address, silent=True)),
            ("all load balancers answer", world.dead.clear),
            ("the API goes", world.leave),
            (f"{node.name} is cut", node.cut),
            (f"{node.name} is on", lambda: boot(node)),
            (f"{node.name} has no companion", node.kill),
            ("the site is cut", lambda: site_cut(world)),
            ("the site is on", lambda: all_on(world)),
            ("operators die", world.end_operators),
            ("an operator comes", lambda: world.begin_operator() if len(world.operators) < 2 else None),
            ("another clock", lambda: setattr(world, "skew", choice((-3600.0, 0.0, 3600.0)))),
            ("another pace", lambda: setattr(world.api, "seconds", choice((0.01, 3.0, 9.0)))),
            ("a backup", lambda: self.kept.update(world.backup())),
            ("the backup comes back", lambda: world.restore(self.kept) if self.kept else None),
            ("the watches break", world.api.break_watches),
            (f"{node.name} is replaced", lambda: replaced(world, node)),
            ("the object is removed", lambda: world.api.remove(RESOURCE) if RESOURCE in world.api.objects else None),
        ]
        return choice(found)

    async def run(self, events: int) -> None:
        watch = asyncio.ensure_future(self.watch())
        try:
            for _ in range(events):
                name, happens = self.happening()
                gone = self.world.api.away or RESOURCE not in self.world.api.objects
                if gone and name.startswith(("edit", "a backup", "the backup", "the object")):
                    continue
                now = asyncio.get_running_loop().time()
                self.history.append(f"{now:.0f} {name}; before: {self.world.record and self.world.record.phase}")
                found = happens()
                if asyncio.iscoroutine(found):
                    await found
                await asyncio.sleep(self.random.choice((0.5, 2, 5, 10, 20, 60)))
                if watch.done():
                    break
            if not watch.done():
                await self.calm()
        finally:
            watch.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watch

    async def calm(self) -> None:
        """Everything works again: it ends where the object asks for, or says why it does not."""
        world = self.world
        await self.mended()
        await asyncio.sleep(CALM_SECONDS)
        found = world.record
        assert found is not None, self.history
        assert found.at_rest, self.history
        asked = world.api.objects[RESOURCE]["spec"].get("apiintIpAddresses", [str(VIP)])
        failed = found.failed == world.api.objects[RESOURCE]["metadata"]["generation"]
        assert failed or list(map(str, found.target)) == asked, (found, self.history)
        assert failed is (world.api.states["VerifyFailed"] == "True")
        for node in world.nodes.values():
            assert node.dns == found.target, (node.name, node.dns, found, self.history)

    async def mended(self) -> None:
        """Let everything work again."""
        self.world.dead.clear()
        self.world.api.away, self.world.api.seconds = False, 0.01
        await all_on(self.world)

    async def watch(self) -> None:
        """No node is longer than the bound at an address where the API does not answer, if it knows a better one."""
        while True:
            await asyncio.sleep(3)
            now = asyncio.get_running_loop().time()
            for name, node in self.world.nodes.items():
                if not node.has_companion or not is_led_astray(self.world, node):
                    self.since.pop(name, None)
                    continue
                since = self.since.setdefault(name, now)
                record = node.state.known.inputs.spec.migration
                assert now - since < BOUND_SECONDS, (name, node.dns, record, self.world.dead, self.history)


def is_led_astray(world: World, node: Node) -> bool:
    """Return whether the API does not answer where ``api-int`` leads on a node, and does at another known address."""
    record = node.state.known.inputs.spec.migration
    if record is None or not node.dns:
        return False
    (address,) = node.dns
    if world.answers(address):
        node.answered.add(address)
        return False
    if record.at_rest and address in node.answered:  # it keeps the name until the object is edited
        return False
    asked = node.state.known.inputs.spec.api_int_addresses
    known = {VIP, *asked, *(record.origin if record.switched else ()), *(() if record.at_rest else record.target)}
    return any(map(world.answers, known - {address}))


async def boot(node: Node) -> None:
    if not node.is_up:
        await node.boot()


async def all_on(world: World) -> None:
    for node in world.nodes.values():
        await boot(node)
        if not node.has_companion:
            node.begin()
    if not world.operators:
        world.begin_operator()


async def site_cut(world: World) -> None:
    await world.end_operators()
    for node in world.nodes.values():
        await node.cut()


async def replaced(world: World, node: Node) -> None:
    """Another machine gets the name of a node."""
    if world.api.away:
        return
    await node.cut()
    for place in (f"{NODES}/{node.name}", f"{LEASES}/{node.name}"):
        if place in world.api.objects:
            world.api.remove(place)
    world.api.node(node.name)
    node.caches.caches.clear()
    await node.boot()


@pytest.mark.parametrize("seed", range(6))
async def test_whatever_happens_no_node_stays_at_a_dead_address_and_it_ends_at_rest(seed: int) -> None:
    async with cluster() as world:
        await Story(world, seed).run(40)
