"""What is one stage doing, and how do an attempt, an event or the time change its status?

One table has every change of status that is allowed. The order of the stages, READY and the node's health are in
``core.boot.stages``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum

from nodenet.core.boot.outcome import (
    NEVER,
    Again,
    Done,
    Failed,
    Outcome,
    Problem,
    Skipped,
    Topic,
    Waiting,
    again_of,
    detail_of,
)
from nodenet.core.boot.pace import FRESH, Pace
from nodenet.core.boot.request import NOTHING, Request
from nodenet.core.stage_name import StageName
from nodenet.core.value import frozen


class Status(StrEnum):
    """What a stage is doing."""

    PENDING = "pending"
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    SKIPPED = "skipped"
    FAILED = "failed"


SETTLED = (Status.DONE, Status.SKIPPED)
OVER = (*SETTLED, Status.FAILED)

TRANSITIONS: dict[tuple[Status, type[Outcome] | None], Status] = {
    # (status, what the stage said; None: it begins) → status
    (Status.PENDING, None): Status.RUNNING,
    (Status.WAITING, None): Status.RUNNING,
    (Status.RUNNING, Done): Status.DONE,
    (Status.RUNNING, Skipped): Status.SKIPPED,
    (Status.RUNNING, Waiting): Status.WAITING,
    (Status.RUNNING, Failed): Status.FAILED,
    # Another attempt of a stage that is over; if that attempt has to wait, the status does not change.
    **{(over, Done): Status.DONE for over in OVER},
    **{(over, Skipped): Status.SKIPPED for over in OVER},
    **{(over, Failed): Status.FAILED for over in OVER},
    **{(over, Waiting): over for over in OVER},
}


@frozen
class StageState:
    """One stage as status, bus and state file show it; times in seconds of CLOCK_BOOTTIME."""

    name: StageName
    provider: str = "builtin"
    status: Status = Status.PENDING
    detail: str = ""
    started: float | None = None
    ended: float | None = None
    problem: Problem | None = None
    logged: Problem | None = None
    """The last problem that has its line in the journal: one that stays gets no second line."""
    again: Again = NEVER
    due: float | None = None
    """When it is looked at again, whatever happens."""
    waited: float = 0.0
    """Seconds between its start and its end in which it only waited."""
    waiting_since: float | None = None
    waited_for: str = ""
    """What it waited for until its present attempt began: the same reason again is no news."""
    resumed: float | None = None
    """When its last attempt began."""
    aside: bool = False
    """Whether the later stages run while it waits: only READY waits for it."""
    elsewhere: float = 0.0
    """Seconds of its attempts in which others worked for it: NetworkManager, Open vSwitch, systemd."""
    request: Request = NOTHING
    """What its next attempt is asked to do."""
    pace: Pace = FRESH

    @property
    def over(self) -> bool:
        """Whether the boot continues without it."""
        return self.status in OVER

    @property
    def waits_aside(self) -> bool:
        """Whether it waits, and the stages behind it do not."""
        return self.aside and self.status is Status.WAITING

    def begun(self, now: float) -> StageState:
        """Return the stage as it runs: what it waited for is no longer true, and it keeps the time it first began."""
        started = now if self.started is None else self.started
        waited = self.waited + (0.0 if self.waiting_since is None else now - self.waiting_since)
        return replace(
            self,
            status=TRANSITIONS[self.status, None],
            detail="",
            started=started,
            ended=None,
            waited=waited,
            waiting_since=None,
            waited_for=self.detail,
            resumed=now,
        )

    def after(self, outcome: Outcome, now: float, elsewhere: float) -> StageState:
        """Return the stage as *outcome* leaves it, of an attempt in which others worked for *elsewhere* seconds."""
        status = TRANSITIONS[self.status, type(outcome)]
        failed = None if isinstance(outcome, Waiting) else isinstance(outcome, Failed)
        again, pace = again_of(outcome), self.pace.after(now, failed=failed)
        due = None if again.seconds is None else max(now + again.seconds, pace.rests_until)
        if self.over and isinstance(outcome, Waiting):
            return replace(self, again=again, due=due, pace=pace)
        problem = outcome.problem if isinstance(outcome, (Done, Failed)) else None
        waits = status is Status.WAITING
        return replace(
            self,
            status=status,
            detail=detail_of(outcome),
            ended=None if waits else self.ended or now,
            problem=problem,
            logged=self.logged if waits else problem,
            again=again,
            due=due,
            waiting_since=now if waits else None,
            aside=isinstance(outcome, Waiting) and outcome.aside,
            elsewhere=self.elsewhere + (0.0 if self.over else elsewhere),
            request=self.request if waits else self.request.carried_out,
            pace=pace,
        )

    def woken(self, topics: Mapping[Topic, float], now: float) -> StageState:
        """Return the stage as events of *topics* leave it: due as soon as its pace allows, if it waits for one.

        *topics*: when the last event of each came.

        Soon after a failure its rollback causes them, unless it has no timer or is a unit: that rolls nothing back.
        """
        own = Topic.UNIT not in self.again.topics and self.due is not None and now < self.pace.deaf_until
        if own or not any(topics[each] >= self.again.since for each in topics.keys() & self.again.topics):
            return self
        wakes = self.pace.wakes(now)
        return replace(self, due=wakes if self.due is None else min(self.due, wakes))
