"""Which link events pass the filter; the real kernel runs it in tests/edge/kernel/test_link_events.py."""

from __future__ import annotations

import struct
import sys

import pytest

from nodenet.core.kernel.rtnetlink import events_of, is_route


def passes(program: bytes, message: bytes) -> bool:
    """Run *program* as the kernel's classic BPF machine does, for the instructions that are used."""
    instructions = list(struct.iter_unpack("=HBBI", program))
    position, accumulator = 0, 0
    while True:
        code, if_true, if_false, value = instructions[position]
        position += 1
        if size := {0x20: 4, 0x28: 2, 0x30: 1}.get(code):  # BPF_LD | BPF_ABS with BPF_W, BPF_H, BPF_B
            if value + size > len(message):
                return False
            accumulator = int.from_bytes(message[value : value + size], "big")
        elif code == 0x15:  # BPF_JMP | BPF_JEQ | BPF_K
            position += if_true if accumulator == value else if_false
        else:
            assert code == 0x06  # BPF_RET | BPF_K
            return bool(value)


def event(index: int) -> bytes:
    """Return the beginning of RTM_NEWLINK about the link *index*."""
    return struct.pack("=IHHIIBxHi", 32, 16, 0, 0, 0, 0, 1, index) + bytes(8)


@pytest.mark.parametrize("watched", [(), (2,), (2, 70_000, 3)])
def test_only_what_is_watched_passes(watched: tuple[int, ...]) -> None:
    """Whatever the byte order of the machine is."""
    for index in (1, 2, 3, 4, 512, 70_000):
        assert passes(events_of(watched), event(index)) is (index in watched)


def route(kind: int, *, length: int = 0, table: int = 254, family: int = 2) -> bytes:
    """Return the beginning of a message about a route (struct rtmsg, linux/rtnetlink.h)."""
    return struct.pack("=IHHIIBBBBBBBBI", 28, kind, 0, 0, 0, family, length, 0, 0, table, 0, 0, 1, 0) + bytes(8)


LIKE_ROUTES = tuple(int.from_bytes((table, 0, 0, 1), sys.byteorder) for table in (2, 100, 254, 255))
"""Indices of links whose bytes are those that a message about a route has in the same place."""


@pytest.mark.parametrize("watched", [(), (2,), LIKE_ROUTES])
def test_the_end_of_a_default_route_of_the_main_table_passes_and_no_other_route(watched: tuple[int, ...]) -> None:
    """The routes of pods come and go; a new default route is seen with the next look."""
    program, new, deleted = events_of(watched), 24, 25
    for family in (2, 10):
        assert passes(program, route(deleted, family=family))
        others = [route(new, family=family), route(deleted, length=24, family=family)]
        others += [route(kind, table=table, family=family) for kind in (new, deleted) for table in (2, 100, 255)]
        assert not any(passes(program, other) for other in others)
    assert is_route(route(deleted))
    assert not is_route(event(2))


def test_what_is_too_short_does_not_pass() -> None:
    """No link event is."""
    assert not passes(events_of((2,)), event(2)[:20])
