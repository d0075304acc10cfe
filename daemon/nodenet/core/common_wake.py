"""When do the periodic timers of a quiet daemon fire? Together, so that it wakes once for all of them."""

from __future__ import annotations

BEAT_SECONDS = 15.0
"""The watchdog's beat (WatchdogSec=30 of the unit), for which nodenetd wakes anyway: what is done with it costs no
other wake-up."""
LEAST_SECONDS = 0.01
"""A timer that fires this much before its time is not set again for the same time."""


def until_common(now: float, seconds: float) -> float:
    """Return the seconds from *now* until the next common time of timers with a period of *seconds*.

    Common times are the multiples of the period on the monotonic clock of *now*, so timers of 15 s and 60 s meet once
    a minute. The result is between LEAST_SECONDS and *seconds* + LEAST_SECONDS.
    """
    left = seconds - now % seconds
    return left if left > LEAST_SECONDS else left + seconds
