"""The order in which calls are answered."""

from __future__ import annotations

from edge.bus.test_frames import FIELDS, read
from edge.raw_bus import CALL, message
from nodenet.edge.bus.call_queue import MOST, MOST_OF_A_CALLER, CallQueue
from nodenet.edge.bus.frames import Frame

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
