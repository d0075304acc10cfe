"""How often may a stage be attempted? Events can come in any number, and the stage itself can cause them.

An apply changes NetworkManager, which sends signals, which wake the stage that applied. So an event wakes a stage that
has failed only after a back-off, and no stage is attempted more than a few times in a second, whatever wakes it.
"""

from __future__ import annotations

import math

from nodenet.core.backoff import backoff
from nodenet.core.value import frozen

FIRST_SECONDS, LONGEST_SECONDS = 10.0, 900.0
"""How long after a failure events do not wake its stage: doubled with each failure in a row. A rollback activates the
uplink, and DHCP answers within some seconds: those events are our own."""
BURST, WINDOW_SECONDS = 10, 1.0
"""So many attempts in so many seconds are answers to events; more are a loop that spins."""


@frozen
class Pace:
    """The attempts of one stage lately; times in seconds of CLOCK_BOOTTIME."""

    failures: int = 0
    """In a row."""
    attempts: int = 0
    """In the present window."""
    window: float = -math.inf
    """When that began."""
    deaf_until: float = -math.inf
    """No event wakes the stage before."""
    rests_until: float = -math.inf
    """Nothing at all does."""

    def after(self, now: float, *, failed: bool | None) -> Pace:
        """Return the pace after an attempt that *failed* or not; None: it has to wait, which says neither."""
        failures = self.failures if failed is None else self.failures + 1 if failed else 0
        fresh = now - self.window >= WINDOW_SECONDS
        window, attempts = (now, 1) if fresh else (self.window, self.attempts + 1)
        rests = window + WINDOW_SECONDS if attempts >= BURST else -math.inf
        deaf = now + backoff(failures, FIRST_SECONDS, LONGEST_SECONDS) if failed else self.deaf_until
        return Pace(failures, attempts, window, deaf if failures else -math.inf, rests)

    def wakes(self, now: float) -> float:
        """Return when an event of *now* wakes the stage."""
        return max(now, self.deaf_until, self.rests_until)


FRESH = Pace()
