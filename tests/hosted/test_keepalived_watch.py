"""A keepalived that holds a VIP and does nothing is restarted, and one that has nothing to do is left alone."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from hosted.rig import FakeAddresses, state
from nodenet.core.hosted_services.model import Service
from nodenet.hosted.state import State
from nodenet.hosted.vip_keeper import KeepalivedWatch


class FakeProcesses:
    """Processes that have begun to run *count* times; while they *live*, more often at each look."""

    def __init__(self) -> None:
        self.count, self.lives = 100, True

    def now(self) -> Mapping[int, str]:
        return {7: "keepalived"} if self.count else {}

    def switches(self) -> int:
        self.count += 4 if self.lives else 0
        return self.count


async def watched(processes: FakeProcesses, *, holds: bool, seconds: float) -> State:
    made, addresses = state(), FakeAddresses()
    addresses.here = {made.plan.vips[0].address} if holds else set()
    task = asyncio.create_task(KeepalivedWatch(made, processes, addresses).run())
    await asyncio.sleep(seconds)
    task.cancel()
    return made


async def test_a_holder_that_does_nothing_is_restarted() -> None:
    """Its peers elect another holder, and two nodes answered for the VIP for as long as it hung."""
    processes = FakeProcesses()
    assert (await watched(processes, holds=True, seconds=30)).hung == set()
    processes.lives = False
    assert (await watched(processes, holds=True, seconds=2.5)).hung == set(), "a busy machine"
    assert (await watched(processes, holds=True, seconds=5)).hung == {Service.KEEPALIVED}


async def test_a_keepalived_without_a_vip_may_rest() -> None:
    processes = FakeProcesses()
    processes.lives = False
    assert (await watched(processes, holds=False, seconds=30)).hung == set()
    processes.count = 0
    assert (await watched(processes, holds=True, seconds=30)).hung == set(), "one that has ended is systemd's"
