"""Signals that wait for a bus."""

from __future__ import annotations

from nodenet.edge.bus.connection import Message, just
from nodenet.edge.bus.transport import LIMIT, WINDOW, Outbox


def signal(number: int) -> Message:
    return Message.new_signal("/a", "x.y", "Ping", "u", [number])


def test_the_newest_ones_are_kept_and_sent_in_order() -> None:
    """As many as fit, a few at a time; a later one with the same key replaces the earlier one."""
    outbox = Outbox()
    for number in range(LIMIT + 10):
        outbox.put(number, just(signal(number)))
    outbox.put(20, just(signal(1000)))
    sent = []
    while outbox:
        window = outbox.window()
        assert len(window) <= WINDOW
        sent += [message.body[0] for make in window if (message := make())]
    assert sent == [number for number in range(10, LIMIT + 10) if number != 20] + [1000]
