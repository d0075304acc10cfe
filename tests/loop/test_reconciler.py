"""The loop: order, waits, failures, reloads, stop. With stages that do as the test tells them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from fakes import BOOT_ID, FakeClock, FakeInputs, FakePulse, FakeWatch
from nodenet.core.boot.outcome import Again, Done, Facts, Failed, Outcome, Problem, Skipped, Topic, Waiting
from nodenet.core.boot.stage_state import NOTHING, Inhibitor, Request
from nodenet.core.boot.stages import BUILT, Boot, new_boot
from nodenet.core.errors import (
    ApplyFailed,
    BridgeForeign,
    Busy,
    LibnmstateMissing,
    NodeFileInvalid,
    NodenetError,
    SettingsInvalid,
    Unavailable,
)
from nodenet.core.messages import Message
from nodenet.core.node_ip.select import Selection
from nodenet.core.settings.model import Settings
from nodenet.core.stage_name import StageName
from nodenet.core.status.document import line
from nodenet.loop.reconciler import Reconciler
from nodenet.loop.reload import CALM_SECONDS, InForce, StageSet
from nodenet.ports import Watch
from virtual_time import VirtualClock

PROBLEM = Problem(Message.APPLY_FAILED, "it did not hold", "look at it")


@dataclass
class Scripted:
    """A stage that plays its outcomes one after another; the last one again and again."""

    name: StageName
    ran: list[StageName]
    play: list[Outcome] = field(default_factory=list)
    attempts: int = 0
    before: Callable[[], None] = lambda: None
    learns: Facts | None = None
    requests: list[Request] = field(default_factory=list)
    takes: float = 0.0
    """Seconds of an attempt."""

    async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:
        self.attempts += 1
        self.requests.append(request)
        self.ran.append(self.name)
        self.before()
        await asyncio.sleep(self.takes)
        outcome = self.play.pop(0) if len(self.play) > 1 else self.play[0]
        return outcome if isinstance(outcome, Waiting) else replace(outcome, facts=self.learns or facts)


@dataclass
class Rig:
    """A reconciler over scripted stages."""

    degrade: bool = True
    ran: list[StageName] = field(default_factory=list)
    watch: FakeWatch = field(default_factory=FakeWatch)
    watchdog: FakePulse = field(default_factory=FakePulse)
    drift: Problem | None = None
    providers: dict[str, str] = field(default_factory=dict)
    watches: tuple[Watch, ...] = ()
    look: Callable[[], Problem | None] | None = None

    def __post_init__(self) -> None:
        done = Done("done", Facts(), Message.STARTED)
        self.stages = {name: Scripted(name, self.ran, [done]) for name in BUILT}
        self.inputs = FakeInputs(self.build)
        self.reconciler = self.made(self.inputs)

    def made(self, inputs: FakeInputs) -> Reconciler:
        return Reconciler(inputs, (*self.watches, self.watch), self.watchdog, VirtualClock(), BOOT_ID)

    def build(self) -> StageSet:
        stages = dict(self.stages)
        return StageSet(new_boot(self.providers, degrade=self.degrade), stages, "OVNKubernetes", 60.0, self.lost)

    def lost(self, facts: Facts) -> tuple[Problem, ...]:  # noqa: ARG002
        lost = self.look() if self.look else self.drift
        return (lost,) if lost else ()

    def __getitem__(self, name: StageName) -> Scripted:
        return self.stages[name]

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Reconciler]:
        task = asyncio.create_task(self.reconciler.run())
        try:
            yield self.reconciler
        finally:
            self.reconciler.stop()
            await task

    async def until(self, reached: Callable[[], bool]) -> None:
        while not reached():
            await asyncio.sleep(0.005)

    def last_stage(self, name: StageName) -> dict[str, Any]:
        stages = self.watch.last["stages"] if self.watch.shown else [{"name": name, "status": "", "detail": ""}]
        return next(stage for stage in stages if stage["name"] == name)

    @property
    def ready(self) -> bool:
        return bool(self.watch.shown) and bool(self.watch.last["ready"])


async def test_the_stages_run_in_their_order_and_then_the_node_is_ready() -> None:
    """READY comes once, at the end."""
    rig = Rig()
    async with rig.running():
        await rig.until(lambda: rig.ready)
    assert rig.ran == list(StageName)
    assert [status.ready for status in rig.watch.shown] == sorted(status.ready for status in rig.watch.shown)
    assert rig.watch.last["health"] == "ok"


async def test_it_is_told_how_long_others_worked_in_an_attempt() -> None:
    """The story has it as a field, for who asks what nodenetd itself adds to a boot."""
    rig, clock = Rig(), FakeClock()
    rig.reconciler = Reconciler(rig.inputs, (rig.watch,), rig.watchdog, clock, BOOT_ID)
    clock.away = 7.0
    rig[StageName.NMSTATE].before = lambda: setattr(clock, "away", clock.away + 2.5)
    async with rig.running():
        await rig.until(lambda: rig.ready)
    boot = rig.reconciler.status.boot
    assert (boot[StageName.NMSTATE].elsewhere, boot[StageName.NODEIP].elsewhere) == (2.5, 0.0)


async def test_a_waiting_stage_holds_back_everything_behind_it() -> None:
    """Its reason is shown, and the next stage does not begin."""
    rig = Rig()
    rig[StageName.NMSTATE].play = [Waiting("NetworkManager", frozenset({Topic.NETWORK_MANAGER}), 60.0)]
    async with rig.running():
        await rig.until(
            lambda: (
                bool(rig.watch.shown) and rig.watch.last["health"] == "waiting" and rig[StageName.NMSTATE].attempts == 1
            )
        )
        await asyncio.sleep(0.05)
        assert rig[StageName.NODEIP].attempts == 0
        assert rig.watch.last["stage"] == "nmstate"
        assert rig.watch.last["stages"][1]["detail"] == "NetworkManager"
        assert rig.watch.last["stages"][1]["status"] == "waiting"


async def test_an_event_of_its_topic_wakes_a_waiting_stage_and_no_other_event_does() -> None:
    """Level-triggered: the stage looks again."""
    rig = Rig()
    done = Done("done", Facts(), Message.STARTED)
    rig[StageName.NODEIP].play = [Waiting("an address", frozenset({Topic.KERNEL}), 60.0), done]
    async with rig.running() as reconciler:
        await rig.until(lambda: rig[StageName.NODEIP].attempts == 1)
        reconciler.wake(Topic.HOSTNAME)
        await asyncio.sleep(0.05)
        assert rig[StageName.NODEIP].attempts == 1
        reconciler.wake(Topic.KERNEL)
        await rig.until(lambda: rig.ready)


async def test_an_event_during_an_attempt_is_not_lost() -> None:
    """The stage that read the world just before the event looks again."""
    rig = Rig()
    nodeip = rig[StageName.NODEIP]
    nodeip.play = [Waiting("an address", frozenset({Topic.KERNEL}), 60.0), Done("d", Facts(), Message.STARTED)]
    nodeip.before = lambda: rig.reconciler.wake(Topic.KERNEL)
    async with rig.running():
        await rig.until(lambda: rig.ready)


async def test_a_source_of_events_is_listened_to_only_while_it_is_waited_for() -> None:
    """What nobody waits for costs nothing: not in a boot without waits, not when kubelet runs."""

    class Ear:
        def __init__(self) -> None:
            self.told: list[str] = []

        def start(self) -> None:
            self.told.append(f"start in {rig.watch.last['stage']}")

        def stop(self) -> None:
            self.told.append("stop")

    rig, ear = Rig(), Ear()
    rig.reconciler.listen_while_waiting(Topic.KERNEL, ear)
    done = Done("done", Facts(), Message.STARTED)
    rig[StageName.NMSTATE].play = [Waiting("something else", frozenset({Topic.BUS}), 0.01), done]
    rig[StageName.NODEIP].play = [Waiting("an address", frozenset({Topic.KERNEL}), 0.01), done]
    async with rig.running():
        await rig.until(lambda: rig.ready and "stop" in ear.told)
    assert ear.told[:2] == ["start in nodeip", "stop"]


async def test_a_held_stage_waits_until_the_last_holder_lets_go() -> None:
    """It is not run, says who holds it, and what is behind it waits too."""
    rig = Rig()
    first, second = (Inhibitor(StageName.NMSTATE, who, "copies the disk", number) for number, who in enumerate("ab"))
    rig.reconciler.inhibit(first)
    rig.reconciler.inhibit(second)
    async with rig.running() as reconciler:
        await rig.until(lambda: rig.last_stage(StageName.NMSTATE)["status"] == "waiting")
        assert rig.last_stage(StageName.NMSTATE)["detail"] == "inhibited by a: copies the disk (and 1 more)"
        assert rig.last_stage(StageName.NMSTATE)["held"] == [
            {"who": "a", "why": "copies the disk"},
            {"who": "b", "why": "copies the disk"},
        ]
        reconciler.release(first)
        await rig.until(lambda: rig.last_stage(StageName.NMSTATE)["detail"] == "inhibited by b: copies the disk")
        assert rig.ran == [StageName.HOSTNAME]
        reconciler.release(second)
        await rig.until(lambda: rig.ready)


async def test_a_hold_on_a_stage_that_is_over_concerns_its_next_run() -> None:
    """What is done stays done; a reload waits for the holder."""
    rig = Rig()
    async with rig.running() as reconciler:
        await rig.until(lambda: rig.ready)
        hold = Inhibitor(StageName.NMSTATE, "backup", "copies the disk", 1)
        reconciler.inhibit(hold)
        assert rig.watch.last["health"] == "ok"
        reload = asyncio.ensure_future(reconciler.reload())
        await rig.until(lambda: rig.last_stage(StageName.NMSTATE)["status"] == "waiting")
        assert rig[StageName.NMSTATE].attempts == 1
        reconciler.release(hold)
        await reload
        assert rig[StageName.NMSTATE].attempts == 2


async def test_a_stage_that_runs_cannot_be_held_any_more() -> None:
    """The caller gets an answer."""
    rig = Rig()
    refused: list[Busy] = []

    def hold() -> None:
        with pytest.raises(Busy) as caught:
            rig.reconciler.inhibit(Inhibitor(StageName.NMSTATE, "backup", "copies the disk", 1))
        refused.append(caught.value)

    rig[StageName.NMSTATE].before = hold
    async with rig.running():
        await rig.until(lambda: rig.ready)
    assert len(refused) == 1


async def test_a_failed_stage_degrades_the_node() -> None:
    """Kubelet may start; status shows stage, cause and remedy."""
    rig = Rig()
    rig[StageName.NMSTATE].play = [Failed(PROBLEM, Facts())]
    async with rig.running():
        await rig.until(lambda: rig.ready)
    assert rig.watch.last["health"] == "degraded"
    assert rig.watch.last["last_error"] == {
        "message_id": Message.APPLY_FAILED.value,
        "stage": "nmstate",
        "cause": "it did not hold",
        "remedy": "look at it",
    }


async def test_a_failed_stage_holds_the_node_back_where_the_settings_say_so() -> None:
    """`on_failure = "wait"`: no READY, health failed, until somebody reloads."""
    rig = Rig(degrade=False)
    rig[StageName.NMSTATE].play = [Failed(PROBLEM, Facts()), Done("done", Facts(), Message.STARTED)]
    async with rig.running() as reconciler:
        await rig.until(lambda: bool(rig.watch.shown) and rig.watch.last["health"] == "failed")
        assert not rig.ready
        assert rig[StageName.NODEIP].attempts == 0
        await reconciler.reload()
        assert rig.ready


async def test_a_reload_runs_every_stage_again_and_stays_ready() -> None:
    """READY is not taken back."""
    rig = Rig()
    async with rig.running() as reconciler:
        await rig.until(lambda: rig.ready)
        await reconciler.reload()
        assert rig[StageName.NMSTATE].attempts == 2
        assert rig.inputs.plants == 2
        assert rig.ready


async def test_a_refused_reload_names_the_cause() -> None:
    """The caller gets cause and remedy."""
    rig = Rig()
    rig[StageName.NMSTATE].play = [Skipped("nothing to do", Facts()), Failed(PROBLEM, Facts())]
    async with rig.running() as reconciler:
        await rig.until(lambda: rig.ready)
        with pytest.raises(ApplyFailed, match=r"nmstate: it did not hold\. look at it"):
            await reconciler.reload()


async def test_bad_settings_are_refused_and_stay_a_problem_until_a_good_reload() -> None:
    """No stage is run again, the old ones stay in force; the next boot would not get past them, so that is shown."""
    rig = Rig()
    async with rig.running() as reconciler:
        await rig.until(lambda: rig.ready)
        rig.inputs.refuse = SettingsInvalid("nodenet.toml: unknown key `familes`", remedy="Edit nodenet.toml")
        with structlog.testing.capture_logs() as lines, pytest.raises(SettingsInvalid, match="familes"):
            await reconciler.reload()
        assert (rig[StageName.NMSTATE].attempts, rig.inputs.plants) == (1, 1)
        assert rig.watch.last["health"] == "degraded"
        error = rig.watch.last["last_error"]
        assert error["stage"] is None
        assert "those of the start of nodenetd stay in force, but the next boot would end here" in error["cause"]
        assert error["remedy"] == "Edit nodenet.toml; then run `nodenetctl reload --wait`"
        assert line(rig.watch.shown[-1]) == f"degraded: {error['cause']}"
        assert [entry["event"] for entry in lines if "familes" in entry["event"]] == [error["cause"]]
        rig.inputs.refuse = None
        await reconciler.reload()
        assert (rig.watch.last["health"], rig.watch.last["last_error"]) == ("ok", None)


async def test_nothing_of_a_reload_is_in_force_when_its_node_file_is_refused() -> None:
    """The settings wait for the file: it is judged before they are taken, and the status shows the file's digest."""
    rig = Rig()
    async with rig.running() as reconciler:
        await rig.until(lambda: rig.ready)
        rig.inputs.now = Settings(platform="baremetal")
        rig.inputs.file, rig.inputs.bad = ("worker-0.yml", "new"), NodeFileInvalid("worker-0.yml: prefix-lenght")
        refused = "nmstate: worker-0.yml: prefix-lenght; the changed settings are not in force either"
        with structlog.testing.capture_logs() as lines, pytest.raises(NodeFileInvalid, match=refused):
            await reconciler.reload()
        assert (rig[StageName.NMSTATE].attempts, rig.inputs.plants) == (1, 1)
        assert (rig.watch.last["digest"], rig.watch.last["last_error"]["stage"]) == ("new", "nmstate")
        assert len([entry for entry in lines if "prefix-lenght" in entry["event"]]) == 1
        assert lines[-1]["event"] == "Reload refused: everything stays as it is"
        rig.inputs.bad = None
        await reconciler.reload()
        assert (rig.watch.last["health"], rig.inputs.plants) == ("ok", 2)


async def test_a_stage_that_has_seen_the_refused_file_ends_the_refusal() -> None:
    """By RunStage, without a reload."""
    rig = Rig()
    async with rig.running() as reconciler:
        await rig.until(lambda: rig.ready)
        rig.inputs.bad = NodeFileInvalid("worker-0.yml: prefix-lenght")
        with pytest.raises(NodeFileInvalid):
            await reconciler.reload()
        reconciler.rerun(StageName.NMSTATE)
        await rig.until(lambda: rig.watch.last["health"] == "ok")


async def test_what_fails_only_when_it_is_applied_is_told_with_what_is_in_force() -> None:
    """Never that everything is as before."""
    rig = Rig()
    rig[StageName.NMSTATE].play = [Skipped("nothing to do", Facts()), Failed(PROBLEM, Facts())]
    async with rig.running() as reconciler:
        await rig.until(lambda: rig.ready)
        rig.inputs.now = Settings(platform="baremetal")
        told = "the changed settings are in force, but nmstate: it did not hold"
        with structlog.testing.capture_logs() as lines, pytest.raises(ApplyFailed, match=told):
            await reconciler.reload()
    (ending,) = [entry for entry in lines if entry.get("message") is Message.RELOAD_REFUSED]
    assert ending["event"] == "Reloaded in part: the settings are in force, but nmstate failed, as logged before"


@pytest.mark.parametrize("waits", [True, False], ids=["a stage waits", "a stage failed for good"])
async def test_an_edit_while_the_boot_waits_is_taken_without_a_reload(waits: bool) -> None:  # noqa: FBT001
    """Systemd keeps a reload back until the unit has started: nobody could ask for one through it."""
    rig = Rig(degrade=False)
    done = Done("done", Facts(), Message.STARTED)
    rig[StageName.NMSTATE].play = [done] if waits else [Failed(PROBLEM, Facts()), done]
    rig[StageName.NODEIP].play = [Waiting("a hint", seconds=60.0), done] if waits else [done]
    async with rig.running():
        await rig.until(lambda: bool(rig.watch.shown) and rig.watch.last["health"] in ("waiting", "failed"))
        await asyncio.sleep(0.01)
        assert not rig.ready
        rig.inputs.now = Settings(platform="baremetal")
        await rig.until(lambda: rig.ready)
        assert rig.inputs.plants == 2


async def test_an_edit_is_judged_once_and_only_when_it_is_complete() -> None:
    """A bad one is told once and leaves the boot as it was; an editor's half is never read."""
    rig, clock, calm = Rig(degrade=False), FakeClock(), CALM_SECONDS[0]
    comments = ("worker-0.yml", "nothing but comments")
    force, boot = InForce(rig.inputs), over(rig.reconciler.status.boot)
    status = replace(rig.reconciler.status, boot=boot, facts=Facts(unused=comments))
    rig.inputs.file = comments
    assert not force.edited(status, clock.now)
    assert not force.edited(status, clock.now + 2 * calm)
    rig.inputs.file = ("worker-0.yml", "half")
    assert not force.edited(status, clock.now)
    rig.inputs.file = ("worker-0.yml", "whole")
    assert not force.edited(status, clock.now + calm)
    assert force.edited(status, clock.now + 2 * calm)
    rig.inputs.bad = NodeFileInvalid("worker-0.yml: prefix-lenght")
    status = replace(status, refused=(await force.judge(status.facts)).refusal)
    assert status.refused
    assert not force.edited(status, clock.now + 3 * calm)
    assert not force.edited(status, clock.now + 9 * calm)
    rig.inputs.refuse = SettingsInvalid("nodenet.toml: half a line")
    assert not force.edited(status, clock.now + 10 * calm)
    assert force.edited(status, clock.now + 11 * calm)


def over(boot: Boot) -> Boot:
    """Return the boot with nmstate over."""
    return boot.begun(StageName.NMSTATE, 1.0).after(StageName.NMSTATE, Skipped("no file", Facts()), 1.0)


async def test_an_edit_after_ready_waits_for_its_reload() -> None:
    """The network of a node with pods changes only when somebody says so."""
    rig = Rig()
    async with rig.running():
        await rig.until(lambda: rig.ready)
        rig.inputs.now = Settings(platform="baremetal")
        await asyncio.sleep(1.5 * CALM_SECONDS[0])
        assert rig.inputs.plants == 1


async def test_the_journal_says_what_was_asked_for() -> None:
    """Only a reload ends with `Reloaded`."""
    rig = Rig()
    async with rig.running() as reconciler:
        await rig.until(lambda: rig.ready)
        with structlog.testing.capture_logs() as lines:
            await reconciler.reselect()
            await reconciler.remove_bridge()
        assert [entry["event"] for entry in lines if entry["event"].startswith("Asked to")] == [
            "Asked to choose the node IPs again",
            "Asked to remove br-ex",
        ]
        assert not [entry for entry in lines if entry.get("message") is Message.RELOADED]
        with structlog.testing.capture_logs() as lines:
            await reconciler.reload()
        assert lines[-1]["message"] is Message.RELOADED


async def test_many_reloads_at_once_are_one() -> None:
    """Serialised and coalesced; each caller is answered."""
    rig = Rig()
    async with rig.running() as reconciler:
        await rig.until(lambda: rig.ready)
        await asyncio.gather(*(reconciler.reload() for _ in range(50)))
        assert rig[StageName.NMSTATE].attempts == 2


async def test_a_reload_with_a_slow_apply_is_answered_with_what_became_of_it() -> None:
    """Work that takes longer than a wait may is no wait."""
    rig, clock = Rig(), FakeClock()
    rig.reconciler = Reconciler(rig.inputs, (rig.watch,), rig.watchdog, clock, BOOT_ID)

    def take_long() -> None:
        clock.now += 1000

    async with rig.running() as reconciler:
        await rig.until(lambda: rig.ready)
        rig[StageName.NMSTATE].before = take_long
        await reconciler.reload()


async def test_a_reload_that_is_asked_for_during_an_attempt_waits_for_its_end() -> None:
    """Never two applies at once."""
    rig = Rig()
    asked: list[asyncio.Task[None]] = []
    nmstate = rig[StageName.NMSTATE]

    def ask_once() -> None:
        if not asked:
            asked.append(asyncio.ensure_future(rig.reconciler.reload()))

    nmstate.before = ask_once
    async with rig.running():
        await rig.until(lambda: bool(asked) and asked[0].done())
        assert nmstate.attempts == 2


async def test_one_stage_can_be_run_again() -> None:
    """Those behind it follow."""
    rig = Rig()
    async with rig.running() as reconciler:
        await rig.until(lambda: rig.ready)
        reconciler.rerun(StageName.NODEIP)
        await rig.until(lambda: rig[StageName.NODEIP].attempts == 2)
        assert rig[StageName.NMSTATE].attempts == 1


async def test_a_stop_cancels_a_running_attempt() -> None:
    """The stage cleans up, the loop ends, nobody waits for ever."""
    rig = Rig()
    cleaned: list[bool] = []

    class Endless:
        async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:  # noqa: ARG002
            try:
                await asyncio.Event().wait()
            finally:
                cleaned.append(True)
            raise AssertionError

    rig.stages[StageName.NMSTATE] = Endless()  # type: ignore[assignment]
    rig.reconciler = Reconciler(rig.inputs, (rig.watch,), rig.watchdog, VirtualClock(), BOOT_ID)
    task = asyncio.create_task(rig.reconciler.run())
    await rig.until(
        lambda: (
            bool(rig.watch.shown)
            and rig.watch.last["stage"] == "nmstate"
            and rig.watch.last["stages"][1]["status"] == "running"
        )
    )
    rig.reconciler.stop()
    await task
    assert cleaned == [True]


async def test_the_pulse_beats_while_a_stage_waits_and_while_it_runs() -> None:
    """And tells whether the start timeout is to be extended."""
    rig = Rig()
    rig[StageName.NODEIP].play = [Waiting("an address", frozenset(), 60.0)]
    async with rig.running():
        await rig.until(lambda: len(rig.watchdog.beats) >= 3)
    assert all(rig.watchdog.beats)
    rig = Rig()
    async with rig.running():
        await rig.until(lambda: rig.ready)
        rig.watchdog.beats.clear()
        await rig.until(lambda: bool(rig.watchdog.beats))
    assert not any(rig.watchdog.beats)


async def test_the_start_timeout_is_extended_until_systemd_has_taken_ready() -> None:
    """While its queue was full for more than 90 s, systemd ended nodenetd."""
    rig = Rig()
    async with rig.running() as reconciler:
        await rig.until(lambda: rig.ready)
        reconciler.doubts.unheard(1000.0)
        await asyncio.sleep(60)
        rig.watchdog.beats.clear()
        await asyncio.sleep(60)
        assert rig.watchdog.beats
        assert all(rig.watchdog.beats)


async def test_a_lost_node_ip_is_told_once_and_degrades_the_node_until_it_is_back() -> None:
    """Nothing is changed by itself; signal, status and one journal line say so."""
    rig = Rig()
    async with rig.running():
        await rig.until(lambda: rig.ready)
        rig.drift = Problem(Message.NODE_IP_DRIFT, "192.0.2.5 is gone", "bring it back")
        await rig.until(lambda: rig.watch.last["health"] == "degraded")
        assert rig.watch.last["last_error"]["cause"] == "192.0.2.5 is gone"
        assert rig[StageName.NODEIP].attempts == 1, "the stage is not attempted again after READY"
        rig.drift = None
        await rig.until(lambda: rig.watch.last["health"] == "ok")


async def test_nothing_is_called_missing_while_a_change_is_open_or_being_undone() -> None:
    """An apply, its rollback and the activation after it may take the node IP away; what is lost then is said."""
    rig = Rig()
    lost = Problem(Message.NODE_IP_DRIFT, "192.0.2.5 is gone", "bring it back")
    refused = Failed(Problem(Message.PROBE_FAILED, "the gateway does not answer", ""), Facts())
    async with rig.running() as reconciler:
        await rig.until(lambda: rig.ready)
        rig[StageName.NMSTATE].takes, rig[StageName.NMSTATE].play = 100.0, [refused]
        rig[StageName.NODEIP].play = [
            Waiting("192.0.2.5 to be back", seconds=5.0),
            Done("kept", Facts(), Message.READY),
        ]
        reload = asyncio.create_task(reconciler.reload())
        await asyncio.sleep(50)
        rig.drift = lost
        await rig.until(lambda: rig.last_stage(StageName.NODEIP)["status"] == "waiting")
        assert [problem["cause"] for problem in rig.watch.last["problems"]] == ["the gateway does not answer"]
        assert not any(status.drift for status in rig.watch.shown)
        await rig.until(lambda: rig.last_stage(StageName.NODEIP)["status"] == "done")
        with contextlib.suppress(NodenetError):  # it was answered with what it waits for
            await reload
        assert not rig.watch.shown[-1].drift, "the link may be activating again"
        await rig.until(lambda: bool(rig.watch.shown[-1].drift))
        causes = [problem["cause"] for problem in rig.watch.last["problems"]]
        assert causes == ["the gateway does not answer", "192.0.2.5 is gone"], "the cause, then what is lost"


async def test_a_file_that_takes_the_node_ip_away_is_never_ok() -> None:
    """The stage has waited for it, and the file was applied: the order fails, and the status says so at once."""
    rig = Rig()
    async with rig.running() as reconciler:
        await rig.until(lambda: rig.ready)
        rig[StageName.NODEIP].play = [
            Waiting("192.0.2.5 to be back", seconds=5.0),
            Done("kept", Facts(), Message.READY),
        ]
        rig.drift = Problem(Message.NODE_IP_DRIFT, "192.0.2.5 is gone", "bring it back")
        rig.watch.shown.clear()
        with pytest.raises(NodenetError, match=r"carried out, but 192\.0\.2\.5 is gone"):
            await reconciler.reload()
        assert rig.watch.last["health"] == "degraded"
        await reconciler.reload()  # the loss is the same as before: this order did not bring it about


async def test_a_lost_node_ip_wakes_the_stage_that_can_bring_it_back() -> None:
    """br-ex is given up where Open vSwitch does not work: its next look was up to five minutes away."""
    rig = Rig()
    lost = frozenset({Topic.NODE_IP_LOST})
    rig[StageName.CONFIGURE_OVS].play = [Done("made", Facts(), Message.BRIDGE_MADE, again=Again(lost, 300.0))]
    async with rig.running():
        await rig.until(lambda: rig.ready)
        await asyncio.sleep(10)
        assert rig[StageName.CONFIGURE_OVS].attempts == 1
        for cause, attempts in (("192.0.2.5 is gone", 2), (None, 2), ("192.0.2.5 is gone again", 3)):
            rig.drift = Problem(Message.NODE_IP_DRIFT, cause, "bring it back") if cause else None
            await asyncio.sleep(10)
            assert rig[StageName.CONFIGURE_OVS].attempts == attempts


async def test_a_reselection_runs_the_nodeip_stage_anew() -> None:
    """And only those behind it; its request says so, once."""
    rig = Rig()
    async with rig.running() as reconciler:
        await rig.until(lambda: rig.ready)
        await reconciler.reselect()
        assert rig[StageName.NMSTATE].attempts == 1
        assert rig[StageName.NODEIP].requests == [Request(), Request(1, reselect=True, who="reselect")]
        assert rig[StageName.CONFIGURE_OVS].requests[-1] == Request(1, who="reselect")


async def test_bridge_remove_where_a_unit_makes_br_ex_is_refused_and_forgotten() -> None:
    """Nothing sticks: the caller is refused, and a later reload orders no removal (R21)."""
    rig = Rig()
    rig.providers = {"configure-ovs": "unit:ovs-configuration.service"}
    rig.reconciler = rig.made(rig.inputs)
    async with rig.running() as reconciler:
        await rig.until(lambda: rig.ready)
        with pytest.raises(BridgeForeign, match=r"ovs-configuration\.service makes br-ex"):
            await reconciler.remove_bridge()
        assert rig[StageName.CONFIGURE_OVS].attempts == 1
        rig.providers = {}
        await reconciler.reload()
    assert rig[StageName.CONFIGURE_OVS].requests == [Request(), Request(1, retry_refused=True, who="reload")]


async def test_a_removal_ordered_before_the_node_file_is_known_is_refused_by_it() -> None:
    """The file defines br-ex: `bridge remove` must not report success (R21)."""
    rig = Rig()
    nmstate = rig[StageName.NMSTATE]
    nmstate.play = [Waiting("NetworkManager", seconds=0.2), Done("applied", Facts(), Message.STARTED)]
    nmstate.learns = Facts(node_file="w.yml", brings_bridge=True)
    async with rig.running() as reconciler:
        with pytest.raises(BridgeForeign, match=r"w\.yml defines br-ex itself"):
            await reconciler.remove_bridge()
        assert rig[StageName.CONFIGURE_OVS].attempts == 0
        await rig.until(lambda: rig.ready)


async def test_a_removal_succeeds_though_a_stage_behind_it_fails() -> None:
    """Hosted services are none of it."""
    rig = Rig()
    rig[StageName.HOSTED_SERVICES].play = [Failed(PROBLEM, Facts())]
    async with rig.running() as reconciler:
        await rig.until(lambda: rig.ready)
        await reconciler.remove_bridge()
        with pytest.raises(ApplyFailed):
            await reconciler.reselect()


async def test_a_removal_that_has_to_wait_is_carried_out_through_a_reload() -> None:
    """The order stays while its stage waits, once; afterwards nothing of it is left (R21)."""
    rig = Rig()
    bridge = rig[StageName.CONFIGURE_OVS]
    done = Done("done", Facts(), Message.STARTED)
    async with rig.running() as reconciler:
        await rig.until(lambda: rig.ready)
        bridge.play = [Waiting("NetworkManager", frozenset({Topic.NETWORK_MANAGER}), 60.0), done]
        removal = asyncio.ensure_future(reconciler.remove_bridge())
        await rig.until(lambda: bridge.attempts == 2)
        await asyncio.gather(reconciler.reload(), removal)
        await reconciler.reload()
    assert [request.remove_bridge for request in bridge.requests] == [False, True, True, False]


async def test_a_reload_of_a_node_that_lacks_something_else_is_not_refused() -> None:
    """Only a stage that failed refuses it."""
    rig = Rig()
    rig[StageName.NODEIP].play = [Done("one family", Facts(), Message.STARTED, PROBLEM)]
    async with rig.running() as reconciler:
        await rig.until(lambda: rig.ready)
        assert rig.watch.last["health"] == "degraded"
        await reconciler.reload()


async def test_an_error_that_may_pass_is_waited_out_and_a_permanent_one_ends_the_daemon() -> None:
    """A unit that fails its first start leaves its dependents behind."""
    rig = Rig()
    nodeip = rig[StageName.NODEIP]
    failures: list[NodenetError] = [Unavailable("netlink is full", remedy="Wait")]

    def fail_once() -> None:
        if failures:
            raise failures.pop()

    nodeip.before = fail_once
    async with rig.running() as reconciler:
        await rig.until(lambda: rig.watch.shown[-1:] != [] and rig.watch.last["stages"][3]["status"] == "waiting")
        assert rig.watch.last["stages"][3]["detail"] == "try 2, after: netlink is full. Wait"
        reconciler.rerun(StageName.NODEIP)
        await rig.until(lambda: rig.ready)
    rig = Rig()
    failures.append(LibnmstateMissing("No module named libnmstate"))
    rig[StageName.NMSTATE].before = fail_once
    with pytest.raises(LibnmstateMissing):
        await rig.reconciler.run()


async def test_a_stage_that_is_over_is_looked_at_again_on_its_events_before_and_after_ready() -> None:
    """The second pass on the node IP comes before configure-ovs; later ones leave READY and the other stages alone."""
    rig = Rig()
    nodeip = StageName.NODEIP
    look = Again(frozenset({Topic.NODE_IP, Topic.OVS}))
    rig[StageName.HOSTNAME].play = [Done("first", Facts(), Message.STARTED, again=look)]
    rig[nodeip].play = [Done("selected", Facts(), Message.STARTED)]
    rig[nodeip].learns = Facts(selection=Selection((ip_address("192.0.2.5"),), "eth0"))
    async with rig.running() as reconciler:
        await rig.until(lambda: rig.ready)
        order = [name for name in StageName if name in BUILT]
        behind = order.index(nodeip) + 1
        first = [*order[:behind], StageName.HOSTNAME, *order[behind:]]
        assert rig.ran == first
        rig[StageName.HOSTNAME].play = [Done("second", Facts(), Message.STARTED, again=look)]
        reconciler.wake(Topic.OVS)
        await rig.until(lambda: rig.watch.last["stages"][0]["detail"] == "second")
        assert rig.ran == [*first, StageName.HOSTNAME]
        reconciler.wake(Topic.KERNEL)
        await asyncio.sleep(0.05)
        assert rig.ran == [*first, StageName.HOSTNAME]
    assert all(status.ready for status in rig.watch.shown[-2:])


async def test_a_problem_that_a_second_look_finds_again_is_told_once() -> None:
    """One cause line a failure, though the stage has something else to say."""
    rig = Rig()
    look = Again(frozenset({Topic.DNS}))
    rig[StageName.NMSTATE].play = [Done("first", Facts(), Message.STARTED, PROBLEM, look)]
    with structlog.testing.capture_logs() as lines:
        async with rig.running() as reconciler:
            await rig.until(lambda: rig.ready)
            rig[StageName.NMSTATE].play = [Done("second", Facts(), Message.STARTED, PROBLEM, look)]
            reconciler.wake(Topic.DNS)
            await rig.until(lambda: rig.watch.last["stages"][1]["detail"] == "second")
    assert [line["event"] for line in lines if line["log_level"] == "error"] == [PROBLEM.cause]


async def test_a_failed_stage_heals_by_a_second_look() -> None:
    """Degraded until then; a look that must wait changes nothing and comes again."""
    rig = Rig()
    soon = Again(seconds=0.01)
    rig[StageName.NMSTATE].play = [
        Failed(PROBLEM, Facts(), again=soon),
        Waiting("Open vSwitch", seconds=0.01),
        Done("it holds now", Facts(), Message.STARTED),
    ]
    async with rig.running():
        await rig.until(lambda: rig.ready and rig.watch.last["health"] == "ok")
    assert rig[StageName.NMSTATE].attempts == 3
    assert "waiting" not in [status.boot[StageName.NMSTATE].status for status in rig.watch.shown]


@pytest.mark.parametrize("link", ["eth0", None])
async def test_an_uplink_that_is_not_watched_any_more_is_not_reported_to_be_back(link: str | None) -> None:
    """The problem leaves the status in both cases."""
    rig = Rig()
    rig[StageName.NODEIP].learns = Facts(selection=Selection((ip_address("192.0.2.5"),), link))
    async with rig.running() as reconciler:
        await rig.until(lambda: rig.ready)
        reconciler.report_uplink(PROBLEM)
        with capture_logs() as logs:
            reconciler.report_uplink(None)
    assert [entry["event"] for entry in logs] == (
        ["The uplink has a carrier, and gateways and DNS servers answer again"] if link else []
    )
    assert reconciler.status.uplink is None


@pytest.mark.parametrize(
    ("lost", "back", "attempts"),
    [
        (Message.GATEWAY_SILENT, None, 2),
        (Message.GATEWAY_SILENT, Message.NAME_SERVERS_SILENT, 2),
        (Message.NAME_SERVERS_SILENT, None, 1),
        (Message.GATEWAY_SILENT, Message.UPLINK_LOST, 1),
    ],
)
async def test_a_stage_that_failed_is_looked_at_again_when_a_lost_way_out_is_back(
    lost: Message, back: Message | None, attempts: int
) -> None:
    rig = Rig()
    rig[StageName.NODEIP].learns = Facts(selection=Selection((ip_address("192.0.2.5"),), "eth0"))
    rig[StageName.NMSTATE].play = [Failed(PROBLEM, Facts(), again=Again(frozenset({Topic.UPLINK})))]
    async with rig.running() as reconciler:
        await rig.until(lambda: rig.ready)
        await asyncio.sleep(60.0)
        reconciler.report_uplink(Problem(lost, "lost", ""))
        await asyncio.sleep(60.0)
        reconciler.report_uplink(Problem(back, "less is lost", "") if back else None)
        await asyncio.sleep(60.0)
    assert rig[StageName.NMSTATE].attempts == attempts


async def test_a_node_that_runs_well_is_looked_at_when_the_watchdog_beats() -> None:
    """Four times a minute in all, and not once for each of them."""
    rig = Rig(watchdog=FakePulse(15.0))
    await asyncio.sleep(7.0)
    async with rig.running():
        await rig.until(lambda: rig.ready)
        await asyncio.sleep(20.0)
        rig.watchdog.beats.clear()
        await asyncio.sleep(600.0)
        assert len(rig.watchdog.beats) in {40, 41}
