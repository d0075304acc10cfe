"""Which link events pass the filter; the real kernel runs it in tests/edge/kernel/test_link_events.py."""

from __future__ import annotations

import struct

import pytest

from nodenet.core.kernel.link_filter import events_of


def passes(program: bytes, message: bytes) -> bool:
    """Run *program* as the kernel's classic BPF machine does, for the instructions that are used."""
    instructions = list(struct.iter_unpack("=HBBI", program))
    position, accumulator = 0, 0
    while True:
        code, if_true, if_false, value = instructions[position]
        position += 1
        if code == 0x20:  # BPF_LD | BPF_W | BPF_ABS
            if value + 4 > len(message):
                return False
            accumulator = int.from_bytes(message[value : value + 4], "big")
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


def test_what_is_too_short_does_not_pass() -> None:
    """No link event is."""
    assert not passes(events_of((2,)), event(2)[:20])
