"""How is a stage attempted? Whatever a stage raises becomes its outcome, and the loop goes on."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import pytest
import structlog
from structlog.testing import capture_logs

from fakes import FakeClock, FakeInputs
from loop.test_reconciler import PROBLEM, Rig
from nodenet.core.boot.outcome import TRIES, Again, Done, Facts, Failed, Outcome, Topic, Waiting
from nodenet.core.boot.stage_state import NOTHING, Request, Status
from nodenet.core.errors import LibnmstateMissing, NodenetError, Unavailable
from nodenet.core.messages import Message
from nodenet.core.settings.model import Settings
from nodenet.core.stage_name import StageName
from nodenet.core.status.document import line
from nodenet.loop.attempts import PAUSES, Doubts
from nodenet.loop.reload import Judged, StageSet

T = TypeVar("T")
BUG = "nmstate had an unexpected error: IndexError: list index out of range"
NMSTATE, NODEIP = StageName.NMSTATE, StageName.NODEIP


@dataclass
class Raising:
    """A stage that raises what it is told, and counts."""

    error: BaseException
    attempts: int = 0

    async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:  # noqa: ARG002
        self.attempts += 1
        await asyncio.sleep(1)
        raise self.error


def rig_with(name: StageName, error: BaseException) -> tuple[Rig, Raising]:
    rig, stage = Rig(), Raising(error)
    rig.stages[name] = stage  # type: ignore[assignment]
    rig.reconciler = rig.made(rig.inputs)
    return rig, stage


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (Unavailable("NetworkManager left the bus", remedy="Wait"), "NetworkManager left the bus (5 tries)"),
        (
            IndexError("list index out of range"),
            f"{BUG} (tests/loop/test_attempts.py, line N) (5 tries)",
        ),
        (OSError(24, "Too many open files"), "nmstate: Too many open files (5 tries)"),
        (asyncio.CancelledError(), "the work was cancelled from within (5 tries)"),
    ],
    ids=["ours", "a bug", "the system's", "cancelled"],
)
async def test_what_escapes_from_a_stage_is_tried_again_and_then_a_failure(error: BaseException, cause: str) -> None:
    """With a back-off, a visible count and a budget; then kubelet may start, degraded (R8)."""
    rig, stage = rig_with(NMSTATE, error)
    with structlog.testing.capture_logs() as lines:
        async with rig.running() as reconciler:
            await rig.until(lambda: rig.last_stage(NMSTATE)["status"] == "waiting")
            assert rig.last_stage(NMSTATE)["detail"].startswith(f"try 2 of {TRIES}, after: ")
            await rig.until(lambda: rig.ready)
            status = reconciler.status
            tries, seconds = stage.attempts, asyncio.get_running_loop().time() - 100.0
            await asyncio.sleep(200)
            assert stage.attempts > tries, "it is tried again, more rarely"
    problem = status.boot[NMSTATE].problem
    assert problem is not None
    assert re.sub(r"\([^ ]*/loop/(.*), line \d+\)", r"(tests/loop/\1, line N)", problem.cause) == cause
    assert (tries, seconds < 60) == (TRIES, True)
    assert len([line for line in lines if line["log_level"] == "error"]) == 2, "the first error, and the failure"


async def test_kubelet_is_held_back_while_the_node_ip_cannot_be_chosen() -> None:
    """Whatever the error: without node IP no budget ends the wait, and the count shows (R8)."""
    rig, stage = rig_with(NODEIP, ValueError("bad netlink message"))
    async with rig.running() as reconciler:
        await asyncio.sleep(390)
        assert not rig.ready
        assert reconciler.status.boot[NODEIP].status is Status.WAITING
        assert f"try {stage.attempts + 1}, after: " in rig.last_stage(NODEIP)["detail"]
        assert stage.attempts < 20


async def test_a_missing_library_ends_the_daemon_before_ready_and_not_after() -> None:
    """An upgrade that goes wrong on a node with pods degrades it."""
    rig = Rig()
    async with rig.running() as reconciler:
        await rig.until(lambda: rig.ready)
        missing = LibnmstateMissing("No module named libnmstate")
        rig[NMSTATE].before = lambda: throw(missing)
        reconciler.rerun(NMSTATE)
        await rig.until(lambda: rig.last_stage(NMSTATE)["status"] == "failed")
    rig, _ = rig_with(NMSTATE, missing)
    with pytest.raises(LibnmstateMissing):
        await rig.reconciler.run()


def throw(error: Exception) -> None:
    raise error


async def test_an_apply_that_fails_and_wakes_itself_is_put_off() -> None:
    """Each apply is an event of NetworkManager, before and after its end: a few tries, READY, rarer tries (R7)."""
    rig = Rig()
    again = Again(frozenset({Topic.NETWORK_MANAGER}), 900.0)
    bridge = rig[StageName.CONFIGURE_OVS]
    bridge.play = [Failed(PROBLEM, Facts(), again)]

    def trailing() -> None:
        rig.reconciler.wake(Topic.NETWORK_MANAGER)
        asyncio.get_running_loop().call_later(0.5, rig.reconciler.wake, Topic.NETWORK_MANAGER)

    bridge.before = trailing
    async with rig.running():
        await rig.until(lambda: rig.ready)
        assert bridge.attempts == 1
        await asyncio.sleep(300)
        assert bridge.attempts <= 9
        assert rig.last_stage(StageName.CONFIGURE_OVS)["status"] == "failed"


async def test_the_first_try_of_an_apply_names_its_node_file() -> None:
    """It may take minutes, and nothing is known of its outcome until then (R11)."""
    rig, seen = Rig(), []
    rig.inputs.file = ("worker-0.yml", "d1")

    def shown() -> None:
        document = rig.watch.last
        stage = rig.last_stage(StageName.NMSTATE)
        seen.append((stage["status"], document["node_file"], document["digest"], line(rig.watch.shown[-1])))

    rig[StageName.NMSTATE].before = shown
    async with rig.running():
        await rig.until(lambda: rig.ready)
    assert seen == [("running", "worker-0.yml", "d1", "nmstate: running, node file worker-0.yml")]


async def test_an_apply_is_shown_as_running_though_the_stage_waited_before_it() -> None:
    """What it waited for is over: an apply of minutes would be shown as that wait (R11)."""
    rig, shown = Rig(), []
    rig.inputs.file = ("worker-0.yml", "d1")
    nmstate = rig[StageName.NMSTATE]
    nmstate.play = [Waiting("NetworkManager is still starting", frozenset({Topic.NETWORK_MANAGER}), 60.0)]
    async with rig.running() as reconciler:
        await rig.until(lambda: rig.last_stage(StageName.NMSTATE)["status"] == "waiting")
        nmstate.play = [Done("applied", Facts(), Message.NETWORK_APPLIED)]
        nmstate.takes = 5.0
        reconciler.wake(Topic.NETWORK_MANAGER)
        for _ in range(2):
            await asyncio.sleep(0.6)
            shown.append((rig.last_stage(StageName.NMSTATE)["detail"], line(rig.watch.shown[-1])))
        await rig.until(lambda: rig.ready)
    reason = "NetworkManager is still starting"
    assert shown == [(reason, f"nmstate: {reason}"), ("", "nmstate: running, node file worker-0.yml")]


async def test_a_boot_goes_on_though_the_look_for_the_node_file_fails() -> None:
    """The status names no file then; the stage itself reports what it meets (R11, R23)."""
    rig = Rig()

    class Broken(FakeInputs):
        def node_file(self, settings: Settings, facts: Facts) -> Facts:  # noqa: ARG002
            raise OSError(5, "Input/output error")

    rig.reconciler = rig.made(Broken(rig.build))
    with structlog.testing.capture_logs() as lines:
        async with rig.running():
            await rig.until(lambda: rig.ready)
    errors = [line["event"] for line in lines if line["log_level"] == "error"]
    assert errors == ["the look for the node file: Input/output error"]


@pytest.mark.parametrize("period", [0.05, 0.015])
async def test_events_faster_than_a_look_do_not_starve_the_stages(period: float) -> None:
    """The node gets ready, and the looks are bounded (R9)."""
    rig, looks = Rig(), 0

    class Look:
        async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:  # noqa: ARG002
            nonlocal looks
            looks += 1
            await asyncio.sleep(0.02)
            return Done("look", facts, Message.RESOLVER_SET, again=Again(frozenset({Topic.DNS}), 15.0))

    async def storm() -> None:
        while True:
            rig.reconciler.wake(Topic.DNS)
            await asyncio.sleep(period)

    rig.stages[StageName.RESOLV_PREPENDER] = Look()  # type: ignore[assignment]
    rig.reconciler = rig.made(rig.inputs)
    events = asyncio.create_task(storm())
    async with rig.running():
        await asyncio.wait_for(rig.until(lambda: rig.ready), 3)
        looks = 0
        await asyncio.sleep(10)
        assert looks <= 110
        events.cancel()


async def test_no_error_of_an_idle_look_ends_the_daemon() -> None:
    """Ephemeral ports were exhausted: logged once, and the watch goes on (R23)."""
    rig = Rig()
    errors: list[Exception] = []

    def look() -> None:
        raise errors[0]

    async with rig.running():
        await rig.until(lambda: rig.ready)
        with structlog.testing.capture_logs() as lines:
            errors = [Unavailable("192.0.2.5 cannot be bound: Address already in use")]
            rig.look = look
            await asyncio.sleep(10)
            errors = [ZeroDivisionError("division by zero")]
            await asyncio.sleep(10)
        assert [line["event"].partition(" (")[0] for line in lines] == [
            "192.0.2.5 cannot be bound: Address already in use",
            "the look at the published node IPs had an unexpected error: ZeroDivisionError: division by zero",
        ]
        rig.look = None
        rig.drift = PROBLEM
        await rig.until(lambda: rig.watch.last["health"] == "degraded")


@pytest.mark.parametrize("where", ["settings", "node_file", "judge", "build_stages"])
async def test_no_error_of_a_reload_ends_the_daemon(where: str) -> None:
    """A document that a parser stumbles over refuses the reload that reads it (R42)."""

    class Stumbling(FakeInputs):
        on = False

        def settings(self) -> Settings:
            return self.stumble("settings", super().settings)

        def node_file(self, settings: Settings, facts: Facts) -> Facts:
            return self.stumble("node_file", lambda: FakeInputs.node_file(self, settings, facts))

        async def judge(self, settings: Settings, facts: Facts) -> Judged:
            self.stumble("judge", lambda: None)
            return await super().judge(settings, facts)

        def build_stages(self, settings: Settings) -> StageSet:
            return self.stumble("build_stages", lambda: FakeInputs.build_stages(self, settings))

        def stumble(self, name: str, work: Callable[[], T]) -> T:
            if self.on and name == where:
                raise KeyError("%YAML 1.3")
            return work()

    rig = Rig()
    inputs = Stumbling(rig.build)
    rig.reconciler = rig.made(inputs)
    async with rig.running() as reconciler:
        await rig.until(lambda: rig.ready)
        inputs.on = True
        with pytest.raises(NodenetError, match=r"the reload had an unexpected error: KeyError: '%YAML 1.3'"):
            await reconciler.reload()
        inputs.on = False
        await reconciler.reload()


async def test_a_watch_that_raises_is_shown_the_status_again() -> None:
    """Logged once; the others see every status, and the failing one the last one after a back-off (R16)."""
    rig, shown = Rig(), []

    class Full:
        def show(self, status: object) -> None:
            if asyncio.get_running_loop().time() < 150:
                raise OSError(28, "No space left on device")
            shown.append(status)

    rig.watches = (Full(),)
    rig.reconciler = rig.made(rig.inputs)
    with structlog.testing.capture_logs() as lines:
        async with rig.running() as reconciler:
            await rig.until(lambda: rig.ready)
            await asyncio.sleep(100)
            assert shown[-1] == reconciler.status
    text = "showing the status (Full): No space left on device"
    assert [line["event"] for line in lines if line["log_level"] == "error"] == [text]


async def test_a_watch_that_failed_is_shown_the_status_again_while_a_stage_works() -> None:
    """An apply may hang for two minutes in a later look: the gate of kubelet reads the state file meanwhile (R16)."""
    rig, shown, full = Rig(), [], True

    class Disk:
        def show(self, status: object) -> float | None:
            if full:
                return 10.0
            shown.append(status)
            return None

    rig.watches = (Disk(),)
    rig.reconciler = rig.made(rig.inputs)
    bridge = rig[StageName.CONFIGURE_OVS]
    bridge.play = [Done("made", Facts(), Message.BRIDGE_MADE, again=Again(frozenset(), 5.0))]
    async with rig.running() as reconciler:
        await rig.until(lambda: rig.ready)
        bridge.takes = 1000.0
        await rig.until(lambda: bridge.attempts == 2)
        await asyncio.sleep(10)  # the status that says that it works is shown after a second
        full = False
        await asyncio.sleep(100)
        assert shown == [reconciler.status]


def test_the_pauses_grow_and_every_one_is_in_the_journal_with_its_number() -> None:
    doubts = Doubts(FakeClock())
    with capture_logs() as logs:
        pauses = [doubts.next_pause("the lease changed") for _ in range(len(PAUSES) + 2)]
    assert pauses == [*PAUSES, PAUSES[-1], PAUSES[-1]]
    assert logs[1]["event"] == "Not ready: the lease changed; the node IPs are published again in 1 s (try 2)"
    assert {entry["message"] for entry in logs} == {Message.NOT_CONFIRMED}


def test_a_ready_that_was_not_taken_is_due_after_its_pause_and_no_more_once_the_publication_was_looked_at() -> None:
    clock = FakeClock()
    doubts = Doubts(clock)
    assert doubts.seconds_left == math.inf
    doubts.unheard(4.0)
    clock.now += 3.0
    assert doubts.seconds_left == 1.0
    clock.now += 1.0
    assert doubts.seconds_left <= 0
    doubts.looked_at()
    assert doubts.seconds_left == math.inf
