from __future__ import annotations

import asyncio
import itertools

from cni.service.rig import until
from nodenet.cni.upkeep import AT_ONCE, Chores
from nodenet.core.persistent_ips.model import ApiAway


async def test_a_chore_is_done_when_it_is_due_and_once() -> None:
    chores, done, loop = Chores(), [], asyncio.get_running_loop()
    began = loop.time()

    async def work() -> None:
        done.append(loop.time() - began)

    running = asyncio.ensure_future(chores.run())
    for seconds in (50.0, 10.0, 30.0):
        chores.add(("one",), work, seconds)
    await asyncio.sleep(100)
    assert [round(one) for one in done] == [10]
    assert chores.rested
    running.cancel()


async def test_a_chore_that_fails_is_done_again_later_and_later() -> None:
    chores, begun, loop = Chores(), [], asyncio.get_running_loop()

    async def work() -> None:
        begun.append(loop.time())
        if len(begun) < 5:
            raise ApiAway("away") if len(begun) % 2 else ValueError("a mistake")

    running = asyncio.ensure_future(chores.run())
    chores.add(("one",), work)
    await until(lambda: len(begun) == 5, 100)
    pauses = [round(b - a, 1) for a, b in itertools.pairwise(begun)]
    assert pauses == [0.5, 1.0, 2.0, 4.0]
    await asyncio.sleep(100)
    assert len(begun) == 5
    running.cancel()


async def test_what_failed_is_done_at_once_when_the_reason_has_passed() -> None:
    chores, begun = Chores(), []

    async def work() -> None:
        begun.append(1)
        raise ApiAway("away")

    running = asyncio.ensure_future(chores.run())
    chores.add(("one",), work)
    await until(lambda: len(begun) == 6, 100)
    chores.hurry()
    await asyncio.sleep(0.01)
    assert len(begun) == 7
    running.cancel()


async def test_only_some_are_done_at_once() -> None:
    chores = Chores()
    working = most = 0

    async def work() -> None:
        nonlocal working, most
        working += 1
        most = max(most, working)
        await asyncio.sleep(1)
        working -= 1

    running = asyncio.ensure_future(chores.run())
    for number in range(5 * AT_ONCE):
        chores.add(("one", str(number)), work)
    await asyncio.sleep(0.5)
    assert not chores.rested
    await asyncio.sleep(10)
    assert (most, chores.rested) == (AT_ONCE, True)
    running.cancel()
