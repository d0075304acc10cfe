"""When does the next phase of a migration begin? The steps are pure; here is the time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from nodenet.core.hosted_cluster import migration_steps
from nodenet.core.hosted_cluster.migration_steps import WAIT_SECONDS, View, first_record
from nodenet.core.hosted_services import migration as record
from nodenet.core.hosted_services.duties import why_disabled
from nodenet.core.hosted_services.migration import Migration, Phase
from nodenet.core.hosted_services.model import Options
from nodenet.hosted.follower import LONGEST_SECONDS

LOOK_SECONDS = 1.0
"""How often the deadline is looked at while something moves."""
SIGHT_SECONDS = LONGEST_SECONDS + 15.0
"""So long at least the nodes can report before a deadline that has passed ends a phase: the API, or every operator, may
have been away until then, and a node asks again after ``LONGEST_SECONDS`` at most. An operator that has just begun sees
no sooner that the Lease of a dead node has expired."""


class Migrator:
    """Keeps the record in the object; nothing else is kept, so that any operator continues it."""

    def __init__(self, options: Options, clock: Callable[[], datetime]) -> None:
        """*clock* returns the time, with its zone."""
        self._options = options
        self._clock = clock
        self._watched: tuple[int, Phase] | None = None
        self._since = 0.0
        self._last: Migration | None = None
        """The last record that was heard: it goes on in an object that was deleted and made again."""
        self.pause: float | None = None
        """The seconds until the next look, None while nothing moves."""

    def lost_sight(self) -> None:
        """Note that the API does not answer: what nodes report does not arrive."""
        self._watched = None

    def heard(self, document: object) -> None:
        """Take the record of the object as the API has it, for the case that the object is deleted."""
        with suppress(ValueError):
            self._last = record.parse(document) or self._last

    def next(self, status: Mapping[str, Any], view: View) -> Migration | None:
        """Return the record after *status*, None where the cluster has none yet.

        With settings that switch hosted services off the record stays as it is: nodes are still in its phase.
        """
        self.pause = None
        try:
            before = record.parse({"status": status})
        except ValueError:
            before = None
        if why_disabled(self._options):
            return before
        if before is None:
            # Generations of another object say nothing about this one.
            return replace(self._last, failed=0) if self._last else first_record(view)
        is_due, is_late = (self._is_over(before, further) for further in (0.0, WAIT_SECONDS))
        after = migration_steps.step(before, replace(view, is_due=is_due, is_late=is_late))
        if (after.attempt, after.phase, after.outcome, after.failed) != (
            *(before.attempt, before.phase, before.outcome, before.failed),
        ):
            seconds = migration_steps.seconds(after, self._options)
            deadline = rendered(self._clock() + timedelta(seconds=seconds)) if seconds is not None else ""
            after = replace(after, deadline=deadline)
        self.pause = None if after.at_rest else LOOK_SECONDS
        return after

    def _is_over(self, before: Migration, further: float) -> bool:
        """Return whether the deadline and *further* seconds are over, and the nodes could report.

        A phase that was watched for its whole length is over whatever the deadline says: the clock that it was written
        by may have been ahead.
        """
        now = asyncio.get_running_loop().time()
        if self._watched != (before.attempt, before.phase):
            self._watched, self._since = (before.attempt, before.phase), now
        longest, watched = migration_steps.seconds(before, self._options), now - self._since - further
        if longest is None:
            return False
        try:
            over = self._clock() - timedelta(seconds=further) >= datetime.fromisoformat(before.deadline)
        except (TypeError, ValueError):  # without one, or without a zone
            over = not before.at_rest
        return watched >= (min(SIGHT_SECONDS, longest) if over else longest)


def rendered(moment: datetime) -> str:
    """Return a time as the API has it (RFC 3339), in whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
