"""What time is it, how long did nodenetd only wait for others, and which boot is this?

clock_gettime(2): CLOCK_BOOTTIME; random(4): boot_id.
"""

from __future__ import annotations

import ctypes
import selectors
import time
from pathlib import Path


class Idle(selectors.EpollSelector):
    """What an event loop sleeps in; it counts for how long."""

    def __init__(self) -> None:
        """Begin at zero."""
        super().__init__()
        self.seconds = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Sleep until something is to be done, at most *timeout* seconds."""
        began = time.monotonic()
        try:
            return super().select(timeout)
        finally:
            self.seconds += time.monotonic() - began


class Clock:
    """The kernel's time since boot, suspend included; no wall clock change moves it."""

    def __init__(self, idle: Idle) -> None:
        """*idle* is what the loop sleeps in."""
        self._idle = idle
        self._for_us = 0.0

    def elsewhere(self) -> float:
        """Return the seconds so far in which others worked and we did not."""
        return self._idle.seconds - self._for_us

    def worked_for_us(self, seconds: float) -> None:
        """Take note that a child process worked while the loop slept: its time is ours."""
        self._for_us += seconds

    def boottime(self) -> float:
        """Return the seconds since boot."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def unix(self) -> float:
        """Return the seconds of CLOCK_REALTIME."""
        return time.time()


def boot_id() -> str:
    """Return the id of this boot, 32 hexadecimal digits."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip().replace("-", "")


class _Timex(ctypes.Structure):
    """The beginning of struct timex (adjtimex(2)), and room for the rest."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        *((name, ctypes.c_long) for name in ("offset", "freq", "maxerror")),
        ("rest", ctypes.c_byte * 512),
    )


_UNSET_MICROSECONDS = 16_000_000
"""The kernel lets the largest error of the clock grow to this where no program sets it (timedatectl has the rule)."""


def is_synchronised() -> bool | None:
    """Return whether a program keeps the wall clock set, such as by NTP; None where the kernel does not say."""
    shown = _Timex()
    if ctypes.CDLL(None).adjtimex(ctypes.byref(shown)) < 0:
        return None
    return bool(shown.maxerror < _UNSET_MICROSECONDS)
