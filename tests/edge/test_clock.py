"""What is time spent on?"""

from __future__ import annotations

import asyncio
import ctypes
import struct
import time

from nodenet.edge.clock import Clock, Idle, is_synchronised

SECONDS = 0.2


def test_the_time_of_others_is_what_the_loop_sleeps_and_no_child_of_ours_works() -> None:
    """What the loop does itself is not in it, whatever it takes."""
    idle = Idle()
    clock = Clock(idle)

    async def sleep_and_work() -> None:
        await asyncio.sleep(SECONDS)
        until = time.monotonic() + 3 * SECONDS
        while time.monotonic() < until:
            pass

    began = time.monotonic()
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(idle)) as runner:
        runner.run(sleep_and_work())
    passed = time.monotonic() - began
    slept = clock.elsewhere()
    assert SECONDS * 0.9 <= slept <= passed - 3 * SECONDS
    clock.worked_for_us(SECONDS / 2)
    assert clock.elsewhere() == slept - SECONDS / 2


def test_the_clock_is_as_synchronised_as_the_kernel_says_in_another_call() -> None:
    """Struct ntptimeval (ntp_gettime(3)) has the largest error behind a time of two words."""
    shown = ctypes.create_string_buffer(128)
    assert ctypes.CDLL(None).ntp_gettime(shown) >= 0
    (largest_error,) = struct.unpack_from("@l", shown.raw, 2 * struct.calcsize("@l"))
    assert is_synchronised() is (largest_error < 16_000_000)
