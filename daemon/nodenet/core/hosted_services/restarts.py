"""When does nodenet start a unit again that systemd no longer restarts?"""

from __future__ import annotations

from dataclasses import replace

from nodenet.core.backoff import backoff
from nodenet.core.value import frozen

FIRST_SECONDS, LONGEST_SECONDS = 2.0, 60.0


@frozen
class Restarts:
    """How often in a row a unit was started after it had failed, and when the next start is due (CLOCK_BOOTTIME)."""

    failures: int = 0
    due_at: float = 0.0

    def left(self, now: float) -> float:
        """Return the seconds until the next start is due; not positive when it is."""
        return self.due_at - now

    def after_start(self, now: float) -> Restarts:
        """Return the value after a start at *now*: the next one, if it fails too, comes later."""
        failures = self.failures + 1
        return replace(self, failures=failures, due_at=now + backoff(failures, FIRST_SECONDS, LONGEST_SECONDS))
