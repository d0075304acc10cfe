"""org.nodenet1.Hosted on a bus of the test's own, and the orders of `nodenetctl hosted`."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from cli.test_ask import printed
from core.hosted_services.test_report import GOOD, PLAN
from edge import bus_calls
from edge.bus.test_connection import client
from edge.private_bus import PrivateBus, private_bus
from nodenet.core.hosted_services import units as bus
from nodenet.core.hosted_services.report import document
from nodenet.core.hosted_services.vips import Sighting
from nodenet.edge.bus.connection import PROPERTIES, Bus, Message, MessageType
from nodenet.hosted.process import BusObject

__all__ = ["private_bus"]


class Companion:
    """Knows one document, and drains when it is asked to."""

    def __init__(self) -> None:
        self.known = document(GOOD)
        self.drains: list[bool] = []
        self.successor = True

    async def drain(self) -> bool:
        self.drains.append(True)
        return self.successor

    def undrain(self) -> None:
        self.drains.append(False)


@contextlib.asynccontextmanager
async def serving(private_bus: PrivateBus, companion: Companion) -> AsyncIterator[BusObject]:
    connection = Bus(address=private_bus.address, changed=lambda _: None)
    made = BusObject(connection, lambda: companion.known, companion.drain, companion.undrain)
    task = asyncio.create_task(connection.run())
    try:
        assert await connection.wait_up(5)
        yield made
    finally:
        task.cancel()
        await asyncio.wait({task})


call = partial(bus_calls.call, bus.HOSTED.name, bus.PATH)


async def hosted(private_bus: PrivateBus, *words: str) -> tuple[int | None, str, str]:
    return await printed(private_bus.address, "hosted", *words)


async def test_questions_are_answered(private_bus: PrivateBus) -> None:
    companion = Companion()
    async with serving(private_bus, companion), client(private_bus.address) as other:
        everything = (await call(other, "GetAll", bus.HOSTED.name, interface=PROPERTIES)).body[0]
        assert {name: value.value for name, value in everything.items()} == bus.values(companion.known)
        assert json.loads((await call(other, "GetStatus")).body[0]) == companion.known
        assert (await call(other, "Explain", "api-int")).body[0].startswith("api-int is 192.0.2.2\n")


@pytest.mark.parametrize(("member", "body"), [("Explain", ("weather",)), ("Explain", ()), ("GetStatus", ("x",))])
async def test_other_arguments_are_refused(private_bus: PrivateBus, member: str, body: tuple[str, ...]) -> None:
    async with serving(private_bus, Companion()), client(private_bus.address) as other:
        assert (await call(other, member, *body)).message_type is MessageType.ERROR


async def test_a_vip_that_moves_is_a_signal_and_a_changed_property(private_bus: PrivateBus) -> None:
    heard: asyncio.Queue[tuple[str, list[Any]]] = asyncio.Queue()

    def hear(message: Message) -> None:
        if message.message_type is MessageType.SIGNAL and message.path == bus.PATH:
            heard.put_nowait((message.member, message.body))

    vip = PLAN.vips[0].address
    moved = document(replace(GOOD, sightings={**GOOD.sightings, vip: Sighting(vip, here=True)}))
    companion = Companion()
    async with serving(private_bus, companion) as served, client(private_bus.address) as other:
        other.add_message_handler(hear)
        rule = Message(
            destination="org.freedesktop.DBus",
            path="/org/freedesktop/DBus",
            interface="org.freedesktop.DBus",
            member="AddMatch",
            signature="s",
            body=[f"type='signal',sender='{bus.HOSTED.name}'"],
        )
        await other.call(rule)
        for shown in (companion.known, companion.known, moved):
            served.show(shown)
        async with asyncio.timeout(10):
            got = dict([await heard.get() for _ in range(2)])
    assert got["VipChanged"] == [str(vip), True, ["master-0"]]
    assert set(got["PropertiesChanged"][1]) == {"Vips"}


async def test_a_node_is_drained_and_takes_part_again(private_bus: PrivateBus) -> None:
    companion = Companion()
    async with serving(private_bus, companion):
        assert await hosted(private_bus, "drain") == (0, "This node is drained: other nodes hold its VIPs.\n", "")
        companion.successor = False
        alone = "nodenetctl: this node is drained, and no other node took its VIPs. See `nodenetctl hosted`\n"
        assert await hosted(private_bus, "drain") == (1, "", alone)
        assert await hosted(private_bus, "undrain") == (0, "This node takes part again.\n", "")
    assert companion.drains == [True, True, False]
