"""Which stage is next, and what does an event mean? The only loop of the daemon.

Level-triggered: an event says that something changed, never what; the stage that is due reads the present state
again. ``core.boot.stages`` decides, and no other code waits.
"""

from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from nodenet.core.boot.outcome import Outcome, Problem, Skipped, Topic
from nodenet.core.boot.stage_state import (
    EDIT,
    TRIAL,
    Inhibitor,
    Inhibitors,
    Request,
    Status,
    inhibited,
    with_inhibitor,
    without_inhibitor,
)
from nodenet.core.boot.stages import Boot, not_done, reason_to_skip, removal_refused
from nodenet.core.errors import Unavailable
from nodenet.core.messages import Message
from nodenet.core.stage_name import StageName
from nodenet.core.status.document import BootStatus
from nodenet.core.trial.trial import TrialState
from nodenet.core.uplink_health.health import cuts_off
from nodenet.core.uplink_health.watched import place_of
from nodenet.loop import journal
from nodenet.loop.attempts import Attempts, Doubts
from nodenet.loop.reload import InForce, Inputs
from nodenet.loop.requests import Order, Requests, Taken, Watchdog, WatchdogLoop
from nodenet.loop.trials import LoopOrders, Trials, obstacle
from nodenet.loop.watches import EDIT_SECONDS, NOT_IN_USE, WAITED_FOR, EditWatch, LossWatch, Sources, Watches
from nodenet.ports import Clock, Source, Watch

ANSWER_SECONDS = 75.0
"""How long a reload may wait before it is answered with what it waits for."""
MOMENT_SECONDS = 0.001
KEEP_SECONDS = 12.0
"""How long what other programs have on br-ex is put back, without a beat of the watchdog; the next look goes on."""
WORK_SECONDS = 1.0
"""A stage that waited, and whose next attempt takes so long, is shown as running: most look and wait on."""


class Reconciler(LoopOrders):
    """Runs the stages in order, again and again as requests and events ask for it."""

    def __init__(
        self,
        inputs: Inputs,
        watches: tuple[Watch, ...],
        watchdog: Watchdog,
        clock: Clock,
        boot_id: str,
    ) -> None:
        """Begin with what *inputs* are now (raises SettingsInvalid); *watches* see every change."""
        self._in_force = InForce(inputs)
        self._watches = Watches(watches)
        self._began = clock.boottime()
        self._runs = itertools.count(1)
        self._status = BootStatus(self._in_force.stage_set.boot, boot_id=boot_id)
        requests = Requests()
        trials = Trials(clock, requests.ask_for_trial, lambda trial: self._show(trial=trial))
        super().__init__(requests, trials, clock)
        self._watchdog_loop = WatchdogLoop(requests, watchdog, clock, self._is_bounded)
        self._sources = Sources()
        self.doubts = Doubts(clock)
        self._edits = EditWatch(self._in_force, clock)
        self._attempts = Attempts(self._watchdog_loop, clock, self._show_again)
        self._losses = LossWatch(clock, watchdog.seconds)

    @property
    def status(self) -> BootStatus:
        """Where the boot is."""
        return self._status

    def listen_while_waiting(self, topic: Topic, source: Source) -> None:
        """Take events of *topic* from *source* while a stage waits for them, and at no other time."""
        self._sources.add(topic, source)

    def inhibit(self, inhibitor: Inhibitor) -> None:
        """Keep a stage from starting. Raises Busy when it runs already."""
        self._set_inhibitors(with_inhibitor(self._status.inhibitors, inhibitor, self._status.boot[inhibitor.stage]))
        journal.inhibited(inhibitor)

    def release(self, inhibitor: Inhibitor) -> None:
        """Keep it no longer."""
        self._set_inhibitors(without_inhibitor(self._status.inhibitors, inhibitor))
        journal.released(inhibitor)

    def _set_inhibitors(self, inhibitors: Inhibitors) -> None:
        self._show(inhibitors=inhibitors)
        self.wake(Topic.INHIBITOR)

    def report_uplink(self, problem: Problem | None, notes: tuple[str, ...] = ()) -> None:
        """Take what the watch of the uplink found into status and journal; None: nothing is known to be wrong."""
        before = self._status.uplink
        is_news = problem != before
        if is_news and (problem or place_of(self._status.facts)):  # without a place nothing is watched, nothing is back
            journal.uplink(problem)
        self._show(uplink=problem, uplink_notes=notes)
        if cuts_off(before) and not cuts_off(problem) and place_of(self._status.facts):
            self.wake(Topic.UPLINK)

    def report_records(self, problem: Problem | None) -> None:
        """Take why the disk does not take records into status and journal; None: it does."""
        journal.records(problem)
        self._show(records=problem)

    async def run(self) -> None:
        """Run until stopped."""
        self._show()
        while not self._requests.stop:
            await self._take_requests()
            if self._requests.stop:
                break
            if self._status.boot.ready and (not self._status.ready or self.doubts.seconds_left <= 0):
                await self._get_ready()
                continue
            self._answer()
            if self._requests.trial:
                await self._hold_trial()
            elif name := self._status.boot.due(self._clock.boottime()):
                await self._run(name)
            else:
                await self._idle()
        self._requests.answer_all(Unavailable("nodenetd is stopping"))
        self._trials.refused(Unavailable("nodenetd is stopping"))

    async def _take_requests(self) -> None:
        """Begin again where it is asked for."""
        deadline = self._clock.boottime() + ANSWER_SECONDS
        if reload := self._requests.take(Order.RELOAD, deadline):
            await self._reload(reload)
        boot = self._status.boot
        if taken := self._requests.take(Order.RESELECT, deadline):
            journal.asked("choose the node IPs again", StageName.NODEIP)
            boot = boot.again_from(StageName.NODEIP, Request(next(self._runs), reselect=True, who=taken.who))
        if taken := self._requests.take(Order.REMOVE_BRIDGE, deadline):
            boot = self._remove_bridge(boot, taken)
        for name, who in self._requests.reruns.items():
            boot = boot.again_from(name, Request(next(self._runs), retry_refused=True, by_name=True, who=who))
        self._change(boot.woken(self._requests.topics, self._clock.boottime()), show=False)
        self._requests.reruns.clear()
        self._requests.topics.clear()

    def _remove_bridge(self, boot: Boot, taken: Taken) -> Boot:
        """Return *boot* with the removal of br-ex ordered, or refuse it where a unit makes br-ex."""
        stage = boot[StageName.CONFIGURE_OVS]
        journal.asked("remove br-ex", stage.name)
        if error := removal_refused(stage, self._status.facts):
            self._requests.answer(Order.REMOVE_BRIDGE, error, taken)
            return boot
        return boot.again_from(stage.name, Request(next(self._runs), remove_bridge=True, who=taken.who))

    async def _reload(self, taken: Taken) -> None:
        """Begin again with what is on the disk, or refuse it as a whole."""
        judgement = await self._watchdog_loop.beat_during(self._in_force.judge(self._status.facts))
        if judgement is None:  # the daemon stops
            return
        facts = judgement.facts
        if judgement.refusal:
            journal.refused(judgement.refusal)
            self._show(facts=facts, refused=judgement.refusal)
            self._requests.answer(Order.RELOAD, judgement.error, taken)
            return
        self._in_force.take(judgement, self._status, asked=bool(taken.callers))
        prune, self._requests.prune = self._requests.prune, False
        order = Request(next(self._runs), retry_refused=True, prune=prune, who=taken.who)
        boot = self._in_force.stage_set.boot.instead_of(self._status.boot, order)
        self._status = replace(self._status, boot=boot, facts=facts, refused=None)

    async def _hold_trial(self) -> None:
        """Have a node file tried, with no stage running meanwhile; then run the stages again."""
        self._requests.trial = False
        runner = self._in_force.stage_set.trial
        refusal = obstacle(self._status, has_runner=runner is not None)
        if refusal or runner is None:
            self._trials.refused(refusal)
            return
        ok = await self._watchdog_loop.beat_during(self._trials.hold(runner, self._status.facts), each=self._see_trial)
        if ok:
            self._requests.note(Order.RELOAD, TRIAL)
        elif ok is False:
            boot = self._status.boot.again_from(StageName.NMSTATE, Request(next(self._runs), as_read=True, who=TRIAL))
            self._status = replace(self._status, boot=boot)

    def _answer(self) -> None:
        """Answer the callers when the stages are over or the time limit is."""
        boot, name = self._status.boot, self._status.boot.next()
        if name is None:
            lost = self._in_force.lost(self._status)
            standing = self._in_force.standing(self._status)
            for order in tuple(self._requests.begun):
                is_reload = order is Order.RELOAD
                failed = boot.failed_since(order.value, standing if is_reload else order.not_concerned)
                if is_reload:
                    journal.reloaded(failed and failed[0], min(standing, default=None, key=list(StageName).index))
                error = self._in_force.error(*failed, reload=is_reload) if failed else None
                if is_reload:
                    error = error or lost
                elif not error:
                    error = not_done(boot[order.value], self._status.facts, removal=order is Order.REMOVE_BRIDGE)
                self._requests.answer(order, error)
        elif self._requests.begun and boot[name].status is Status.WAITING:
            self._requests.answer_late(self._clock.boottime(), Unavailable(f"{name} waits: {boot[name].detail}"))

    def _is_bounded(self) -> bool:
        """Return whether systemd's start timeout is to be extended: until it took READY, and while a reload applies."""
        return not self._status.ready or bool(self._requests.begun) or math.isfinite(self.doubts.seconds_left)

    async def _idle(self) -> None:
        """Nothing is due: sleep until something is."""
        boot = self._status.boot
        # A moment at least: the difference of two times may round to none before either has come.
        seconds = max(boot.seconds_left(self._clock.boottime()), MOMENT_SECONDS)
        if boot.ready:
            seconds = min(seconds, self.doubts.seconds_left)
        if math.isfinite(self._watches.again) and (not self._status.ready or boot.next() is not None):
            self._show()
        if not self._status.ready:
            if self._edits.seen(self._status):
                self._requests.note(Order.RELOAD, EDIT)
            seconds = min(seconds, EDIT_SECONDS)
        elif boot.next() is None:
            # Not by events: a node's links and addresses change with every pod that comes and goes.
            with suppress(TimeoutError):
                async with asyncio.timeout(KEEP_SECONDS):
                    await self._in_force.stage_set.keep_others(self._status.facts)
            self._see_losses()
            seconds = min(seconds, self._watchdog_loop.until_beat())  # awake once for both
        topics = boot.topics
        self._sources.listen(topics)
        await self._watchdog_loop.sleep(topics, min(seconds, self._watches.again))

    def _see_losses(self, sure: Collection[Message] = ()) -> None:
        """Show what the node has lost, or that it is back.

        Never while a stage works or a trial changes the network: the node IP may be away for a moment.
        """
        before, look = self._status, partial(self._in_force.stage_set.losses, self._status.facts)
        losses = self._losses.seen(look, before.losses, sure)
        if losses != before.losses:
            self._show(losses=losses)
        else:
            self._show_again()
        if self._status.drift and self._status.drift != before.drift:
            self.wake(Topic.NODE_IP_LOST)

    def _see_trial(self) -> None:
        """Look during a trial: a file that holds may have taken the node IP away for an hour."""
        if self._status.trial and self._status.trial.state is TrialState.HOLDING:
            self._see_losses()
        else:
            self._show_again()

    def _show_again(self) -> None:
        """Show the status again where a watch has asked for that."""
        if math.isfinite(self._watches.again):
            self._show()

    async def _run(self, name: StageName) -> None:
        """Attempt stage *name*, which is due."""
        elsewhere = self._clock.elsewhere()
        if (outcome := await self._attempt(name)) is not None:
            self._tell(name, outcome, self._clock.elsewhere() - elsewhere)

    async def _attempt(self, name: StageName) -> Outcome | None:
        """Return the outcome of an attempt, with the watchdog beating; None when the daemon stops during it."""
        stage, stages = self._status.boot[name], self._in_force.stage_set
        facts = self._in_force.found(stage, self._status.facts)
        if facts.file_failure != (failure := self._status.boot.file_failure):
            facts = replace(facts, file_failure=failure)
        if facts is not self._status.facts:
            self._status = replace(self._status, facts=facts)
        reason = reason_to_skip(stage, facts, stages.network_type)
        wait = inhibited(self._status.inhibitors, name)
        again = stage.status is Status.WAITING
        if not stage.over:  # a second look does not restart the stage
            self._change(self._status.boot.begun(name, self._clock.boottime()), show=not (reason or wait or again))
        if wait:
            return wait
        if reason and not stage.over:
            return Skipped(reason, facts)
        shown = asyncio.get_running_loop().call_later(WORK_SECONDS, self._show)
        try:
            return await self._attempts.run(stages, name, facts, stage.request, ready=self._status.ready)
        finally:
            shown.cancel()

    def _tell(self, name: StageName, outcome: Outcome, elsewhere: float) -> None:
        """Put the outcome into the status and the journal, and pass it to every watch."""
        before, facts = self._status.boot[name], self._status.facts
        boot = self._status.boot.after(name, outcome, self._clock.boottime(), elsewhere)
        if outcome.facts is not None:
            if not outcome.facts.same_place(facts):
                self.wake(Topic.NODE_IP)
                boot = boot.again_behind(name) if name is StageName.NODEIP and not self._status.ready else boot
            facts = outcome.facts
        refused = self._status.refused
        if refused and refused.stage is name and boot[name].over and self._in_force.is_settled(facts):
            refused = None  # the stage itself has seen the file
        if journal.is_news(before, boot[name]):
            journal.outcome(boot[name], outcome, [stage.logged for stage in self._status.boot.stages])
        self._show(boot=boot, facts=facts, refused=refused)
        if name is StageName.NODEIP and self._status.ready and boot[name].over:
            self._see_losses(NOT_IN_USE if boot[StageName.NMSTATE].status is Status.FAILED else WAITED_FOR)

    async def _get_ready(self) -> None:
        """Let kubelet start, unless what is published is no longer true: then publish again, and nothing else."""
        self.doubts.looked_at()
        reason = await self._watchdog_loop.beat_during(self._in_force.confirmed(self._status.facts))
        now = self._clock.boottime()
        if reason:
            boot = self._status.boot.put_off(StageName.NODEIP, reason, now, self.doubts.next_pause(reason))
            self._show(boot=boot, ready=False, losses=())
            return
        if self._requests.stop:
            return
        problem = self._status.boot.problem
        if not self._status.ready:
            selection = self._status.facts.selection
            journal.ready(now - self._began, selection.node_ips if selection else (), problem and problem[0])
        self._show(ready=True, confirmed=now)

    def _change(self, boot: Boot, *, show: bool = True) -> None:
        if boot is not self._status.boot:
            self._status = replace(self._status, boot=boot)
        if show:
            self._show()

    def _show(self, **changes: Any) -> None:  # noqa: ANN401  (fields of the status)
        self._status = replace(self._status, **changes) if changes else self._status
        self._watches.show(self._status)
