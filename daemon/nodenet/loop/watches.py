"""What is watched beside the stages: the node file, what is lost after READY, and sources of events?"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from collections.abc import Set as AbstractSet

from nodenet.core.boot.outcome import Problem, Topic
from nodenet.core.messages import Message
from nodenet.core.since import backoff
from nodenet.core.stage_name import StageName
from nodenet.core.status.document import BootStatus
from nodenet.loop import journal
from nodenet.loop.journal import Guard
from nodenet.loop.reload import InForce
from nodenet.ports import Clock, Source, Watch

EDIT_SECONDS = 1.0
"""How often the files are looked at."""


class EditWatch:
    """Looks at the files once in EDIT_SECONDS, however often it is called."""

    def __init__(self, in_force: InForce, clock: Clock) -> None:
        """Compare with what is *in_force*."""
        self._in_force = in_force
        self._clock = clock
        self._due = 0.0
        self._guard = Guard("the look at settings and node file")

    def seen(self, status: BootStatus) -> bool:
        """Return whether an edit is complete and has to be read; it is in the journal then."""
        now = self._clock.boottime()
        if now < self._due:
            return False
        self._due = now + EDIT_SECONDS
        edited = self._guard.run(lambda: self._in_force.edited(status, now), otherwise=False)
        if edited:
            journal.edited(self._in_force.calm_seconds)
        return edited


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


class Sources:
    """The sources of events, by topic."""

    def __init__(self) -> None:
        """Begin with none."""
        self._all: dict[Topic, Source] = {}
        self._listening: frozenset[Topic] = frozenset()

    def add(self, topic: Topic, source: Source) -> None:
        """Take events of *topic* from *source*, once a stage waits for them."""
        self._all[topic] = source

    def listen(self, topics: AbstractSet[Topic]) -> None:
        """Listen to the sources of *topics* and to no other."""
        wanted = frozenset(topics & self._all.keys())
        for topic in wanted - self._listening:
            self._all[topic].start()
        for topic in self._listening - wanted:
            self._all[topic].stop()
        self._listening = wanted


class Watches:
    """Shows every watch each status, and again while one asks for that."""

    def __init__(self, watches: tuple[Watch, ...]) -> None:
        """Show them in this order."""
        self._watches = [(watch, Guard(f"showing the status ({type(watch).__name__})")) for watch in watches]
        self.again = math.inf
        """After how many seconds an observer wants the same status again."""

    def show(self, status: BootStatus) -> None:
        """Show *status*; a watch that raises sees it again after a back-off."""
        self.again = min((_shown(watch, guard, status) for watch, guard in self._watches), default=math.inf)


def _shown(watch: Watch, guard: Guard, status: BootStatus) -> float:
    again = guard.run(watch.show, None, status)
    if guard.failures:
        return backoff(guard.failures, 1.0, 30.0)
    return math.inf if again is None else again
