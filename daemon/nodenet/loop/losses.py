"""What has a node that is ready lost since? Looked at with each beat of the watchdog; shown when it has lasted."""

from __future__ import annotations

from collections.abc import Callable, Collection

from nodenet.core.boot.outcome import Problem
from nodenet.core.messages import Message
from nodenet.core.stage_name import StageName
from nodenet.loop import journal
from nodenet.loop.guard import Guard
from nodenet.ports import Clock

Losses = tuple[Problem, ...]
"""At most one of each message, the cause before what follows from it."""
NOT_IN_USE = frozenset({Message.NODE_IP_NOT_IN_USE})
"""What no activation and no restart brings about for a moment: a program keeps its variables."""
WAITED_FOR = NOT_IN_USE | {Message.NODE_IP_DRIFT}
"""What is sure when the nodeip stage has waited for the node IPs and no change of the network is being undone."""


class LossWatch:
    """Remembers since when something is lost: a rollback or a restart may take it away for a moment."""

    def __init__(self, clock: Clock, patience: float) -> None:
        """Report what has been lost for *patience* seconds."""
        self._clock = clock
        self._patience = patience
        self._since: dict[Message, float] = {}
        """When each loss that is not reported as it is now was first seen so."""
        self._guard = Guard("the look at the published node IPs", StageName.NODEIP)

    def seen(self, look: Callable[[], Losses], before: Losses, sure: Collection[Message] = ()) -> Losses:
        """Return the losses to show now, after *before*; those that are *sure* without patience.

        A change is logged. An error of *look* changes nothing.
        """
        found = self._guard.run(look, before)
        known = {problem.message: problem for problem in before}
        now = self._clock.boottime()
        self._since = {problem.message: self._since.get(problem.message, now) for problem in found}
        shown = tuple(filter(None, (self._shown(each, known.get(each.message), now, sure) for each in found)))
        for message in known.keys() - {problem.message for problem in found}:
            journal.is_back(message)
        return shown

    def _shown(self, problem: Problem, before: Problem | None, now: float, sure: Collection[Message]) -> Problem | None:
        """Return what is shown of *problem*, of which *before* was shown."""
        if problem != before:
            if problem.message not in sure and now - self._since[problem.message] < self._patience:
                return before
            journal.problem(None if problem.message is Message.MANAGER_AWAY else StageName.NODEIP, problem)
        del self._since[problem.message]
        return problem
