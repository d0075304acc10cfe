"""Who answers DNS on this node, and what does systemd-resolved know?"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any

import pytest

from edge.bus.test_connection import client, quiet, running
from edge.crossing_bus import CrossingBus
from edge.private_bus import PrivateBus
from nodenet.core.errors import PublishFailed
from nodenet.edge.bus.connection import Message
from nodenet.edge.resolver import NAME, UNIT, NameServers, Resolved
from nodenet.edge.systemd.manager_object import MANAGER, PATH
from nodenet.edge.systemd.manager_object import NAME as SYSTEMD

LOOPBACK, OTHER = ip_address("127.0.0.1"), ip_address("127.0.0.9")
NO_ROUTE = ip_address("2001:db8::53")
REST = b"\x81\x80" + bytes(8)


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.bind((str(LOOPBACK), 0))
        made.settimeout(5)
        yield made


def test_an_answer_waits_until_it_is_looked_for(server: socket.socket) -> None:
    """Of each server, whether or not another one has a port or a route."""
    servers = NameServers(server.getsockname()[1])
    servers.ask([LOOPBACK, OTHER, NO_ROUTE])
    question, sender = server.recvfrom(512)
    server.sendto(b"no answer", sender)
    server.sendto(question[:2] + REST, sender)
    assert servers.answered() == {LOOPBACK}
    assert servers.answered() == frozenset(), "an answer counts once"


def test_an_answer_to_an_earlier_question_is_lost(server: socket.socket) -> None:
    servers = NameServers(server.getsockname()[1])
    servers.ask([LOOPBACK])
    question, sender = server.recvfrom(512)
    servers.ask([LOOPBACK])
    server.sendto(question[:2] + REST, sender)
    assert servers.answered() == frozenset()


def test_a_server_that_no_socket_can_be_made_for_does_not_answer() -> None:
    """As for an IPv6 one on a kernel with `ipv6.disable=1`: it must not end the watch of the uplink."""
    servers, (soft, hard) = NameServers(), resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        servers.ask([LOOPBACK])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert servers.answered() == frozenset()


def test_no_socket_is_left_open(server: socket.socket) -> None:
    servers = NameServers(server.getsockname()[1])
    servers.ask([LOOPBACK, OTHER])
    servers.close()
    assert servers.answered() == frozenset()


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
