"""The loop under any sequence of events: random outcomes, wakes, reloads, reruns, holds, in virtual time.

Whatever comes: never two attempts at once, never a stage before those in front of it, READY once and not early, and
in the end every stage is over or one says by name what it waits for, and everybody who asked has been answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from fakes import BOOT_ID, FakeInputs, FakePulse
from nodenet.core.boot.outcome import Again, Done, Facts, Failed, Outcome, Problem, Skipped, Topic, Waiting
from nodenet.core.boot.stage_state import NOTHING, OVER, Inhibitor, Request, Status
from nodenet.core.boot.stages import new_boot
from nodenet.core.errors import Busy, NodeFileInvalid, NodenetError, SettingsInvalid, Unavailable
from nodenet.core.messages import Message
from nodenet.core.settings.model import Settings
from nodenet.core.stage_name import StageName
from nodenet.core.status.document import BootStatus
from nodenet.loop.reconciler import ANSWER_SECONDS, Reconciler
from nodenet.loop.reload import StageSet
from virtual_time import VirtualLoop

FACTS = Facts()
PROBLEM = Problem(Message.APPLY_FAILED, "it did not hold", "look at it")
LONG = 4 * ANSWER_SECONDS
"""Virtual seconds in which everything that can end has ended."""
MOST_ATTEMPTS_AT_ONCE = 60
"""More without time going by are a loop that spins."""


topics = st.frozensets(st.sampled_from(Topic), max_size=2)
looks = st.none() | st.builds(Again, topics, st.none() | st.sampled_from([0.5, 5.0, 60.0]))
outcomes: st.SearchStrategy[Outcome | NodenetError] = st.one_of(
    st.builds(Done, st.sampled_from(["done", "done otherwise"]), st.just(FACTS), st.just(Message.STARTED),
              st.none() | st.just(PROBLEM), looks),
    st.builds(Skipped, st.just("nothing to do"), st.just(FACTS), again=looks),
    st.builds(Waiting, st.sampled_from(["a cable", "a name"]), topics, st.sampled_from([0.5, 5.0, 60.0])),
    st.builds(Failed, st.just(PROBLEM), st.just(FACTS), looks),
    st.just(Unavailable("the world does not answer")),
)  # fmt: skip
stages = st.sampled_from(StageName)


@dataclass
class Attempts:
    """What is known of all attempts."""

    running: int = 0
    at: float = 0.0
    without_time: int = 0

    def begin(self, now: float) -> None:
        assert self.running == 0, "two attempts at once"
        self.running = 1
        self.without_time = self.without_time + 1 if now == self.at else 0
        self.at = now
        assert self.without_time < MOST_ATTEMPTS_AT_ONCE, "the loop spins"


@dataclass
class Fake:
    """A stage that says what it was told to say; the last outcome again and again."""

    attempts: Attempts
    now: Callable[[], float]
    held: Callable[[], bool]
    play: list[Outcome | NodenetError] = field(default_factory=list)
    seconds: float = 0.0
    learns: Callable[[Facts], Facts] = lambda facts: facts

    async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:  # noqa: ARG002
        assert not self.held(), "a held stage began"
        self.attempts.begin(self.now())
        try:
            await asyncio.sleep(self.seconds)
        finally:
            self.attempts.running = 0
        said = self.play.pop(0) if len(self.play) > 1 else self.play[0]
        if isinstance(said, NodenetError):
            raise said
        return said if isinstance(said, Waiting) else replace(said, facts=self.learns(facts))


class Judge:
    """Sees every status and holds it to what must always be true."""

    def __init__(self) -> None:
        self.last: BootStatus | None = None

    def show(self, status: BootStatus) -> None:
        boot, before = status.boot, self.last
        self.last = status
        begun = [stage for stage in boot.stages if stage.status in (Status.RUNNING, Status.WAITING)]
        assert len(begun) <= 1, "two stages are under way"
        for stage in begun:
            in_front = boot.stages[: boot.stages.index(stage)]
            assert all(other.status in OVER for other in in_front), f"{stage.name} began before its turn"
            assert stage.status is Status.RUNNING or stage.detail, f"{stage.name} waits and does not say for what"
        if before is not None and before.ready:
            assert status.ready, "READY was taken back"
        elif status.ready:
            assert boot.ready, "READY came early"
            assert boot[StageName.NODEIP].status is Status.DONE


class AnyBoot(RuleBasedStateMachine):
    """A node's whole life, as short and as mad as it may be."""

    @initialize(degrade=st.booleans())
    def begin(self, degrade: bool) -> None:  # noqa: FBT001
        self.loop = VirtualLoop()
        self.attempts, self.judge = Attempts(), Judge()
        done = Done("done", FACTS, Message.STARTED)
        self.fakes = {
            name: Fake(self.attempts, self.loop.time, partial(self.is_held, name), [done]) for name in StageName
        }
        self.degrade, self.inputs = degrade, FakeInputs(self.build)
        self.fakes[StageName.NMSTATE].learns = partial(self.inputs.node_file, Settings())
        self.asked: list[asyncio.Future[Any]] = []
        self.holds: list[Inhibitor] = []
        self.reconciler = Reconciler(self.inputs, (self.judge,), FakePulse(1.0), self.loop, BOOT_ID)
        self.task = self.loop.create_task(self.reconciler.run())

    def is_held(self, name: StageName) -> bool:
        return any(hold.stage is name for hold in self.reconciler.status.inhibitors)

    def build(self) -> StageSet:
        providers = {name.value: "unit:other.service" for name in StageName}
        return StageSet(
            new_boot(providers, degrade=self.degrade), dict(self.fakes), "OVNKubernetes", 600.0, lambda _: ()
        )

    @rule(name=stages, play=st.lists(outcomes, min_size=1, max_size=3), seconds=st.sampled_from([0.0, 0.3, 20.0]))
    def will_say(self, name: StageName, play: list[Outcome | NodenetError], seconds: float) -> None:
        self.fakes[name].play, self.fakes[name].seconds = list(play), seconds

    @rule(seconds=st.sampled_from([0.0, 0.001, 0.4, 3.0, 30.0, 100.0]))
    def time_passes(self, seconds: float) -> None:
        self.loop.run_until_complete(asyncio.sleep(seconds))

    @rule(topic=st.sampled_from(Topic), times=st.integers(1, 50))
    def something_happens(self, topic: Topic, times: int) -> None:
        for _ in range(times):
            self.reconciler.wake(topic)

    @rule(refuse=st.booleans(), bad=st.booleans(), platform=st.sampled_from(["none", "baremetal"]))
    def edit(self, refuse: bool, bad: bool, platform: str) -> None:  # noqa: FBT001
        self.inputs.refuse = SettingsInvalid("nodenet.toml: unknown key") if refuse else None
        self.inputs.bad = NodeFileInvalid("worker-0.yml: unknown key") if bad else None
        self.inputs.now = Settings(platform=platform)
        self.inputs.file = ("worker-0.yml", str(self.loop.now))

    @rule()
    def reload(self) -> None:
        self.asked.append(self.loop.create_task(self.reconciler.reload()))

    @rule()
    def reselect(self) -> None:
        self.asked.append(self.loop.create_task(self.reconciler.reselect()))

    @rule(name=stages)
    def run_stage(self, name: StageName) -> None:
        self.reconciler.rerun(name)

    @rule(name=stages)
    def hold(self, name: StageName) -> None:
        hold = Inhibitor(name, "lab", "looks", len(self.holds))
        running = self.reconciler.status.boot[name].status is Status.RUNNING
        try:
            self.reconciler.inhibit(hold)
        except Busy:
            assert running
        else:
            assert not running
            self.holds.append(hold)

    @rule(which=st.integers(0, 10))
    def let_go(self, which: int) -> None:
        if self.holds:
            self.reconciler.release(self.holds.pop(which % len(self.holds)))

    @invariant()
    def the_loop_lives(self) -> None:
        if hasattr(self, "task"):
            assert not self.task.done() or self.task.result() is None

    def teardown(self) -> None:
        if not hasattr(self, "loop"):
            return
        try:
            self.ends_well()
        finally:
            self.loop.close()

    def ends_well(self) -> None:
        """Time goes by: every stage is over or one waits by name; who asked is answered; a stop ends it."""
        self.inputs.refuse = self.inputs.bad = None
        self.loop.run_until_complete(asyncio.sleep(LONG))
        boot = self.reconciler.status.boot
        for _ in range(50):  # the very moment between two stages is no end
            if self.attempts.running or (name := boot.next()) is None or boot[name].status is Status.WAITING:
                break
            self.loop.run_until_complete(asyncio.sleep(0.003))
            boot = self.reconciler.status.boot
        if self.attempts.running == 0 and (name := boot.next()) is not None:
            assert boot[name].status is Status.WAITING
            assert boot[name].detail
        assert all(task.done() for task in self.asked), "somebody who asked was never answered"
        for task in self.asked:
            assert task.exception() is None or isinstance(task.exception(), NodenetError)
        self.reconciler.stop()
        self.loop.run_until_complete(asyncio.wait({self.task}, timeout=1.0))
        assert self.task.done(), "the loop does not stop"
        assert self.task.exception() is None
        assert self.attempts.running == 0


AnyBoot.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestAnyBoot = AnyBoot.TestCase
