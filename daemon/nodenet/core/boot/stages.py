"""Where is the boot, what comes next, and may kubelet start?

Everything that decides about the stages of a boot is in this room: here which stage is next, when READY=1 is due and
what the node's health is; in ``stage_state`` which status may follow which. The reconciler asks and has no rules.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from enum import StrEnum
from functools import reduce
from itertools import chain, repeat

from nodenet.core.boot.outcome import Facts, Outcome, Problem, Topic, Waiting
from nodenet.core.boot.stage_state import NOTHING, SETTLED, Request, StageState, Status
from nodenet.core.errors import BridgeForeign, NodenetError, Unavailable
from nodenet.core.messages import Message
from nodenet.core.stage_name import StageName
from nodenet.core.value import frozen

BUILT = frozenset(name for name in StageName if name.module)
"""The stages this version can run; the others are skipped, and say so."""


class Health(StrEnum):
    """The node's network in one word."""

    OK = "ok"
    DEGRADED = "degraded"
    WAITING = "waiting"
    FAILED = "failed"


@frozen
class Boot:
    """All stages, in order."""

    stages: tuple[StageState, ...]
    degrade: bool = True
    """``on_failure``: whether the boot continues after a failed stage."""
    looked: frozenset[StageName] = frozenset()
    """The stages that had a second look since a stage in turn was attempted."""

    def __getitem__(self, name: StageName) -> StageState:
        """Return one stage."""
        for stage in self.stages:
            if stage.name is name:
                return stage
        raise KeyError(name)

    def next(self) -> StageName | None:
        """Return the stage that is due: the first one unsettled; none when all is over or a failure blocks.

        One that waits aside comes last.
        """
        aside = None
        for stage in self.stages:
            status = stage.status
            if status is Status.FAILED and not self.degrade:
                return None
            if status is Status.WAITING and stage.aside:
                aside = aside or stage.name
            elif status is Status.PENDING or status is Status.WAITING:
                return stage.name
        return aside

    def due(self, now: float) -> StageName | None:
        """Return the stage to look at now: one that is over and due again, else the next one unless it still waits.

        Second looks come first, but each once only between two attempts of stages in turn: events that come faster than
        a look takes do not keep the next stage from its turn.
        """
        timed = (stage for stage in self.stages if stage.due is not None and stage.due <= now)
        looks = [stage for stage in timed if stage.over or stage.waits_aside]
        if looks and (look := next((stage for stage in looks if stage.name not in self.looked), None)) is not None:
            return look.name
        name = self.next()
        if name is not None and (self[name].status is Status.PENDING or (self[name].due or 0.0) <= now):
            return name
        return min(looks, key=lambda stage: stage.due or 0.0).name if looks else None

    def woken(self, topics: Mapping[Topic, float], now: float) -> Boot:
        """Return the boot as events of *topics* leave it; *topics*: when the last event of each came."""
        if not topics:
            return self
        stages = tuple([stage.woken(topics, now) for stage in self.stages])
        return self if stages == self.stages else replace(self, stages=stages)

    @property
    def topics(self) -> frozenset[Topic]:
        """What some stage waits for."""
        return frozenset().union(*(stage.again.topics for stage in self.stages))

    def seconds_left(self, now: float) -> float:
        """Return how long nothing is due, if no event comes; infinite when nothing is. See ``due``."""
        name = self.next()
        timed = ((stage, stage.due) for stage in self.stages if stage.due is not None)
        counted = (due - now for stage, due in timed if stage.over or stage.waits_aside or stage.name is name)
        return min(counted, default=math.inf)

    @property
    def current(self) -> StageName | None:
        """The stage that runs, waits or is due; none when all are over. One that waits aside comes last."""
        aside = None
        for stage in self.stages:
            if stage.waits_aside:
                aside = aside or stage.name
            elif not stage.over:
                return stage.name
        return aside

    def begun(self, name: StageName, now: float) -> Boot:
        """Return the boot with stage *name* running."""
        return self._with(self[name].begun(now))

    def after(self, name: StageName, outcome: Outcome, now: float, elsewhere: float = 0.0) -> Boot:
        """Return the boot with the *outcome* of stage *name*; in that others worked for *elsewhere* seconds."""
        stage = self[name]
        looked = self.looked | {name} if stage.over or stage.aside else frozenset()  # aside: it had waited so
        return replace(self, stages=self._stages_with(stage.after(outcome, now, elsewhere)), looked=looked)

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
        fresh = StageState(stage.name, stage.provider, request=_ordered(stage), started=stage.started)
        begun = replace(fresh, logged=stage.logged).begun(now)
        return self._with(begun.after(Waiting(reason, seconds=seconds), now, 0.0))

    def again_behind(self, name: StageName) -> Boot:
        """Return the boot with the stages behind *name* pending again that succeeded; a failed one has its timer."""
        behind = self.stages[[stage.name for stage in self.stages].index(name) + 1 :]
        fresh = [StageState(old.name, old.provider, request=_ordered(old)) for old in behind if old.status in SETTLED]
        return reduce(Boot._with, fresh, self)

    def instead_of(self, before: Boot, request: Request) -> Boot:
        """Return this fresh boot, which replaces *before*: every stage has *request* and its earlier orders."""
        orders = {stage.name: _ordered(stage) for stage in before.stages}
        stages = (replace(stage, request=orders[stage.name].also(request)) for stage in self.stages)
        return replace(self, stages=tuple(stages))

    @property
    def ready(self) -> bool:
        """Whether kubelet may start: a node IP is published and no other stage is still open."""
        for stage in self.stages:
            may_follow = stage.status in SETTLED or (self.degrade and stage.status is Status.FAILED)
            if not may_follow or (stage.name is StageName.NODEIP and stage.status is not Status.DONE):
                return False
        return True

    @property
    def problem(self) -> tuple[StageName, Problem] | None:
        """The first problem in stage order, with its stage."""
        return next(((stage.name, stage.problem) for stage in self.stages if stage.problem), None)

    @property
    def file_failure(self) -> str:
        """Why the node file failed, "" where it did not."""
        stage = self[StageName.NMSTATE]
        return stage.problem.cause if stage.status is Status.FAILED and stage.problem else ""

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
        found = {stage.status for stage in self.stages}
        blocked = Status.FAILED in found and Status.RUNNING not in found and self.next() is None
        return Health.FAILED if blocked else Health.WAITING

    def _with(self, changed: StageState) -> Boot:
        return replace(self, stages=self._stages_with(changed))

    def _stages_with(self, changed: StageState) -> tuple[StageState, ...]:
        return tuple([changed if stage.name is changed.name else stage for stage in self.stages])


def new_boot(providers: dict[str, str], *, degrade: bool) -> Boot:
    """Return a boot with every stage pending, each with its provider (``builtin`` unless set)."""
    stages = tuple(StageState(name, providers.get(name, "builtin")) for name in StageName)
    return Boot(stages, degrade=degrade)


def _ordered(stage: StageState) -> Request:
    """Return the orders that *stage* has not carried out."""
    return NOTHING if stage.over else stage.request


def removal_refused(stage: StageState, facts: Facts) -> BridgeForeign | None:
    """Return why the bridges of *stage*, configure-ovs, cannot be removed on request; None when they can."""
    if facts.brings_bridge:
        cause = f"{facts.node_file or 'the node file'} defines br-ex itself, so nodenetd does not remove it"
        return BridgeForeign(cause, remedy="Take br-ex out of the node file, then run `nodenetctl reload --wait`")
    if not stage.provider.startswith("unit:"):
        return None
    unit = stage.provider.removeprefix("unit:")
    cause = f"{unit} makes br-ex (configure-ovs = {stage.provider!r}), so nodenetd does not remove it"
    return BridgeForeign(cause, remedy='Set configure-ovs = "builtin" or "skip" and reload, then try again')


def removal_failed(stage: StageState, facts: Facts) -> NodenetError | None:
    """Return why the bridges of *stage* are there once an ordered removal is over; None where they are not.

    Where the removal itself failed, a later attempt may have kept the bridge, and succeeded. The node file may not have
    been known when it was ordered.
    """
    refused = removal_refused(stage, facts)
    if refused or facts.bridge is None:
        return refused
    cause = f"{facts.bridge} could not be removed, and a later attempt has kept it"
    return Unavailable(cause, remedy="Look at `journalctl -u nodenetd`, then run `nodenetctl bridge remove` again")


def not_done(stage: StageState, facts: Facts, *, removal: bool) -> NodenetError | None:
    """Return why what was ordered of *stage*, as the *removal* of br-ex, was not done; None where it was."""
    return _not_run(stage) or (removal_failed(stage, facts) if removal else None)


def _not_run(stage: StageState) -> Unavailable | None:
    """Return why nothing that was ordered of *stage* was done once the boot goes no further; None where it was run."""
    if stage.over:
        return None
    cause = f'{stage.name} is not run: a stage before it failed, and on_failure is "wait"'
    return Unavailable(cause, remedy="Look at `nodenetctl status`, and try again once that stage is done")


def reason_to_skip(stage: StageState, facts: Facts, network_type: str) -> str | None:
    """Return why *stage* is not run at all, or None when it is."""
    if stage.request.remove_bridge:  # when it was ordered, the node file may not have been known yet
        return f"{facts.node_file} defines br-ex itself, so br-ex stays" if facts.brings_bridge else None
    if stage.provider == "skip":
        return "switched off in the settings"
    if stage.name is StageName.CONFIGURE_OVS:
        if facts.brings_bridge:
            return f"{facts.node_file} defines br-ex itself"
        if not network_type and stage.provider == "builtin":
            return 'network_type is not set: br-ex is made where it is "OVNKubernetes"'
        if network_type not in ("", "OVNKubernetes"):
            return f"the network type is {network_type}"
    return None if stage.name in BUILT or stage.provider != "builtin" else "not built in this version"


_COUNTS = re.compile(
    r"\d{4}-\d\d-\d\d[ T][\d:.]+|( in| after| for)? \(?\d+(\.\d+)? (s\b|seconds|tries)\)?| \(?try \d+( of \d+)?\)?"
)
"""Times and numbers of tries in a cause: they differ though the cause is the same."""


def standing(boot: Boot, before: Boot, *, same_input: bool) -> frozenset[StageName]:
    """Return the stages that failed in *before*, the boot before the reload, and in *boot* for the same cause.

    The cause of nmstate is its node file, so that failure is such a one only if settings and file are the *same_input*.
    """
    return frozenset(stage.name for stage in boot.stages if _stands(stage, before[stage.name], same_input=same_input))


def _stands(stage: StageState, before: StageState, *, same_input: bool) -> bool:
    if not (stage.status is before.status is Status.FAILED and stage.problem and before.problem):
        return False
    return same_input or (stage.name is not StageName.NMSTATE and _kind(stage.problem) == _kind(before.problem))


def _kind(problem: Problem) -> tuple[Message, str]:
    """Return what two problems of one kind share: one event has several causes, so their words count, too."""
    return problem.message, _COUNTS.sub("", problem.cause)
