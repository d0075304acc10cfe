"""nodenetd is woken when nodenet-hosted learns that a service is switched, and by no other change."""

from __future__ import annotations

import asyncio

from edge.bus.test_connection import client, quiet, running
from edge.private_bus import PrivateBus
from nodenet.core.hosted_services.model import COMPANION_NAME
from nodenet.core.hosted_services.units import PATH
from nodenet.edge.bus.connection import PROPERTIES, Message, Variant
from nodenet.edge.hosted_services.units import on_switch


def properties(**changed: Variant) -> Message:
    return Message.new_signal(PATH, PROPERTIES, "PropertiesChanged", "sa{sv}as", [COMPANION_NAME, changed, []])


async def test_a_switch_is_heard_and_another_property_is_not(private_bus: PrivateBus) -> None:
    heard: list[None] = []
    bus = quiet(private_bus.address)
    on_switch(bus, lambda: heard.append(None))
    async with client(private_bus.address) as companion, running(bus):
        assert await bus.wait_up(5)
        await companion.request_name(COMPANION_NAME)
        async with asyncio.timeout(10):
            while not heard:  # until the bus knows whose signals are wanted
                await companion.send(properties(Health=Variant("s", "ok")))
                await companion.send(properties(SwitchedOff=Variant("as", ["spec.ingressHa"])))
                await asyncio.sleep(0.05)
        await asyncio.sleep(0.2)
        before = len(heard)
        for health in ("degraded", "ok"):
            await companion.send(properties(Health=Variant("s", health)))
        await companion.send(properties(SwitchedOff=Variant("as", [])))
        async with asyncio.timeout(10):
            while len(heard) == before:
                await asyncio.sleep(0.02)
        assert len(heard) == before + 1
