"""How long has a condition been true, how long is the pause before a retry, and when do timers fire together?

Every bounded wait uses `Since`: a stage begins it when the condition is seen, and resets it with `NEVER`. Every retry
uses `backoff`, so that none can spin or overflow. Periodic timers fire together, so that a quiet daemon wakes once.
"""

from __future__ import annotations

from nodenet.core.value import frozen


@frozen
class Since:
    """When a condition was first seen, in seconds of CLOCK_BOOTTIME; None: it does not hold."""

    began: float | None = None

    def holds(self, now: float) -> Since:
        """Return the value for a condition that holds at *now*: the first time it was seen is kept."""
        return self if self.began is not None else Since(now)

    def lasted(self, now: float) -> float:
        """Return for how many seconds the condition has held, 0 when it does not."""
        return 0.0 if self.began is None else now - self.began

    def left(self, now: float, patience: float) -> float:
        """Return how many of *patience* seconds are left; not positive when they are over."""
        return patience - self.lasted(now)


NEVER = Since()
"""The condition does not hold."""


def backoff(failures: int, first: float, longest: float) -> float:
    """Return the seconds to wait after *failures* failures in a row: *first*, doubled with each one up to *longest*."""
    return min(first * 2.0 ** min(max(failures, 1) - 1, 60), longest)


def spread(seconds: float, share: float) -> float:
    """Return *seconds* times a factor between 0.5 and 1: *share* 0 gives 1, *share* 1 gives 0.5.

    Hosts that all lost the same server do not ask it again in the same moment.
    """
    return seconds * (1 - share / 2)


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
