"""The planned leave: the VIPs first, and only as long as another node takes them."""

from __future__ import annotations

import asyncio

from hosted.rig import state
from nodenet.core.hosted_services.model import Service
from nodenet.core.hosted_services.vips import Sighting
from nodenet.hosted.state import State
from nodenet.hosted.vip_keeper import Drain

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
