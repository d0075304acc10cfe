"""Orders from outside during a trial of a node file: refused, and what runs when the trial has ended."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from loop.test_reconciler import Rig
from loop.test_trials import ORDER, Runner
from nodenet.core.boot.outcome import Problem, Waiting
from nodenet.core.boot.stage_state import Inhibitor
from nodenet.core.errors import Busy, Unavailable, UsageInvalid
from nodenet.core.messages import Message
from nodenet.core.stage_name import StageName
from nodenet.core.trial.trial import TrialState
from nodenet.loop.reload import StageSet


class TrialRig(Rig):
    """A reconciler that can try files by *runner*."""

    def __post_init__(self) -> None:
        self.runner = Runner()
        self.runner.applied.set()
        super().__post_init__()

    def build(self) -> StageSet:
        return replace(super().build(), trial=self.runner)


async def ready(rig: Rig) -> None:
    """Wait until the boot is over."""
    await rig.until(lambda: rig.ready)
    rig.ran.clear()


async def test_no_order_is_taken_and_no_stage_runs_during_a_trial() -> None:
    rig = TrialRig()
    async with rig.running() as reconciler:
        await ready(rig)
        await reconciler.try_file(ORDER)
        for order in (reconciler.reload, reconciler.reselect, reconciler.remove_bridge):
            with pytest.raises(Busy, match=r"a trial of new\.yml holds the network"):
                await order()
        with pytest.raises(Busy):
            reconciler.rerun(StageName.NODEIP)
        with pytest.raises(Busy):
            await reconciler.try_file(ORDER)
        await asyncio.sleep(0.2)
        assert rig.ran == []
        assert rig.watch.last["trial"]["state"] == "holding"
        assert len(rig.watchdog.beats) > 2
        await reconciler.roll_back("")


async def test_node_ips_that_a_trial_takes_away_are_missing_in_the_status() -> None:
    """The trial may last for an hour, and the status said that the health is ok."""
    rig = TrialRig()
    async with rig.running() as reconciler:
        await ready(rig)
        await reconciler.try_file(ORDER)
        rig.drift = Problem(Message.NODE_IP_DRIFT, "192.0.2.5 is gone", "bring it back")
        await rig.until(lambda: rig.watch.last["health"] == "degraded")
        assert (rig.watch.last["trial"]["state"], rig.ran) == ("holding", [])
        rig.drift = None
        await rig.until(lambda: rig.watch.last["health"] == "ok")
        await reconciler.roll_back("")


async def test_the_stages_run_again_when_a_trial_has_ended() -> None:
    """After a confirmation all of them, as in a reload; after a rollback those from the node file on."""
    rig = TrialRig()
    async with rig.running() as reconciler:
        await ready(rig)
        await reconciler.try_file(ORDER)
        rig.inputs.file = ("worker-0.yml", "edited")
        await reconciler.roll_back("")
        await rig.until(lambda: reconciler.status.boot.next() is None and bool(rig.ran))
        assert rig.ran == list(StageName)[list(StageName).index(StageName.NMSTATE) :]
        assert reconciler.status.facts.digest is None  # the stage gets the file as it was read before the trial
        assert not rig[StageName.NMSTATE].requests[-1].retry_refused
        assert rig[StageName.NMSTATE].requests[-1].who == "trial"
        assert rig[StageName.NMSTATE].requests[-1].as_read  # an edit meanwhile waits for a reload
        rig.ran.clear()
        rig.inputs.file = (None, None)
        await reconciler.try_file(ORDER)
        await reconciler.confirm("")
        await rig.until(lambda: reconciler.status.boot.next() is None and bool(rig.ran))
        assert rig.ran == list(StageName)
        trial = reconciler.status.trial
        assert trial is not None
        assert trial.state is TrialState.CONFIRMED


async def test_a_trial_waits_for_no_boot_no_inhibitor_and_no_unit() -> None:
    """It is refused before anything is applied."""
    rig = TrialRig()
    rig[StageName.NMSTATE].play = [Waiting("NetworkManager", seconds=60.0)]
    async with rig.running() as reconciler:
        with pytest.raises(Busy, match=r"the boot of this node is not over \(waiting\)"):
            await reconciler.try_file(ORDER)
    held = TrialRig()
    async with held.running() as reconciler:
        await ready(held)
        hold = Inhibitor(StageName.NMSTATE, "backup", "copies the disk", 1)
        reconciler.inhibit(hold)
        with pytest.raises(Busy, match=r"the stage nmstate is held: .*backup"):
            await reconciler.try_file(ORDER)
    other = Rig()
    async with other.running() as reconciler:
        await ready(other)
        with pytest.raises(UsageInvalid, match="nodenetd does not apply node files here"):
            await reconciler.try_file(ORDER)
        await reconciler.reload()


async def test_a_stop_answers_the_one_who_began_a_trial() -> None:
    rig = TrialRig()
    rig.runner.applied.clear()
    async with rig.running() as reconciler:
        await ready(rig)
        beginning = asyncio.ensure_future(reconciler.try_file(ORDER))
        await rig.until(lambda: reconciler.status.trial is not None)
        reconciler.stop()
    with pytest.raises(Unavailable, match="nodenetd is stopping"):
        await beginning


async def test_a_trial_that_the_loop_never_began_is_answered_too() -> None:
    reconciler = TrialRig().reconciler
    beginning = asyncio.ensure_future(reconciler.try_file(ORDER))
    await asyncio.sleep(0)
    reconciler.stop()
    await reconciler.run()
    with pytest.raises(Unavailable, match="nodenetd is stopping"):
        await beginning
