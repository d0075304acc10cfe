"""Are the published node IPs still on the node? Checked with each watchdog beat; a loss is reported when certain."""

from __future__ import annotations

from collections.abc import Callable

from nodenet.core.boot.outcome import Problem
from nodenet.core.since import NEVER
from nodenet.core.stage_name import StageName
from nodenet.loop import journal
from nodenet.loop.guard import Guard
from nodenet.ports import Clock


class DriftWatch:
    """Remembers since when something is missing: a rollback may take it away for a moment."""

    def __init__(self, clock: Clock, patience: float) -> None:
        """Report what has been missing for *patience* seconds."""
        self._clock = clock
        self._patience = patience
        self._missing = NEVER
        self._guard = Guard("the look at the published node IPs", StageName.NODEIP)

    def seen(self, look: Callable[[], Problem | None], before: Problem | None, *, sure: bool = False) -> Problem | None:
        """Return the drift to show now, after *before*; with *sure* without patience. A change is logged.

        An error of *look* changes nothing.
        """
        drift = self._guard.run(look, before)
        if drift == before:
            self._missing = NEVER
            return before
        now = self._clock.boottime()
        self._missing = self._missing.holds(now) if drift else NEVER
        if drift and not sure and self._missing.left(now, self._patience) > 0:
            return before
        self._missing = NEVER
        if drift:
            journal.problem(StageName.NODEIP, drift)
        else:
            journal.node_ips_are_back()
        return drift
