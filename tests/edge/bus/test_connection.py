"""The bus as a hazard: late, stalled, killed, crowded. On a real dbus-daemon of the test's own."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from functools import partial
from typing import Any, cast

import pytest
from dbus_next.aio.message_bus import MessageBus

from edge.private_bus import PrivateBus
from nodenet.core.errors import Unavailable
from nodenet.edge.bus import service
from nodenet.edge.bus.connection import CALL_SECONDS, DBUS, Bus, Message, Refused, Signal, just


@contextlib.asynccontextmanager
async def running(bus: Bus) -> AsyncIterator[Bus]:
    task = asyncio.create_task(bus.run())
    try:
        yield bus
    finally:
        task.cancel()
        await asyncio.wait({task})


@contextlib.asynccontextmanager
async def client(address: str, *, negotiate_unix_fd: bool = False) -> AsyncIterator[Any]:
    other = await MessageBus(address, negotiate_unix_fd=negotiate_unix_fd).connect()
    try:
        yield other
    finally:
        other.disconnect()
        other._sock.close()
        other._disconnect_future.cancel()  # or asyncio complains of the error, in the middle of some other test


async def ask_bus(connection: Any, member: str, argument: str) -> Any:
    destination, path, interface = DBUS
    return await connection.call(
        Message(destination=destination, path=path, interface=interface, member=member, signature="s", body=[argument])
    )


def quiet(address: str) -> Bus:
    return Bus(address=address, changed=lambda _: None)


async def test_a_call_returns_the_reply(private_bus: PrivateBus) -> None:
    """The plain way."""
    async with running(quiet(private_bus.address)) as bus:
        assert await bus.wait_up(5)
        assert await bus.call(*DBUS, "NameHasOwner", "s", ["org.freedesktop.DBus"]) == [True]


async def test_an_absent_service_is_unavailable_and_an_error_is_refused(private_bus: PrivateBus) -> None:
    """Callers can tell "not there yet" from "no"."""
    async with running(quiet(private_bus.address)) as bus:
        assert await bus.wait_up(5)
        with pytest.raises(Unavailable, match=r"org\.example\.Nobody"):
            await bus.call("org.example.Nobody", "/", "org.example.Nobody", "Do")
        with pytest.raises(Refused, match="UnknownMethod"):
            await bus.call(*DBUS, "NoSuchMethod")


async def test_without_a_bus_a_call_fails_at_once_and_the_bus_is_found_when_it_comes(private_bus: PrivateBus) -> None:
    """A boot goes on without a bus, and takes it when it is there."""
    private_bus.kill()
    seen: list[bool] = []
    async with running(Bus(address=private_bus.address, changed=seen.append)) as bus:
        assert not await bus.wait_up(0.2)
        with pytest.raises(Unavailable):
            await bus.call(*DBUS, "GetId")
        private_bus.start()
        assert await bus.wait_up(10)
        assert seen == [True]


async def test_a_killed_bus_is_reconnected_with_its_name_and_its_signals(private_bus: PrivateBus) -> None:
    """Nothing that was subscribed or owned is lost."""
    heard: asyncio.Queue[Any] = asyncio.Queue()
    bus = quiet(private_bus.address)
    bus.serve("org.nodenet1", lambda _: None)
    bus.subscribe(Signal("org.example.Other", "/a", "org.example", "Ping"), heard.put_nowait)
    async with running(bus):
        assert await bus.wait_up(5)
        private_bus.kill()
        while bus.connected:
            await asyncio.sleep(0.01)
        private_bus.start()
        assert await bus.wait_up(10)
        async with client(private_bus.address) as other:
            await other.request_name("org.example.Other")
            await other.send(Message.new_signal("/a", "org.example", "Ping", "s", ["again"]))
            assert await asyncio.wait_for(heard.get(), 5) == ["again"]
            reply = await ask_bus(other, "NameHasOwner", "org.nodenet1")
            assert reply.body == [True]


async def test_a_call_on_a_stalled_bus_ends_at_its_deadline(private_bus: PrivateBus) -> None:
    """Nothing hangs with the bus."""
    async with running(quiet(private_bus.address)) as bus:
        assert await bus.wait_up(5)
        private_bus.stall()
        try:
            with pytest.raises(Unavailable, match="no answer"):
                await bus.call(*DBUS, "GetId", seconds=0.3)
        finally:
            private_bus.resume()


SHORT_SECONDS = 2.0


class Impatient(Bus):
    """A bus whose calls end sooner, so that a test of its silence does."""

    async def call(self, *words: Any, seconds: float = SHORT_SECONDS) -> list[Any]:
        return await super().call(*words, seconds=seconds)


@contextlib.asynccontextmanager
async def watched(address: str) -> AsyncIterator[tuple[Bus, asyncio.Queue[bool]]]:
    """Give a bus that is up, and what is told of its answers."""
    told: asyncio.Queue[bool] = asyncio.Queue()
    async with running(Impatient(address=address, changed=lambda _: None)) as bus:
        assert await bus.wait_up(5)
        watching = asyncio.create_task(service.watch(bus, told.put_nowait, look=0.05, again=0.05))
        try:
            yield bus, told
        finally:
            watching.cancel()


async def test_a_stalled_bus_is_told_once_and_when_it_answers_again(private_bus: PrivateBus) -> None:
    """Its connection stands, and without a question its silence would look like peace; looking is all it takes."""
    async with watched(private_bus.address) as (_, told):
        await asyncio.sleep(0.3)
        assert told.empty()
        private_bus.stall()
        try:
            assert await asyncio.wait_for(told.get(), CALL_SECONDS * 3) is False
            await asyncio.sleep(0.3)
        finally:
            private_bus.resume()
        assert await asyncio.wait_for(told.get(), CALL_SECONDS * 3) is True
        await asyncio.sleep(0.3)
        assert told.empty()


async def test_a_bus_that_is_killed_is_not_told_as_one_that_is_silent(private_bus: PrivateBus) -> None:
    """The end of the connection is told, and once is enough; what was asked just before is never answered."""
    async with watched(private_bus.address) as (bus, told):
        private_bus.stall()
        await asyncio.sleep(0.2)  # a question is under way
        private_bus.kill()
        while bus.connected:
            await asyncio.sleep(0.01)
        private_bus.start()
        assert await bus.wait_up(10)
        await asyncio.sleep(SHORT_SECONDS + 0.5)
        assert told.empty()


async def test_a_storm_of_signals_on_a_stalled_bus_keeps_the_connection(private_bus: PrivateBus) -> None:
    """dbus-next drops it at about a hundred queued messages; the outbox is bounded, the last one arrives."""
    lost: list[bool] = []
    async with running(Bus(address=private_bus.address, changed=lost.append)) as bus:
        assert await bus.wait_up(5)
        async with client(private_bus.address) as listener:
            got: asyncio.Queue[int] = asyncio.Queue()
            listener.add_message_handler(lambda m: got.put_nowait(m.body[0]) if m.member == "Tick" else None)
            await ask_bus(listener, "AddMatch", "type='signal',member='Tick'")
            private_bus.stall()
            for number in range(3000):
                message = Message.new_signal("/a", "org.example", "Tick", "us", [number, "x" * 1000])
                bus.emit(number, just(message))
                if number % 100 == 0:
                    await asyncio.sleep(0)
            private_bus.resume()
            while await asyncio.wait_for(got.get(), 20) != 2999:
                pass
        assert lost == [True]


async def test_a_later_emission_with_the_same_key_replaces_the_earlier(private_bus: PrivateBus) -> None:
    """State is told once, as it is when it is sent."""
    bus = quiet(private_bus.address)
    made: list[int] = []
    for number in range(10):
        bus.emit("state", partial(made.append, number))
    async with running(bus):
        assert await bus.wait_up(5)
        while not made:
            await asyncio.sleep(0.01)
    assert made == [9]


async def test_a_name_that_somebody_else_owns_does_not_cost_the_bus(private_bus: PrivateBus) -> None:
    """We can still call others, and take the name when it becomes free."""
    seen: list[bool] = []
    bus = Bus(address=private_bus.address, changed=seen.append)
    bus.serve("org.nodenet1", lambda _: None)
    async with client(private_bus.address) as other:
        await other.request_name("org.nodenet1")
        async with running(bus):
            assert await bus.wait_up(5)
            assert not bus.owns_name
            (owner,) = await bus.call(*DBUS, "GetNameOwner", "s", ["org.nodenet1"])
            await other.release_name("org.nodenet1")
            (heir,) = await bus.call(*DBUS, "GetNameOwner", "s", ["org.nodenet1"])
            assert heir != owner


class Busy:
    """A bus that refuses the first question."""

    connected = True

    def __init__(self) -> None:
        self.asked = 0

    async def call(self, *_: str) -> list[str]:
        self.asked += 1
        if self.asked == 1:
            raise Refused("org.freedesktop.DBus.Error.LimitsExceeded", "full message queue")
        return ["id"]


async def test_a_bus_that_refuses_to_say_its_id_has_answered() -> None:
    """And the watch goes on (R33)."""
    bus = Busy()
    changes: list[bool] = []
    watching = asyncio.create_task(service.watch(cast("Bus", bus), changes.append, look=0.001, again=0.001))
    async with asyncio.timeout(5):
        while bus.asked < 3:
            await asyncio.sleep(0.001)
    watching.cancel()
    assert changes == []


class Crowded(Bus):
    """A bus that drops its first answers, as dbus-daemon does while the caller's queue is full."""

    asked = 0

    async def call(self, *_: Any, seconds: float = CALL_SECONDS) -> list[Any]:
        self.asked += 1
        if self.asked < 4:
            raise Unavailable(f"no answer within {seconds} s")
        return [1000]


async def test_the_bus_is_asked_again_who_gives_an_order() -> None:
    """Root's reload in the middle of a flood is answered (R37)."""
    assert await Crowded(address="unix:path=/none", changed=lambda _: None).uid_of(":1.7") == 1000
