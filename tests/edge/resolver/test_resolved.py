"""systemd-resolved and the systemd that reloads it, against stand-ins on a real bus."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from edge.bus.test_connection import client, quiet, running
from edge.crossing_bus import CrossingBus
from edge.private_bus import PrivateBus
from nodenet.core.errors import PublishFailed
from nodenet.edge.bus.connection import Message
from nodenet.edge.resolver import NAME, UNIT, Resolved
from nodenet.edge.systemd.manager_object import MANAGER, PATH
from nodenet.edge.systemd.manager_object import NAME as SYSTEMD

JOB = "/org/freedesktop/systemd1/job/7"


@dataclass
class StandIn:
    """systemd's manager: every job ends with *result*, before its caller is told its name."""

    connection: Any
    result: str = "done"
    subscribed: int = 0
    jobs: list[list[str]] = field(default_factory=list)

    def answer(self, message: Message) -> Message | None:
        if message.member == "Subscribe":
            self.subscribed += 1
            if self.subscribed > 1:
                return Message.new_error(message, f"{SYSTEMD}.AlreadySubscribed", "twice")
            return Message.new_method_return(message)
        if message.member == "ReloadOrTryRestartUnit":
            self.jobs.append(message.body)
            self.ended(JOB.replace("7", "6"), "other.service")
            self.ended(JOB, UNIT)
            return Message.new_method_return(message, "o", [JOB])
        return None

    def ended(self, job: str, unit: str) -> None:
        body = [7, job, unit, self.result]
        self.connection.send(Message.new_signal(PATH, MANAGER, "JobRemoved", "uoss", body))


@contextlib.asynccontextmanager
async def resolved(
    private_bus: PrivateBus, changed: Callable[[], None] = lambda: None
) -> AsyncIterator[tuple[Resolved, Any]]:
    bus = quiet(private_bus.address)
    made = Resolved(bus, changed)
    async with client(private_bus.address) as other, running(bus):
        assert await bus.wait_up(5)
        yield made, other


async def test_it_runs_while_somebody_owns_its_name(private_bus: PrivateBus) -> None:
    """Coming and going are events; another service's are not."""
    woken = asyncio.Event()
    async with resolved(private_bus, woken.set) as (made, other):
        assert not await made.runs()
        await other.request_name("org.example.Other")
        assert not await made.runs()
        await other.request_name(NAME)
        await asyncio.wait_for(woken.wait(), 5)
        assert await made.runs()
        woken.clear()
        await other.release_name(NAME)
        await asyncio.wait_for(woken.wait(), 5)
        assert not await made.runs()


async def test_an_answer_that_a_start_follows_is_not_kept() -> None:
    """Both are read from the bus at once, and the start is handled first."""
    bus = CrossingBus([False, True])
    made = Resolved(bus, lambda: None)
    await made.runs()
    bus.crosses = False
    assert await made.runs()
    assert await made.runs()


async def test_a_reload_is_over_when_its_job_is(private_bus: PrivateBus) -> None:
    """Though the job's end may be told before its name; a second one works as well."""
    async with resolved(private_bus) as (made, other):
        service = StandIn(other)
        other.add_message_handler(service.answer)
        await other.request_name(SYSTEMD)
        await made.reload()
        await made.reload()
        assert service.jobs == [[UNIT, "replace"]] * 2


async def test_a_job_that_fails_is_told_with_the_remedy(private_bus: PrivateBus) -> None:
    """And so is a bus without systemd."""
    async with resolved(private_bus) as (made, other):
        with pytest.raises(PublishFailed, match="not on the bus"):
            await made.reload()
        service = StandIn(other, "failed")
        other.add_message_handler(service.answer)
        await other.request_name(SYSTEMD)
        with pytest.raises(PublishFailed, match="failed") as caught:
            await made.reload()
        assert UNIT in caught.value.remedy
