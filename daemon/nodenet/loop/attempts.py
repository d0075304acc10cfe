"""How is a stage attempted? Whatever a stage raises becomes its outcome, and the loop goes on."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from nodenet.core.boot.outcome import Again, Escapes, Facts, Outcome, Topic, Waiting, beside, named
from nodenet.core.boot.stage_state import Request
from nodenet.core.errors import NodenetError
from nodenet.core.stage_name import StageName
from nodenet.loop import journal
from nodenet.loop.reload import StageSet, Undo
from nodenet.loop.requests import WatchdogLoop, nothing
from nodenet.ports import Clock, Stage

UNDONE_LATER = Again(frozenset({Topic.NETWORK_MANAGER}), 300.0)
"""When a stage is looked at again behind which a change is not undone yet."""


class Attempts:
    """Runs one stage at a time, and counts what escapes."""

    def __init__(self, watchdog_loop: WatchdogLoop, clock: Clock, look: Callable[[], None]) -> None:
        """Attempt stages while *watchdog_loop* beats; *look* is called with each beat of a node that is ready."""
        self._watchdog_loop = watchdog_loop
        self._look = look
        self._clock = clock
        self._escapes: dict[StageName, Escapes] = {}

    async def run(
        self, stages: StageSet, name: StageName, facts: Facts, request: Request, *, ready: bool
    ) -> Outcome | None:
        """Return the outcome of one attempt, None when the daemon stops during it.

        Raises only what an administrator must correct (exit code 78), and only before *ready*: later the node works.
        """
        attempt = behind_undo(stages.undo, stages.stages[name], facts, request)
        try:
            look = self._look if ready else nothing
            outcome = await self._watchdog_loop.beat_during(attempt, stages.attempt_seconds, look)
        except Exception as error:
            if isinstance(error, NodenetError) and error.permanent and not ready:
                raise
            return self._escaped(name, error, facts)
        self._escapes.pop(name, None)
        return outcome

    def _escaped(self, name: StageName, error: Exception, facts: Facts) -> Outcome:
        now = self._clock.boottime()
        self._escapes[name] = escapes = self._escapes.get(name, Escapes()).another(now)
        known = named(error, name)
        if escapes.number == 1:
            journal.unforeseen(known, error, name)
        return escapes.outcome(name, known, facts, now)


async def behind_undo(undo: Undo, stage: Stage, facts: Facts, request: Request) -> Outcome:
    """Return the outcome of *stage* once no change of the network is open: nothing begins before its undo.

    A change that the stage itself has left open is undone before its outcome counts.
    """
    if waiting := await undo.first():
        return replace(waiting, facts=facts)
    outcome = await stage.attempt(facts, request)
    if not isinstance(outcome, Waiting) and (waiting := await undo.first()):
        return replace(waiting, facts=outcome.facts)
    shown = beside(outcome, undo.problem)
    if isinstance(shown, Waiting) or undo.problem is None or shown.again:
        return shown
    return replace(shown, again=UNDONE_LATER)


PAUSES = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
"""Seconds before the node IPs are published again; the last one from then on."""


class Doubts:
    """Counts how often the publication was out of date when every stage was over.

    A lease may change once, a program that writes our files does so again and again.
    """

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
