"""The host name over the kernel and hostnamed, from a stand-in on a real bus."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from edge.bus.test_connection import client, quiet, running
from edge.private_bus import PrivateBus
from nodenet.edge.bus.connection import PROPERTIES, Message, Variant
from nodenet.edge.hostname import HOSTNAMED, HOSTNAMED_PATH, Hostnamed


@dataclass
class StandIn:
    """hostnamed with a static name; *refuses* is why it sets none."""

    static: str = ""
    refuses: str = ""
    calls: list[list[Any]] = field(default_factory=list)

    def answer(self, message: Message) -> Message | None:
        if message.member == "Get" and message.body == [HOSTNAMED, "StaticHostname"]:
            return Message.new_method_return(message, "v", [Variant("s", self.static)])
        if message.member in ("SetStaticHostname", "SetHostname"):
            self.calls.append(message.body)
            if self.refuses:
                return Message.new_error(message, "org.freedesktop.DBus.Error.FileNotFound", self.refuses)
            return Message.new_method_return(message)
        return None


@contextlib.asynccontextmanager
async def hostnamed(private_bus: PrivateBus, service: StandIn | None) -> AsyncIterator[tuple[Hostnamed, Any]]:
    bus = quiet(private_bus.address)
    changes: asyncio.Queue[None] = asyncio.Queue()
    made = Hostnamed(bus, lambda: changes.put_nowait(None))
    async with client(private_bus.address) as other, running(bus):
        if service:
            other.add_message_handler(service.answer)
            await other.request_name(HOSTNAMED)
        assert await bus.wait_up(5)
        yield made, (other, changes)


@pytest.mark.parametrize(
    ("static", "calls"),
    [
        ("", [["worker-0", False]]),
        ("localhost", [["", False], ["worker-0", False]]),
    ],
)
async def test_a_name_is_taken_for_this_boot(private_bus: PrivateBus, static: str, calls: list[list[Any]]) -> None:
    """A static localhost is removed: with it hostnamed takes no other name; no user is asked for a password."""
    service = StandIn(static)
    async with hostnamed(private_bus, service) as (made, _):
        assert await made.take("worker-0") is None
    assert service.calls == calls


async def test_why_a_name_was_not_taken(private_bus: PrivateBus) -> None:
    """Its refusal, and its absence."""
    async with hostnamed(private_bus, StandIn(refuses="/etc is read-only")) as (made, _):
        assert "/etc is read-only" in str(await made.take("worker-0"))
    async with hostnamed(private_bus, None) as (made, _):
        assert HOSTNAMED in str(await made.take("worker-0"))


async def test_its_signal_wakes_and_the_name_is_the_kernels(private_bus: PrivateBus) -> None:
    async with hostnamed(private_bus, StandIn()) as (made, (other, changes)):
        assert made.name() == socket.gethostname()
        body = [HOSTNAMED, {"Hostname": Variant("s", "worker-0")}, []]
        await other.send(Message.new_signal(HOSTNAMED_PATH, PROPERTIES, "PropertiesChanged", "sa{sv}as", body))
        await asyncio.wait_for(changes.get(), 5)
