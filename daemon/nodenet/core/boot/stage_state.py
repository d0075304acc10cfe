"""Where does a stage stand: its status, its times, who asked for it, and who inhibits it?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum

from nodenet.core.boot.outcome import (
    NOT_AGAIN,
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
from nodenet.core.errors import Busy, UsageInvalid
from nodenet.core.since import backoff
from nodenet.core.stage_name import StageName
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


BOOT = "boot"
EVENT = "event"
"""A later look, for an event on the host or because its time has come."""
EDIT = "edit"
"""An edit that was seen while the boot waits."""
TRIAL = "trial"
"""The end of a trial: what its administrator has asked for is an entry of its own."""
RELOAD = "reload"
RESELECT = "reselect"
REMOVE = "bridge remove"


@frozen
class Request:
    """The orders for one attempt. *run* is the number of the run: it grows with each order."""

    run: int = 0
    retry_refused: bool = False
    """Try again what was refused earlier in this boot."""
    by_name: bool = False
    """This stage itself was named (RunStage), not one before it."""
    reselect: bool = False
    """Select the node IPs again and ignore the published ones."""
    remove_bridge: bool = False
    """Remove the bridges."""
    prune: bool = False
    """Remove what earlier node files have left over."""
    as_read: bool = False
    """Do not apply a node file that was edited since it was read: an edit waits for a reload."""
    who: str = BOOT
    """What or who asked for it, for the history."""

    @property
    def carried_out(self) -> Request:
        """The request as a later look at the same run gets it: nothing is ordered any more."""
        return Request(self.run, who=EVENT)

    @property
    def behind(self) -> Request:
        """The request for the stages behind the one that was asked for."""
        return Request(self.run, self.retry_refused, prune=self.prune, who=self.who)

    def also(self, other: Request) -> Request:
        """Return both requests as one: an order that was not carried out yet is not lost by the *other*, later one.

        An edit gives no order, so it does not take the place of who gave one.
        """
        keeps = other.who == EDIT and (self.retry_refused or self.who == TRIAL)
        return Request(
            max(self.run, other.run),
            self.retry_refused or other.retry_refused,
            self.by_name or other.by_name,
            self.reselect or other.reselect,
            self.remove_bridge or other.remove_bridge,
            self.prune or other.prune,
            other.as_read,
            self.who if keeps else other.who,
        )


def run(stage: str) -> str:
    """Return what asks for a run of *stage* by name: making br-ex has a verb of its own."""
    return "bridge make" if stage == StageName.CONFIGURE_OVS else f"run {stage}"


NOTHING = Request()
"""Nothing is ordered: the stage does its ordinary work."""


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
    again: Again = NOT_AGAIN
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


MAX_INHIBITORS = 64
"""More at once are a program that leaks."""


@frozen
class Inhibitor:
    """One holder of a stage; *number* distinguishes two with the same words."""

    stage: StageName
    who: str
    why: str
    number: int

    def __str__(self) -> str:
        """As status and journal name it."""
        return f"{self.who}: {self.why}"


Inhibitors = tuple[Inhibitor, ...]


def with_inhibitor(inhibitors: Inhibitors, inhibitor: Inhibitor, stage: StageState) -> Inhibitors:
    """Return *inhibitors* with *inhibitor* added.

    Raises UsageInvalid when *who* or *why* is not one line of text, Busy when the stage runs or there are too many.
    """
    for name, text in (("who", inhibitor.who), ("why", inhibitor.why)):
        if not text.strip() or not text.isprintable():
            raise UsageInvalid(f"{name} = {text!r} is not one line of text", remedy=f"Give {name} as one line of text")
    if stage.status is Status.RUNNING:
        raise Busy(
            f"{inhibitor.stage} runs already",
            remedy="Wait until the stage is over; an inhibitor then holds its next run",
        )
    if len(inhibitors) >= MAX_INHIBITORS:
        raise Busy(f"{len(inhibitors)} inhibitors are taken", remedy="Close some; `nodenetctl status` names them")
    return (*inhibitors, inhibitor)


def without_inhibitor(inhibitors: Inhibitors, inhibitor: Inhibitor) -> Inhibitors:
    """Return *inhibitors* but for *inhibitor*."""
    return tuple(other for other in inhibitors if other.number != inhibitor.number)


def inhibited(inhibitors: Inhibitors, name: StageName) -> Waiting | None:
    """Return what stage *name* waits for while it is inhibited, else None."""
    holders = [str(inhibitor) for inhibitor in inhibitors if inhibitor.stage is name]
    if not holders:
        return None
    more = f" (and {len(holders) - 1} more)" if len(holders) > 1 else ""
    return Waiting(f"inhibited by {holders[0]}{more}", frozenset({Topic.INHIBITOR}), 60.0)
