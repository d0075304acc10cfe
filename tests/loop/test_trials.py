"""A trial of a node file: who is answered when, and what is refused meanwhile."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest
from structlog.testing import capture_logs

from fakes import FakeClock
from nodenet.core.boot.outcome import Facts
from nodenet.core.errors import ApplyFailed, Busy, NodenetError, Unavailable, UsageInvalid
from nodenet.core.messages import Message
from nodenet.core.trial.trial import Decision, Trial, TrialEnded, TrialOrder, TrialState, would_replace
from nodenet.loop.trials import Trials
from nodenet.ports import Administrator

ORDER = TrialOrder("new.yml", "d" * 64, 60.0, "root")
PATH = "/etc/nmstate/openshift/worker-0.yml"


@dataclass
class Runner:
    """What tries files: applies for as long as *applied* is not set, then holds until a decision."""

    refuses: NodenetError | Exception | None = None
    """Before the network is touched."""
    fails: NodenetError | None = None
    late: NodenetError | None = None
    applied: asyncio.Event = field(default_factory=asyncio.Event)
    refusals: list[NodenetError] = field(default_factory=list)
    """Of confirmations, before one is taken."""
    edits: str = ""

    async def hold(self, order: TrialOrder, facts: Facts, administrator: Administrator) -> str:
        assert (order, facts) == (ORDER, Facts())
        if self.refuses:
            raise self.refuses
        administrator.begins()
        await self.applied.wait()
        if self.fails:
            raise self.fails
        administrator.holds(160.0)
        while (decision := await administrator.decided(0.01)) is None or (
            self.refusals and decision is Decision.CONFIRM
        ):
            if decision:
                administrator.refuses(self.refusals.pop())
        if self.edits:
            administrator.edited(self.edits)
        if self.late:
            raise self.late
        if decision is Decision.ROLL_BACK:
            raise TrialEnded("an administrator rolled it back")
        return PATH


@dataclass
class Rig:
    """The trials of a loop; *shown* is what the status had."""

    runner: Runner = field(default_factory=Runner)
    shown: list[Trial] = field(default_factory=list)
    woken: int = 0
    trials: Trials = field(init=False)

    def __post_init__(self) -> None:
        self.trials = Trials(FakeClock(), self.wake, self.shown.append)

    def wake(self) -> None:
        self.woken += 1

    async def begin(self) -> tuple[asyncio.Task[None], asyncio.Task[bool | None]]:
        """Ask for a trial and let the loop take it; return the caller and the loop's work."""
        caller = asyncio.ensure_future(self.trials.begin(ORDER))
        await asyncio.sleep(0)
        assert self.woken == 1
        return caller, asyncio.ensure_future(self.trials.hold(self.runner, Facts()))

    async def held(self) -> asyncio.Task[bool | None]:
        """Return the loop's work on a trial that holds."""
        caller, work = await self.begin()
        self.runner.applied.set()
        await caller
        return work

    @property
    def states(self) -> list[TrialState]:
        return [trial.state for trial in self.shown]


async def test_a_caller_is_answered_when_the_file_is_applied() -> None:
    """And the one who confirms it when it is installed."""
    rig = Rig()
    caller, work = await rig.begin()
    await asyncio.sleep(0.02)
    assert not caller.done()
    rig.runner.applied.set()
    await caller
    assert rig.shown[-1] == Trial("new.yml", "d" * 64, "root", TrialState.HOLDING, 160.0)
    await rig.trials.decide(Decision.CONFIRM)
    assert await work is True
    assert rig.states == [TrialState.APPLYING, TrialState.HOLDING, TrialState.CONFIRMED]
    assert rig.shown[-1].installed == PATH


async def test_a_rollback_by_order_is_no_error_for_the_one_who_gave_it() -> None:
    rig = Rig()
    work = await rig.held()
    with capture_logs() as logged:
        await rig.trials.decide(Decision.ROLL_BACK)
    assert await work is False
    assert rig.states[-1] is TrialState.ROLLED_BACK
    assert [(entry["event"], entry["message"]) for entry in logged] == [
        ("The trial of new.yml is rolled back: an administrator rolled it back", Message.CHANGE_UNDONE)
    ]


async def test_a_rollback_after_the_confirmation_is_no_rollback() -> None:
    """Two administrators: the second one is not told that the network is as before."""
    rig = Rig()
    work = await rig.held()
    confirming = asyncio.ensure_future(rig.trials.decide(Decision.CONFIRM))
    await asyncio.sleep(0)
    with pytest.raises(UsageInvalid, match=r"^the trial of new\.yml was confirmed before"):
        await rig.trials.decide(Decision.ROLL_BACK)
    await confirming
    assert await work is True


async def test_a_confirmation_that_comes_too_late_is_answered_with_why() -> None:
    rig = Rig(Runner(late=TrialEnded("its time is over, and it was not confirmed")))
    await rig.held()
    with pytest.raises(TrialEnded, match="its time is over"):
        await rig.trials.decide(Decision.CONFIRM)
    rig = Rig(Runner(late=ApplyFailed("the commit failed")))
    await rig.held()
    with pytest.raises(ApplyFailed):
        await rig.trials.decide(Decision.CONFIRM)
    assert rig.states[-1] is TrialState.FAILED


@pytest.mark.parametrize(
    ("error", "kind", "logged"),
    [(UsageInvalid("there is nothing to try"), UsageInvalid, 0), (ZeroDivisionError("fault"), NodenetError, 1)],
)
async def test_a_file_that_is_refused_is_the_answer(error: Exception, kind: type[NodenetError], logged: int) -> None:
    """Nothing was touched, so the stages need not run again; the next trial may begin. A fault is in the journal."""
    rig = Rig(Runner(refuses=error))
    with capture_logs() as lines:
        caller, work = await rig.begin()
        with pytest.raises(kind):
            await caller
        assert await work is None
    assert len(lines) == logged
    assert rig.states == [TrialState.APPLYING, TrialState.FAILED]
    rig.trials.refuse()


async def test_after_an_apply_that_failed_the_stages_run_again() -> None:
    """The network may not be back: the stage nmstate looks at it."""
    rig = Rig(Runner(fails=ApplyFailed("it did not hold")))
    caller, work = await rig.begin()
    rig.runner.applied.set()
    with capture_logs() as lines, pytest.raises(ApplyFailed):
        await caller
    assert await work is False
    assert [line["message"] for line in lines] == [Message.APPLY_FAILED]


async def test_a_trial_that_is_still_applying_its_file_can_be_ended() -> None:
    """Ctrl-C comes at any time."""
    rig = Rig()
    _, work = await rig.begin()
    await asyncio.sleep(0)
    ending = asyncio.ensure_future(rig.trials.decide(Decision.ROLL_BACK))
    await asyncio.sleep(0)
    rig.runner.applied.set()
    await ending
    assert await work is False


async def test_a_trial_that_is_still_applying_its_file_is_confirmed_once_it_holds() -> None:
    """As a rollback waits. A file that is not applied is no confirmed one."""
    rig = Rig()
    _, work = await rig.begin()
    await asyncio.sleep(0)
    confirming = asyncio.ensure_future(rig.trials.decide(Decision.CONFIRM, ORDER.digest))
    await asyncio.sleep(0.02)
    assert not confirming.done()
    rig.runner.applied.set()
    await confirming
    assert await work is True
    failing = Rig(Runner(fails=ApplyFailed("it did not hold")))
    _, work = await failing.begin()
    await asyncio.sleep(0)
    confirming = asyncio.ensure_future(failing.trials.decide(Decision.CONFIRM))
    failing.runner.applied.set()
    with capture_logs(), pytest.raises(ApplyFailed, match="it did not hold"):
        await confirming
    assert await work is False


async def test_a_rollback_goes_before_a_confirmation_that_waits() -> None:
    rig = Rig()
    _, work = await rig.begin()
    await asyncio.sleep(0)
    confirming = asyncio.ensure_future(rig.trials.decide(Decision.CONFIRM))
    await asyncio.sleep(0)
    ending = asyncio.ensure_future(rig.trials.decide(Decision.ROLL_BACK))
    await asyncio.sleep(0)
    rig.runner.applied.set()
    with capture_logs(), pytest.raises(TrialEnded):
        await confirming
    await ending
    assert await work is False


async def test_every_other_order_is_refused_while_one_holds() -> None:
    """A second trial too; each refusal is logged."""
    rig = Rig()
    await rig.held()
    with capture_logs() as logged, pytest.raises(Busy, match=r"a trial of new\.yml holds the network for 60 s more"):
        await rig.trials.begin(ORDER)
    with pytest.raises(Busy):
        rig.trials.refuse()
    assert [entry["message"] for entry in logged] == [Message.RELOAD_REFUSED]
    await rig.trials.decide(Decision.ROLL_BACK)
    rig.trials.refuse()


async def test_a_decision_needs_a_trial() -> None:
    rig = Rig()
    for decision in Decision:
        with pytest.raises(UsageInvalid, match="no trial of a node file is running"):
            await rig.trials.decide(decision)


async def test_the_loop_may_refuse_to_begin() -> None:
    rig = Rig()
    caller = asyncio.ensure_future(rig.trials.begin(ORDER))
    await asyncio.sleep(0)
    rig.trials.refused(Busy("the boot of this node is not over"))
    with pytest.raises(Busy, match="not over"):
        await caller
    assert await rig.trials.hold(rig.runner, Facts()) is None


async def test_a_stop_of_nodenetd_answers_all_callers() -> None:
    rig = Rig()
    work = await rig.held()
    confirming = asyncio.ensure_future(rig.trials.decide(Decision.CONFIRM))
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    with pytest.raises(Unavailable, match="nodenetd is stopping"):
        await confirming
    assert rig.states[-1] is TrialState.ROLLED_BACK


async def test_a_caller_that_has_gone_ends_no_trial() -> None:
    """The session that began it may be the one that the file cuts off."""
    rig = Rig()
    caller, work = await rig.begin()
    caller.cancel()
    rig.runner.applied.set()
    await asyncio.sleep(0.02)
    await rig.trials.decide(Decision.CONFIRM)
    assert await work is True


async def test_only_the_file_that_the_caller_looked_at_is_confirmed() -> None:
    rig = Rig()
    work = await rig.held()
    with pytest.raises(UsageInvalid, match=r"^new\.yml \(dddddddddddd\) is on trial now, and not eeeeeeeeeeee: "):
        await rig.trials.decide(Decision.CONFIRM, "e" * 64)
    assert rig.shown[-1].state is TrialState.HOLDING
    await rig.trials.decide(Decision.CONFIRM, "d" * 64)
    assert await work is True


async def test_only_the_trial_that_the_caller_means_is_rolled_back() -> None:
    """A program that was stopped for longer than its own trial took: another administrator's goes on."""
    rig = Rig()
    work = await rig.held()
    with pytest.raises(UsageInvalid) as refused:
        await rig.trials.decide(Decision.ROLL_BACK, "e" * 64)
    assert str(refused.value) == (
        "new.yml (dddddddddddd) is on trial now, and not eeeeeeeeeeee: that trial has ended. "
        "Look at `nodenetctl status`, and roll back again if the present one is right"
    )
    assert rig.shown[-1].state is TrialState.HOLDING
    await rig.trials.decide(Decision.ROLL_BACK, "d" * 64)
    assert await work is False


async def test_a_confirmation_that_is_refused_does_not_end_the_trial() -> None:
    rig = Rig(Runner(refusals=[would_replace("worker-0.yml")]))
    work = await rig.held()
    with capture_logs() as logged, pytest.raises(UsageInvalid, match=r"^worker-0\.yml was edited during the trial"):
        await rig.trials.decide(Decision.CONFIRM)
    assert [line["message"] for line in logged] == [Message.RELOAD_REFUSED]
    assert rig.shown[-1].state is TrialState.HOLDING
    await rig.trials.decide(Decision.CONFIRM)
    assert await work is True


async def test_a_rollback_beside_a_confirmation_that_is_refused_ends_the_trial() -> None:
    rig = Rig(Runner(refusals=[would_replace("worker-0.yml")]))
    work = await rig.held()
    confirming = asyncio.ensure_future(rig.trials.decide(Decision.CONFIRM))
    await asyncio.sleep(0)
    await rig.trials.decide(Decision.ROLL_BACK)
    assert await work is False
    with pytest.raises(UsageInvalid, match="the trial goes on"):
        await confirming


async def test_an_edit_meanwhile_is_in_status_and_journal() -> None:
    rig = Rig(Runner(edits="worker-0.yml"))
    work = await rig.held()
    with capture_logs() as logged:
        await rig.trials.decide(Decision.ROLL_BACK)
    assert await work is False
    assert rig.shown[-1].edited == "worker-0.yml"
    assert [(line["event"], line["remedy"]) for line in logged if line["message"] is Message.RELOAD_REFUSED] == [
        ("worker-0.yml was edited during the trial and is not applied", "Run `nodenetctl reload --wait` to apply it")
    ]
