"""Where is the boot, what comes next, and may kubelet start?

Everything that decides about stages lives in this file: their order, the statuses, which status may follow
which, when READY=1 is due and what the node's health is. The reconciler asks and has no rules.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import reduce
from itertools import chain, repeat

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

BUILT = frozenset(name for name in StageName if name.module)
"""The stages this version can run; the others are skipped, and say so."""


class Status(StrEnum):
    """What a stage is doing."""

    PENDING = "pending"
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    SKIPPED = "skipped"
    FAILED = "failed"


class Health(StrEnum):
    """The node's network in one word."""

    OK = "ok"
    DEGRADED = "degraded"
    WAITING = "waiting"
    FAILED = "failed"


SETTLED = frozenset({Status.DONE, Status.SKIPPED})
OVER = SETTLED | {Status.FAILED}

TRANSITIONS: dict[tuple[Status, type[Outcome] | None], Status] = {
    # (status, what the stage said; None: it begins) → status
    (Status.PENDING, None): Status.RUNNING,
    (Status.WAITING, None): Status.RUNNING,
    (Status.RUNNING, Done): Status.DONE,
    (Status.RUNNING, Skipped): Status.SKIPPED,
    (Status.RUNNING, Waiting): Status.WAITING,
    (Status.RUNNING, Failed): Status.FAILED,
    # A second look at a stage that is over; one that has to wait for it leaves the stage as it is.
    **{(over, Done): Status.DONE for over in OVER},
    **{(over, Skipped): Status.SKIPPED for over in OVER},
    **{(over, Failed): Status.FAILED for over in OVER},
    **{(over, Waiting): over for over in OVER},
}


@dataclass(frozen=True, slots=True)
class StageState:
    """One stage as status, bus and state file show it; times in seconds of CLOCK_BOOTTIME."""

    name: StageName
    provider: str = "builtin"
    status: Status = Status.PENDING
    detail: str = ""
    started: float | None = None
    ended: float | None = None
    problem: Problem | None = None
    again: Again = NEVER
    due: float | None = None
    """When it is looked at again, whatever happens."""
    waited: float = 0.0
    """Seconds between its start and its end in which it only waited."""
    waiting_since: float | None = None
    resumed: float | None = None
    """When its last attempt began."""
    aside: bool = False
    """Whether the stages behind it go on while it waits: only READY waits for it."""
    elsewhere: float = 0.0
    """Seconds of its attempts in which others worked for it: NetworkManager, Open vSwitch, systemd."""
    request: Request = NOTHING
    """What its next attempt is asked to do."""
    pace: Pace = FRESH

    @property
    def over(self) -> bool:
        """Whether the boot goes on without it."""
        return self.status in OVER

    @property
    def waits_aside(self) -> bool:
        """Whether it waits, and the stages behind it do not."""
        return self.aside and self.status is Status.WAITING

    def begun(self, now: float) -> StageState:
        """Return the stage as it runs; one that waited keeps its detail and the time it first began."""
        started = now if self.started is None else self.started
        waited = self.waited + (0.0 if self.waiting_since is None else now - self.waiting_since)
        status = TRANSITIONS[self.status, None]
        fresh = replace(self, status=status, started=started, ended=None, waited=waited, waiting_since=None)
        return replace(fresh, resumed=now)

    def after(self, outcome: Outcome, now: float, elsewhere: float) -> StageState:
        """Return the stage as *outcome* leaves it, of an attempt in which others worked for *elsewhere* seconds."""
        status = TRANSITIONS[self.status, type(outcome)]
        failed = None if isinstance(outcome, Waiting) else isinstance(outcome, Failed)
        stage = self._awaiting(again_of(outcome), now, self.pace.after(now, failed=failed))
        if self.over and isinstance(outcome, Waiting):
            return stage
        if not isinstance(outcome, Waiting):
            stage = replace(stage, request=self.request.carried_out)
        ended = None if status is Status.WAITING else self.ended or now
        since = now if status is Status.WAITING else None
        problem = outcome.problem if isinstance(outcome, (Done, Failed)) else None
        stage = replace(stage, aside=isinstance(outcome, Waiting) and outcome.aside)
        stage = replace(stage, waiting_since=since, elsewhere=self.elsewhere + (0.0 if self.over else elsewhere))
        return replace(stage, status=status, detail=detail_of(outcome), ended=ended, problem=problem)

    def woken(self, topics: AbstractSet[Topic], now: float) -> StageState:
        """Return the stage as events of *topics* leave it: due as soon as its pace allows, if it waits for one.

        Soon after a failure its rollback causes them, unless it has no timer or is a unit: that rolls nothing back.
        """
        own = Topic.UNIT not in self.again.topics and self.due is not None and now < self.pace.deaf_until
        if not topics & self.again.topics or own:
            return self
        wakes = self.pace.wakes(now)
        return replace(self, due=wakes if self.due is None else min(self.due, wakes))

    def _awaiting(self, again: Again, now: float, pace: Pace) -> StageState:
        due = None if again.seconds is None else max(now + again.seconds, pace.rests_until)
        return replace(self, again=again, due=due, pace=pace)


@dataclass(frozen=True, slots=True)
class Boot:
    """All stages, in order."""

    stages: tuple[StageState, ...]
    degrade: bool = True
    """``on_failure``: whether the boot goes on past a failed stage."""
    looked: frozenset[StageName] = frozenset()
    """The stages that had a second look since a stage in turn was attempted."""

    def __getitem__(self, name: StageName) -> StageState:
        """Return one stage."""
        return next(stage for stage in self.stages if stage.name is name)

    def next(self) -> StageName | None:
        """Return the stage that is due: the first one unsettled; none when all is over or a failure blocks.

        One that waits aside comes last.
        """
        aside = None
        for stage in self.stages:
            if stage.status is Status.FAILED and not self.degrade:
                return None
            if stage.waits_aside:
                aside = aside or stage.name
            elif stage.status in (Status.PENDING, Status.WAITING):
                return stage.name
        return aside

    def due(self, now: float) -> StageName | None:
        """Return the stage to look at now: one that is over and due again, else the next one unless it still waits.

        Second looks come first, but each once only between two attempts of stages in turn: events that come faster than
        a look takes do not keep the next stage from its turn.
        """
        again = (stage for stage in self.stages if stage.over or stage.waits_aside)
        looks = [stage for stage in again if stage.due is not None and stage.due <= now]
        if (look := next((stage for stage in looks if stage.name not in self.looked), None)) is not None:
            return look.name
        name = self.next()
        if name is not None and (self[name].status is Status.PENDING or (self[name].due or 0.0) <= now):
            return name
        return min(looks, key=lambda stage: stage.due or 0.0).name if looks else None

    def woken(self, topics: AbstractSet[Topic], now: float) -> Boot:
        """Return the boot as events of *topics* leave it."""
        return replace(self, stages=tuple(stage.woken(topics, now) for stage in self.stages))

    @property
    def topics(self) -> frozenset[Topic]:
        """What some stage waits for."""
        return frozenset().union(*(stage.again.topics for stage in self.stages))

    def seconds_left(self, now: float) -> float:
        """Return how long nothing is due, if no event comes; infinite when nothing is. See ``due``."""
        name = self.next()
        counted = (stage for stage in self.stages if stage.over or stage.waits_aside or stage.name is name)
        return min((stage.due - now for stage in counted if stage.due is not None), default=math.inf)

    @property
    def current(self) -> StageName | None:
        """The stage that runs, waits or is due; none when all are over. One that waits aside comes last."""
        unsettled = sorted((stage for stage in self.stages if not stage.over), key=lambda stage: stage.waits_aside)
        return unsettled[0].name if unsettled else None

    def begun(self, name: StageName, now: float) -> Boot:
        """Return the boot with stage *name* running."""
        return self._with(self[name].begun(now))

    def after(self, name: StageName, outcome: Outcome, now: float, elsewhere: float = 0.0) -> Boot:
        """Return the boot with the *outcome* of stage *name*; in that others worked for *elsewhere* seconds."""
        stage = self[name]
        looked = self.looked | {name} if stage.over or stage.aside else frozenset()  # aside: it had waited so
        return replace(self._with(stage.after(outcome, now, elsewhere)), looked=looked)

    def again_from(self, name: StageName, request: Request = NOTHING) -> Boot:
        """Return the boot with *name* and every stage behind it pending again, *name* with *request*.

        An order that a stage has not carried out yet stays ordered.
        """
        position = [stage.name for stage in self.stages].index(name)
        fresh = tuple(
            StageState(stage.name, stage.provider, request=_ordered(stage).also(wanted))
            for stage, wanted in zip(self.stages[position:], chain([request], repeat(request.behind)), strict=False)
        )
        return replace(self, stages=self.stages[:position] + fresh)

    def put_off(self, name: StageName, reason: str, now: float, seconds: float) -> Boot:
        """Return the boot with *name* alone waiting again, for *seconds*; the others keep their state and back-off."""
        stage = self[name]
        begun = StageState(stage.name, stage.provider, request=_ordered(stage), started=stage.started).begun(now)
        return self._with(begun.after(Waiting(reason, seconds=seconds), now, 0.0))

    def again_behind(self, name: StageName) -> Boot:
        """Return the boot with the stages behind *name* pending again that succeeded; a failed one has its timer."""
        behind = self.stages[[stage.name for stage in self.stages].index(name) + 1 :]
        fresh = [StageState(old.name, old.provider, request=_ordered(old)) for old in behind if old.status in SETTLED]
        return reduce(Boot._with, fresh, self)

    def instead_of(self, before: Boot, request: Request) -> Boot:
        """Return this fresh boot in the place of *before*: every stage with *request* and what was ordered before."""
        orders = {stage.name: _ordered(stage) for stage in before.stages}
        stages = (replace(stage, request=orders[stage.name].also(request)) for stage in self.stages)
        return replace(self, stages=tuple(stages))

    @property
    def ready(self) -> bool:
        """Whether kubelet may start: a node IP is published and no other stage is still open."""
        if self[StageName.NODEIP].status is not Status.DONE:
            return False
        open_ends = (stage for stage in self.stages if stage.status not in SETTLED)
        return all(stage.status is Status.FAILED and self.degrade for stage in open_ends)

    @property
    def problem(self) -> tuple[StageName, Problem] | None:
        """The first problem in stage order, with its stage."""
        return next(((stage.name, stage.problem) for stage in self.stages if stage.problem), None)

    def failed_since(self, first: StageName, standing: Collection[StageName] = ()) -> tuple[StageName, Problem] | None:
        """Return the first stage from *first* on that failed as a whole, with its problem, but for those *standing*."""
        order = list(StageName)
        since = (stage for stage in self.stages if order.index(stage.name) >= order.index(first))
        over = (stage for stage in since if stage.status is Status.FAILED and stage.name not in standing)
        return next(((stage.name, stage.problem) for stage in over if stage.problem), None)

    @property
    def health(self) -> Health:
        """The node's network in one word."""
        if self.ready:
            return Health.DEGRADED if self.problem else Health.OK
        blocked = any(stage.status is Status.FAILED for stage in self.stages) and self.next() is None
        return Health.FAILED if blocked else Health.WAITING

    def _with(self, changed: StageState) -> Boot:
        stages = tuple(changed if stage.name is changed.name else stage for stage in self.stages)
        return replace(self, stages=stages)


def new_boot(providers: dict[str, str], *, degrade: bool) -> Boot:
    """Return a boot with every stage pending, each with its provider (``builtin`` unless set)."""
    stages = tuple(StageState(name, providers.get(name, "builtin")) for name in StageName)
    return Boot(stages, degrade=degrade)


def _ordered(stage: StageState) -> Request:
    """Return the orders that *stage* has not carried out."""
    return NOTHING if stage.over else stage.request
