"""Reloads and edits that meet each other, an error, or the end of the daemon."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
import structlog

from fakes import BOOT_ID, FakeClock, FakeInputs
from loop.test_reconciler import Rig, over
from nodenet.core.boot.outcome import Done, Facts, Failed, Problem, Topic, Waiting
from nodenet.core.errors import NodeFileInvalid, NodenetError, PublishFailed, SettingsInvalid, Unavailable
from nodenet.core.messages import Message
from nodenet.core.settings.model import Settings
from nodenet.core.stage_name import StageName
from nodenet.core.status.document import BootStatus
from nodenet.loop.reconciler import ANSWER_SECONDS, Reconciler
from nodenet.loop.reload import CALM_SECONDS, InForce, Judged

DONE = Done("done", Facts(), Message.STARTED)
WAITING = Waiting("an address", frozenset({Topic.KERNEL}), 60.0)
BAD = NodeFileInvalid("worker-0.yml: prefix-lenght")
PROBLEM = Problem(Message.NODE_FILE_INVALID, "worker-0.yml: prefix-lenght", "mend it")
NEW = Settings(platform="baremetal")


def good(rig: Rig, digest: str) -> None:
    """Lay a good node file on the disk, which the stage finds there."""
    rig.inputs.file, rig.inputs.bad = ("worker-0.yml", digest), None
    rig[StageName.NMSTATE].learns = Facts(node_file="worker-0.yml", digest=digest)


def bad(rig: Rig) -> None:
    """Lay a bad node file on the disk."""
    rig.inputs.file, rig.inputs.bad = ("worker-0.yml", "bad"), BAD


async def test_an_error_met_while_a_reload_is_judged_refuses_it() -> None:
    """The daemon lives, the caller is answered, the cause is told; `/etc/hostname` may be a directory."""
    rig = Rig()
    async with rig.running() as reconciler:
        await rig.until(lambda: rig.ready)
        rig.inputs.fails = PublishFailed("/etc/hostname cannot be read: Is a directory", remedy="Remove it")
        with pytest.raises(PublishFailed, match="Is a directory"):
            await reconciler.reload()
        assert rig.inputs.plants == 1
        assert rig.watch.last["last_error"]["cause"] == "/etc/hostname cannot be read: Is a directory"
        rig.inputs.fails = None
        await reconciler.reload()
        assert rig.watch.last["health"] == "ok"


async def test_what_may_pass_says_nothing_of_a_reload() -> None:
    """The stage meets it too, and can wait."""
    rig = Rig()
    async with rig.running() as reconciler:
        await rig.until(lambda: rig.ready)
        rig.inputs.fails = Unavailable("the bus does not answer")
        await reconciler.reload()
        assert rig.inputs.plants == 2


async def test_an_edit_that_cannot_be_judged_is_refused_once() -> None:
    """While the boot waits, too: it goes on waiting with what it had."""
    rig = Rig()
    rig[StageName.NODEIP].play = [WAITING, DONE]
    async with rig.running() as reconciler:
        await rig.until(lambda: rig[StageName.NODEIP].attempts == 1)
        rig.inputs.now, rig.inputs.fails = NEW, PublishFailed("/etc/hostname cannot be read")
        with structlog.testing.capture_logs() as lines:
            await rig.until(lambda: reconciler.status.refused is not None)
            await asyncio.sleep(2.5 * CALM_SECONDS[0])
        assert len([entry for entry in lines if entry.get("message") is Message.RELOAD_REFUSED]) == 1
        reconciler.wake(Topic.KERNEL)
        await rig.until(lambda: rig.ready)


async def test_refused_settings_are_taken_with_the_mended_file_though_its_stage_waits() -> None:
    """What was judged last is not what is in force."""
    rig = Rig()
    rig[StageName.NMSTATE].play = [Waiting("NetworkManager", seconds=60.0), DONE]
    async with rig.running() as reconciler:
        await rig.until(lambda: rig[StageName.NMSTATE].attempts == 1)
        rig.inputs.now = NEW
        bad(rig)
        await rig.until(lambda: reconciler.status.refused is not None)
        good(rig, "mended")
        await rig.until(lambda: rig.ready)
        assert (rig.inputs.plants, rig.watch.last["health"]) == (2, "ok")


async def test_a_stage_that_sees_the_mended_file_does_not_hide_that_settings_are_refused() -> None:
    """They lie on the disk and are not in force."""
    rig = Rig()
    async with rig.running() as reconciler:
        await rig.until(lambda: rig.ready)
        rig.inputs.now = NEW
        bad(rig)
        with pytest.raises(NodeFileInvalid):
            await reconciler.reload()
        good(rig, "mended")
        reconciler.rerun(StageName.NMSTATE)
        await rig.until(lambda: rig.watch.last["digest"] == "mended")
        assert "the changed settings are not in force either" in rig.watch.last["last_error"]["cause"]
        await reconciler.reload()
        assert rig.watch.last["health"] == "ok"


async def test_settings_that_are_as_before_again_end_their_refusal() -> None:
    """While the boot waits nobody has to reload for that."""
    rig = Rig()
    rig[StageName.NMSTATE].play = [Waiting("NetworkManager", seconds=60.0), DONE]
    async with rig.running() as reconciler:
        await rig.until(lambda: rig[StageName.NMSTATE].attempts == 1)
        rig.inputs.refuse = SettingsInvalid("nodenet.toml: half a line")
        await rig.until(lambda: reconciler.status.refused is not None)
        rig.inputs.refuse = None
        await rig.until(lambda: rig.ready and reconciler.status.refused is None)


async def test_a_reload_that_a_stop_cuts_short_is_not_told_as_done() -> None:
    """Neither to the caller nor in the journal."""
    began = asyncio.Event()

    class Slow(FakeInputs):
        async def judge(self, settings: Settings, facts: Facts) -> Judged:
            began.set()
            await asyncio.sleep(60)
            return await super().judge(settings, facts)

    rig = Rig()
    rig.reconciler = Reconciler(Slow(rig.build), (rig.watch,), rig.watchdog, FakeClock(), BOOT_ID)
    task = asyncio.create_task(rig.reconciler.run())
    await rig.until(lambda: rig.ready)
    reload = asyncio.create_task(rig.reconciler.reload())
    await began.wait()
    with structlog.testing.capture_logs() as lines:
        rig.reconciler.stop()
        await task
    with pytest.raises(Unavailable, match="stopping"):
        await reload
    assert not [entry for entry in lines if entry.get("message") is Message.RELOADED]


async def test_a_node_file_that_comes_after_its_stage_looked_is_an_edit() -> None:
    """However early: what the stage saw is what counts."""
    rig = Rig()
    rig[StageName.NODEIP].play = [WAITING, DONE]
    rig[StageName.NODEIP].before = lambda: good(rig, "early")
    async with rig.running():
        await rig.until(lambda: rig.ready)
        assert (rig.inputs.plants, rig.watch.last["digest"]) == (2, "early")


async def test_a_refused_reload_leaves_the_name_of_the_node_alone() -> None:
    """A new name is taken with its file or not at all; the refused one is judged once all the same."""

    class Renamed(FakeInputs):
        def node_file(self, settings: Settings, facts: Facts) -> Facts:  # noqa: ARG002
            return replace(facts, node_file=f"{facts.hostname}.yml", digest=f"of {facts.hostname}")

        async def judge(self, settings: Settings, facts: Facts) -> Judged:
            return Judged(self.node_file(settings, replace(facts, hostname="new")), BAD)

    rig = Rig()
    inputs = Renamed(rig.build)
    force, facts = InForce(inputs), inputs.node_file(Settings(), Facts(hostname="old"))
    judgement = await force.judge(facts)
    assert judgement.facts == facts
    status = BootStatus(over(rig.reconciler.status.boot), judgement.facts, refused=judgement.refusal)
    assert status.refused
    assert not force.edited(status, 0.0)
    assert not force.edited(status, 100.0)
    assert not force.is_settled(facts), "the stage sees the other name's file"
    assert force.is_settled(replace(facts, hostname="new"))


async def test_a_second_reload_answers_nobody_but_its_own_caller() -> None:
    """One who waits for the first is not told why the second was refused."""
    rig = Rig()
    rig[StageName.NODEIP].play = [DONE, WAITING, DONE]
    async with rig.running() as reconciler:
        await rig.until(lambda: rig.ready)
        first = asyncio.ensure_future(reconciler.reload())
        await rig.until(lambda: rig.last_stage(StageName.NODEIP)["status"] == "waiting")
        rig.inputs.refuse = SettingsInvalid("nodenet.toml: unknown key")
        with pytest.raises(SettingsInvalid):
            await reconciler.reload()
        assert not first.done()
        reconciler.wake(Topic.KERNEL)
        await first


async def test_a_second_reload_does_not_make_the_first_one_wait_longer() -> None:
    """Each caller is told in its own time what the loop waits for."""
    rig, clock = Rig(), FakeClock()
    rig.reconciler = Reconciler(rig.inputs, (rig.watch,), rig.watchdog, clock, BOOT_ID)
    rig[StageName.NODEIP].play = [DONE, WAITING]

    async def waits(attempts: int) -> None:
        nodeip = rig[StageName.NODEIP]
        await rig.until(lambda: nodeip.attempts >= attempts and rig.last_stage(StageName.NODEIP)["status"] == "waiting")

    async with rig.running() as reconciler:
        await rig.until(lambda: rig.ready)
        first = asyncio.ensure_future(reconciler.reload())
        await waits(2)
        clock.now += 0.7 * ANSWER_SECONDS
        second = asyncio.ensure_future(reconciler.reload())
        await waits(3)
        clock.now += 0.7 * ANSWER_SECONDS
        reconciler.wake(Topic.KERNEL)
        with pytest.raises(Unavailable, match="nodeip waits: an address"):
            await first
        assert not second.done()
    with pytest.raises(NodenetError, match="stopping"):
        await second


async def test_what_writes_a_file_again_and_again_does_not_hold_kubelet_back() -> None:
    """Each boot that an edit began asks for a longer calm; one that somebody asks for does not."""
    rig = Rig()
    force, boot = InForce(rig.inputs), over(rig.reconciler.status.boot)
    now, waited = 0.0, []
    for number in range(5):
        status = BootStatus(boot, Facts(node_file="worker-0.yml", digest=str(number)))
        rig.inputs.file = ("worker-0.yml", str(number + 1))
        began = now
        while not force.edited(status, now):
            now += 0.5
        waited.append(now - began)
        force.take(await force.judge(status.facts), status, asked=number == 1)
    assert waited == [1.0, 5.0, 5.0, 30.0, 30.0]


async def test_a_refused_edit_does_not_make_the_mended_one_wait() -> None:
    """It cost the boot nothing."""
    rig = Rig(degrade=False)
    rig[StageName.NMSTATE].play = [Failed(PROBLEM, Facts()), DONE]
    async with rig.running() as reconciler:
        await rig.until(lambda: bool(rig.watch.shown) and rig.watch.last["health"] == "failed")
        with structlog.testing.capture_logs() as lines:
            bad(rig)
            await rig.until(lambda: reconciler.status.refused is not None)
            good(rig, "mended")
            await rig.until(lambda: rig.ready)
    edits = [entry["event"] for entry in lines if entry.get("message") is Message.EDITED]
    told = "Settings or node file were edited while the boot waits: read again, unchanged for 1 s"
    assert edits == [told, told]
