"""How does a call leave this connection, and how does one that comes in wait for its turn?"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import tracemalloc
from collections.abc import AsyncIterator
from itertools import takewhile
from pathlib import Path

import pytest

from edge.bus.test_connection import client, quiet, running
from edge.bus.test_frames import FIELDS, read
from edge.private_bus import PrivateBus
from edge.raw_bus import CALL, message, string
from nodenet.core.errors import Unavailable
from nodenet.edge.bus.call import MOST, MOST_OF_A_CALLER, CallQueue
from nodenet.edge.bus.connection import CALL_BYTES, DBUS, Bus, Message, MessageType, Signal
from nodenet.edge.bus.frames import HEADER_BYTES, Frame

NAME = "org.example.Silent"
HOUR = 3600.0
"""The deadline of calls that must end earlier: where they do not, the test hangs."""


@contextlib.asynccontextmanager
async def silent(address: str) -> AsyncIterator[asyncio.Event]:
    """Serve NAME by somebody who never answers; the event tells that a call has come."""
    asked = asyncio.Event()

    def take(message: Message) -> bool:
        if message.member == "Do":
            asked.set()
        return asked.is_set()

    async with client(address) as other:
        other.add_message_handler(take)
        await other.request_name(NAME)
        yield asked


async def test_the_end_of_the_bus_ends_the_calls_that_wait(private_bus: PrivateBus) -> None:
    """At once, for what it is; who learns it finds the bus away, and calls made then end at once too."""
    found: list[tuple[str, bool, str]] = []

    async def ask(bus: Bus) -> None:
        with pytest.raises(Unavailable) as waited:
            await bus.call(NAME, "/silent", NAME, "Do", seconds=HOUR)
        connected = bus.connected
        with pytest.raises(Unavailable) as begun:
            await bus.call(*DBUS, "GetId", seconds=HOUR)
        found.append((waited.value.cause, connected, begun.value.cause))

    async with running(quiet(private_bus.address)) as bus, silent(private_bus.address) as asked:
        assert await bus.wait_up(5)
        asking = [asyncio.create_task(ask(bus)) for _ in range(3)]
        await asked.wait()
        private_bus.kill()
        await asyncio.gather(*asking)
        cause = f"the system bus went away before {NAME} answered"
        assert found == [(cause, False, "the system bus does not answer")] * 3
        private_bus.start()
        while not await bus.wait_up(10):
            pass
        assert await bus.call(*DBUS, "NameHasOwner", "s", [NAME]) == [False]


async def test_a_call_that_is_given_up_is_cancelled_and_not_unavailable(private_bus: PrivateBus) -> None:
    """Also when the bus ends in the same moment: whoever stops a stage must not see it wait instead."""
    async with running(quiet(private_bus.address)) as bus, silent(private_bus.address) as asked:
        assert await bus.wait_up(5)
        asking = asyncio.create_task(bus.call(NAME, "/silent", NAME, "Do", seconds=HOUR))
        await asked.wait()
        private_bus.kill()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking


@contextlib.asynccontextmanager
async def listening(path: Path, answers: dict[bytes, bytes]) -> AsyncIterator[Bus]:
    """Give a bus, not yet up, whose other end answers what it is told, in this order, and hangs up then."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            for said, reply in answers.items():
                await reader.readuntil(said)
                writer.write(reply)
        writer.close()

    async with await asyncio.start_unix_server(answer, path), running(quiet(f"unix:path={path}")) as bus:
        yield bus


GREETING = {
    # D-Bus specification, "Authentication Protocol"
    b"AUTH": b"OK 0123456789abcdef0123456789abcdef\r\n",
    b"Hello": Message(
        message_type=MessageType.METHOD_RETURN, serial=1, reply_serial=1, signature="s", body=[":1.1"]
    )._marshall(),
}


async def test_a_bus_that_talks_nonsense_is_a_bus_that_went_away(tmp_path: Path) -> None:
    """Dbus-next ends the connection with an error of its own, which is no caller's business."""
    async with listening(tmp_path / "bus", GREETING | {b"GetId": b"\xff" * 64}) as bus:
        assert await bus.wait_up(5)
        with pytest.raises(Unavailable, match="went away"):
            await bus.call(*DBUS, "GetId", seconds=HOUR)
        assert not bus.connected


@pytest.mark.parametrize("last", ["AUTH", "Hello", "AddMatch"])
async def test_a_bus_that_hangs_up_while_it_is_greeted_is_tried_again(
    tmp_path: Path, private_bus: PrivateBus, caplog: pytest.LogCaptureFixture, last: str
) -> None:
    """Everything else goes on meanwhile, and asyncio has nothing to complain of."""
    gc.collect()
    caplog.clear()  # of what other tests left
    answers = dict(takewhile(lambda answer: answer[0] != last.encode(), GREETING.items())) | {last.encode(): b""}
    path = tmp_path / "other"
    async with listening(path, answers) as bus:
        bus.subscribe(Signal("org.example", "/", "org.example", "Ping"), print)
        assert not await bus.wait_up(0.3)
        path.unlink()
        path.symlink_to(private_bus.path)
        assert await bus.wait_up(10)
    gc.collect()
    assert caplog.messages == []


(CALL_OF_SOMEBODY,) = read(message(CALL, 1, FIELDS))


def call(sender: str, serial: int = 1) -> Frame:
    return CALL_OF_SOMEBODY._replace(sender=sender, serial=serial)


def test_callers_take_turns() -> None:
    """Who has many calls waits for himself (R37)."""
    queue = CallQueue()
    for serial in range(3):
        assert queue.put(call(":1.1", serial))
    assert queue.put(call(":1.2"))
    order = []
    while taken := queue.take():
        order.append((taken.sender, taken.serial))
    assert order == [(":1.1", 0), (":1.2", 1), (":1.1", 1), (":1.1", 2)]
    assert len(queue) == 0


def test_a_caller_has_a_limit_and_so_have_all() -> None:
    """What is queued fits into memory (R35)."""
    queue = CallQueue()
    assert [queue.put(call(":1.1")) for _ in range(MOST_OF_A_CALLER + 1)] == [True] * MOST_OF_A_CALLER + [False]
    assert queue.put(call(":1.2"))
    for caller in range(1000):
        for _ in range(MOST_OF_A_CALLER):
            queue.put(call(f":2.{caller}"))
    assert len(queue) == MOST
    assert not queue.put(call(":3.1"))
    while queue.take():
        pass
    assert queue.put(call(":3.1"))


def long_call(sender: str) -> Frame:
    """Return a call of about the longest path and body that are read, which shares no memory with another one."""
    return call(sender)._replace(path="/" + "a" * (HEADER_BYTES - 256), body=bytes(CALL_BYTES))


def test_a_flood_of_long_calls_takes_no_more_memory_than_one_of_short_calls() -> None:
    """200 connections send 128 calls of 20 KB each: 16 MB of them are kept, the other calls are refused."""
    queue = CallQueue()
    tracemalloc.start()
    try:
        for caller in range(200):
            for _ in range(MOST_OF_A_CALLER):
                queue.put(long_call(f":2.{caller}"))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(queue) > 0
    assert held < 18 * 1024 * 1024


def test_a_caller_with_long_calls_leaves_room_for_the_others() -> None:
    """Its own share is full after a few calls, and is free again when they are answered."""
    queue = CallQueue()
    for caller in range(100):
        assert queue.put(long_call(f":2.{caller}"))
        while queue.put(long_call(f":2.{caller}")):
            pass
    assert len(queue) < 100 * MOST_OF_A_CALLER / 10
    kept = len(queue)
    assert queue.take()
    assert [queue.put(long_call(":2.0")) for _ in range(2)] == [True, False]
    assert all(queue.put(call(":3.1")) for _ in range(MOST_OF_A_CALLER))
    while queue.take():
        pass
    for caller in range(100):
        while queue.put(long_call(f":2.{caller}")):
            pass
    assert len(queue) == kept


def test_as_many_usual_calls_fit_as_the_bus_lets_a_caller_have_open() -> None:
    """The limit of bytes does not refuse what the limit of calls allows."""
    fields = [(1, "o", "/org/nodenet1/stage/node_ip"), (2, "s", "org.freedesktop.DBus.Properties"), (3, "s", "GetAll")]
    queue = CallQueue()
    for caller in range(MOST // MOST_OF_A_CALLER):
        for _ in range(MOST_OF_A_CALLER):
            usual = [*fields, (7, "s", f":1.{caller}"), (8, "g", "s")]
            (frame,) = read(message(CALL, 70_000, usual, string("org.nodenet1.Stage")))
            assert queue.put(frame)
    assert len(queue) == MOST
