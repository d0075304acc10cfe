"""The order in which calls are answered."""

from __future__ import annotations

import tracemalloc

from edge.bus.test_frames import FIELDS, read
from edge.raw_bus import CALL, message, string
from nodenet.edge.bus.call import MOST, MOST_OF_A_CALLER, CallQueue
from nodenet.edge.bus.connection import CALL_BYTES
from nodenet.edge.bus.frames import HEADER_BYTES, Frame

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
