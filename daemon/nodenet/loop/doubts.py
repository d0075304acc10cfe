"""How often was the publication out of date when every stage was over, and when is it made or confirmed again?"""

from __future__ import annotations

import math

from nodenet.loop import journal
from nodenet.ports import Clock

PAUSES = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
"""Seconds before the node IPs are published again; the last one from then on."""


class Doubts:
    """Counts them: a lease may change once, a program that writes our files does so again and again."""

    def __init__(self, clock: Clock) -> None:
        """Begin with none."""
        self._clock = clock
        self._count = 0
        self._unheard_until = math.inf

    def unheard(self, seconds: float) -> None:
        """Note that systemd did not take READY=1: in *seconds* the publication is confirmed and READY=1 sent again."""
        self._unheard_until = self._clock.boottime() + seconds

    def looked_at(self) -> None:
        """Note that the publication is confirmed now: no READY=1 is due beside that."""
        self._unheard_until = math.inf

    @property
    def seconds_left(self) -> float:
        """The seconds until READY=1 is due again; infinite where it is not."""
        return self._unheard_until - self._clock.boottime()

    def next_pause(self, reason: str) -> float:
        """Report *reason*, and return the seconds before the next try."""
        seconds = PAUSES[min(self._count, len(PAUSES) - 1)]
        self._count += 1
        journal.unconfirmed(reason, self._count, seconds)
        return seconds
