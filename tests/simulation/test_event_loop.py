"""Does the event loop of a simulated process let time pass as asyncio's does, and notice what must never be?"""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Coroutine
from random import Random
from typing import Any

import pytest

from simulation.engine import Killed, Violation
from simulation.event_loop import SimulatedLoop
from simulation.life import Life
from simulation.world import World


def world() -> World:
    return World(Random(1))  # noqa: S311  (nothing secret)


def result(there: World, work: Coroutine[Any, Any, Any]) -> Any:
    there.life = Life(there)
    loop = SimulatedLoop(there.timeline, there.life)  # type: ignore[abstract]  # it has what is used
    try:
        return loop.run_until_complete(work)
    finally:
        loop.discard()


def test_timers_events_of_the_world_and_cancelled_sleeps_come_in_order() -> None:
    there, seen = world(), list[str]()
    there.after(1.0, lambda: seen.append("the world"))

    async def sleep(seconds: float) -> None:
        await asyncio.sleep(seconds)
        seen.append(f"after {seconds:g} s")

    async def work() -> float:
        late = asyncio.create_task(sleep(3.0))
        await asyncio.wait([asyncio.create_task(sleep(2.0)), late], return_when=asyncio.FIRST_COMPLETED)
        late.cancel()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5.0):
                await asyncio.Event().wait()
        return asyncio.get_running_loop().time()

    began = there.now
    assert result(there, work()) == pytest.approx(began + 7.0, abs=0.01)
    assert seen == ["the world", "after 2 s"]


def test_a_sleep_that_nothing_ends_is_noticed() -> None:
    with pytest.raises(Violation, match="P10: the daemon sleeps and nothing will ever wake it"):
        result(world(), asyncio.Event().wait())


def test_a_loop_that_never_sleeps_is_noticed() -> None:
    async def work() -> None:
        while True:
            await asyncio.sleep(0)

    with pytest.raises(Violation, match="P4: the loop spins"):
        result(world(), work())


def test_an_error_of_a_callback_is_noticed() -> None:
    async def work() -> None:
        asyncio.get_running_loop().call_soon([].pop)
        await asyncio.sleep(1.0)

    with pytest.raises(Violation, match="P7: an error in a callback of the event loop: IndexError"):
        result(world(), work())


def test_a_process_that_is_killed_does_nothing_more() -> None:
    there, seen = world(), list[str]()
    there.after(1.0, there.kill)

    async def work() -> None:
        try:
            await asyncio.sleep(5.0)
        finally:
            await asyncio.sleep(0)
            seen.append("cleaned up")

    with pytest.raises(Killed):
        result(there, work())
    assert seen == []


def test_work_that_a_killed_process_begins_on_its_way_out_is_no_warning() -> None:
    """As a rollback that nothing awaits any more: a warning would fail whichever test runs then."""
    there, unraisable = world(), list[str]()
    there.after(1.0, there.kill)

    async def rollback() -> None:
        await asyncio.sleep(1.0)

    async def work() -> None:
        try:
            await asyncio.sleep(5.0)
        finally:
            begun = rollback()
            await asyncio.sleep(1.0)
            await begun

    before, sys.unraisablehook = sys.unraisablehook, lambda seen: unraisable.append(str(seen.exc_value))
    try:
        with pytest.raises(Killed):
            result(there, work())
        gc.collect()
    finally:
        sys.unraisablehook = before
    assert unraisable == []
