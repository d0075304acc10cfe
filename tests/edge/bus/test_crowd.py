"""The bus as a crowd: bursts of signals, and neighbours that never read. On a real dbus-daemon of the test's own."""

from __future__ import annotations

import asyncio
from typing import Any

from edge.bus.test_connection import ask_bus, client, running
from edge.private_bus import PrivateBus
from nodenet.edge.bus.connection import DBUS, Bus, Message, Signal, just

BURST = 10_000


async def test_ten_thousand_signals_in_a_burst_are_taken_and_the_loop_goes_on(private_bus: PrivateBus) -> None:
    """A node with thousands of links tells of each; whoever listens is told of the last one too."""
    heard: list[int] = []
    ups: list[bool] = []
    bus = Bus(address=private_bus.address, changed=ups.append)
    bus.subscribe(Signal("org.example.Links", "/a", "org.example", "Burst"), lambda body: heard.append(body[0]))
    async with running(bus), client(private_bus.address) as other:
        assert await bus.wait_up(5)
        await other.request_name("org.example.Links")

        async def send() -> None:
            for number in range(BURST):
                sent = other.send(Message.new_signal("/a", "org.example", "Burst", "u", [number]))
                if number % 50 == 0:
                    await sent

        sending = asyncio.create_task(send())
        answered = 0
        while not heard or heard[-1] != BURST - 1:
            assert await bus.call(*DBUS, "NameHasOwner", "s", ["org.freedesktop.DBus"], seconds=30) == [True]
            answered += 1
            await asyncio.sleep(0.001)
        await sending
        assert heard == list(range(BURST))
        assert answered > 1
        assert ups == [True]


async def test_a_client_that_never_reads_costs_others_nothing(private_bus: PrivateBus) -> None:
    """It asked for all our signals and takes none: the bus holds them for it, we and everybody else go on."""
    ups: list[bool] = []
    bus = Bus(address=private_bus.address, changed=ups.append)
    async with running(bus), client(private_bus.address) as deaf, client(private_bus.address) as other:
        assert await bus.wait_up(5)
        await ask_bus(deaf, "AddMatch", "type='signal',member='Tick'")
        asyncio.get_running_loop().remove_reader(deaf._fd)
        got: asyncio.Queue[Any] = asyncio.Queue()
        other.add_message_handler(lambda m: got.put_nowait(m.body[0]) if m.member == "Tick" else None)
        await ask_bus(other, "AddMatch", "type='signal',member='Tick'")
        for number in range(2000):
            bus.emit(number, just(Message.new_signal("/a", "org.example", "Tick", "us", [number, "x" * 4000])))
            if number % 16 == 0:
                await asyncio.sleep(0.001)
        while await asyncio.wait_for(got.get(), 20) != 1999:
            pass
        assert await bus.call(*DBUS, "NameHasOwner", "s", ["org.freedesktop.DBus"]) == [True]
        assert ups == [True]
