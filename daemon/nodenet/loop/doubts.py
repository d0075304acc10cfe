"""How often was the publication out of date when every stage was over, and when is it made again?"""

from __future__ import annotations

from nodenet.loop import journal

PAUSES = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
"""Seconds before the node IPs are published again; the last one from then on."""


class Doubts:
    """Counts them: a lease may change once, a program that writes our files does so again and again."""

    def __init__(self) -> None:
        """Begin with none."""
        self._count = 0

    def next_pause(self, reason: str) -> float:
        """Report *reason*, and return the seconds before the next try."""
        seconds = PAUSES[min(self._count, len(PAUSES) - 1)]
        self._count += 1
        journal.unconfirmed(reason, self._count, seconds)
        return seconds
