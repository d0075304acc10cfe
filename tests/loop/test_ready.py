"""Is READY sent only for what is true? With stages that do as the test tells them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import pytest

from fakes import BOOT_ID, FakeInputs, FakeKernel, FakePulse, FakeWatch
from node_ip_rig import KUBELET, OTHER, PRIMARY, V4, host
from node_ip_rig import Rig as NodeIpRig
from nodenet.core.boot.outcome import Again, Done, Facts, Failed, Outcome, Problem, Waiting
from nodenet.core.boot.stage_state import NOTHING, Request
from nodenet.core.boot.stages import BUILT, new_boot
from nodenet.core.errors import Unavailable
from nodenet.core.messages import Message
from nodenet.core.stage_name import StageName
from nodenet.daemon import ServiceManager
from nodenet.edge.systemd.notify import Notifier
from nodenet.loop.attempts import PAUSES
from nodenet.loop.reconciler import Reconciler
from nodenet.loop.reload import StageSet
from nodenet.ports import Stage
from virtual_time import VirtualClock


@dataclass
class Simple:
    """A stage that waits as often as it is told, and is done then."""

    waits: int = 0
    fails: bool = False
    attempts: int = 0

    async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:  # noqa: ARG002
        self.attempts += 1
        if self.attempts <= self.waits:
            return Waiting("Open vSwitch does not answer", seconds=1.0)
        if self.fails:
            return Failed(Problem(Message.BRIDGE_FAILED, "rolled back", "Look"), facts, Again(seconds=30.0))
        return Done("done", facts, Message.STARTED)


class Queue(Notifier):
    """systemd's queue of messages; while it *is_full* it takes none."""

    def __init__(self, *, is_full: bool) -> None:
        super().__init__({"NOTIFY_SOCKET": "/run/systemd/notify", "WATCHDOG_USEC": "30000000"})
        self.is_full = is_full
        self.lost = self.taken = 0
        """How often READY=1 was."""

    def _send(self, *lines: str) -> bool:
        if "READY=1" in lines:
            self.lost += self.is_full
            self.taken += not self.is_full
        return not self.is_full


@dataclass
class Boot:
    """A boot whose publication is confirmed after *doubts*, unless the real stage is asked."""

    doubts: list[str | None] = field(default_factory=list)
    node: NodeIpRig | None = None
    asked: list[float] = field(default_factory=list)
    watch: FakeWatch = field(default_factory=FakeWatch)
    pulse: FakePulse = field(default_factory=FakePulse)
    queue: Queue = field(default_factory=lambda: Queue(is_full=False))

    def __post_init__(self) -> None:
        self.stages = {name: Simple() for name in BUILT}
        manager = ServiceManager(self.queue, lambda seconds: self.reconciler.doubts.unheard(seconds))  # noqa: PLW0108  (it is made below)
        watches = (self.watch, manager)
        self.reconciler = Reconciler(FakeInputs(self.build), watches, self.pulse, VirtualClock(), BOOT_ID)

    def build(self) -> StageSet:
        stages: dict[StageName, Stage] = dict(self.stages)
        if self.node is None:
            return StageSet(new_boot({}, degrade=True), stages, "OVNKubernetes", 60.0, lambda _: (), self.confirm)
        stages[StageName.NODEIP] = node = self.node.stage
        return StageSet(new_boot({}, degrade=True), stages, "OVNKubernetes", 60.0, lambda _: (), node.confirm)

    async def confirm(self, facts: Facts) -> str | None:  # noqa: ARG002
        self.asked.append(asyncio.get_running_loop().time())
        return self.doubts.pop(0) if self.doubts else None

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.reconciler.run())
        try:
            yield
        finally:
            self.reconciler.stop()
            await task

    async def until(self, reached: Callable[[], bool]) -> None:
        while not reached():
            await asyncio.sleep(0.001)

    @property
    def ready(self) -> bool:
        return bool(self.watch.shown) and self.watch.last["ready"]


async def test_ready_is_sent_for_what_is_confirmed() -> None:
    """The publication is checked once, right before (R13)."""
    boot = Boot()
    async with boot.running():
        await boot.until(lambda: boot.ready)
        await asyncio.sleep(100)
    assert len(boot.asked) == 1
    assert boot.stages[StageName.NODEIP].attempts == 1


async def test_what_is_no_longer_true_is_published_again() -> None:
    """The stage nodeip runs again, with a back-off (R13)."""
    boot = Boot(doubts=["Node IP 192.0.2.5 is missing (eth0: has 192.0.2.6)"] * 3)
    async with boot.running():
        await boot.until(lambda: boot.ready)
    assert boot.stages[StageName.NODEIP].attempts == 4
    assert boot.stages[StageName.HOSTNAME].attempts == 1
    gaps = [round(later - sooner) for sooner, later in zip(boot.asked, boot.asked[1:], strict=False)]
    assert gaps == list(PAUSES[:3])


async def test_a_stage_that_failed_keeps_its_back_off_while_node_ips_are_published_again() -> None:
    """A br-ex that was rolled back is not made again because the node IP was away for a moment (R7)."""
    boot = Boot(doubts=["Node IP 192.0.2.5 is missing (eth0: no address)"] * 4)
    boot.stages[StageName.CONFIGURE_OVS].fails = True
    async with boot.running():
        await boot.until(lambda: boot.ready)
    assert boot.stages[StageName.NODEIP].attempts == 5
    assert boot.stages[StageName.CONFIGURE_OVS].attempts == 1
    assert boot.watch.last["health"] == "degraded"


async def test_br_ex_is_looked_at_again_before_ready_when_the_node_ip_is_another_one() -> None:
    """READY is not for a bridge over the link of the old node IP (R13)."""
    node = NodeIpRig(FakeKernel(host(V4))).with_units()
    boot = Boot(node=node)
    lost = [False]

    async def moves(facts: Facts, request: Request = NOTHING) -> Outcome:
        if not lost[0]:
            lost[0], node.kernel.now = True, host(OTHER)
        return await Simple.attempt(bridge, facts, request)

    bridge = boot.stages[StageName.CONFIGURE_OVS]
    bridge.attempt = moves  # type: ignore[method-assign]
    async with boot.running():
        await boot.until(lambda: boot.ready)
    assert boot.watch.last["node_ips"] == ["192.0.2.6"]
    assert bridge.attempts == 2


async def test_a_reload_is_answered_with_the_reason_while_ready_is_doubted() -> None:
    """Whoever asked is not kept waiting by a doubt that lasts, and the status has the reason (R13, R21)."""
    reason = "Node IP 192.0.2.5 is missing (eth0: no address)"
    boot = Boot(doubts=[reason] * 1000)
    async with boot.running():
        await boot.until(lambda: len(boot.asked) > 8)
        nodeip = next(stage for stage in boot.watch.last["stages"] if stage["name"] == "nodeip")
        assert (nodeip["status"], nodeip["detail"]) == ("waiting", reason)
        with pytest.raises(Unavailable, match="nodeip waits: Node IP"):
            await boot.reconciler.reselect()


async def test_a_stop_meanwhile_ends_the_loop() -> None:
    """Without READY (R13)."""
    boot = Boot(doubts=["no"] * 1000)
    async with boot.running():
        await boot.until(lambda: len(boot.asked) > 3)
    assert not boot.ready


async def test_a_lease_that_changes_while_br_ex_waits_is_not_what_kubelet_starts_with() -> None:
    """The node IP is selected again, published and confirmed before READY (R13)."""
    node = NodeIpRig(FakeKernel(host(V4))).with_units()
    boot = Boot(node=node)
    boot.stages[StageName.CONFIGURE_OVS].waits = 1
    async with boot.running():
        await boot.until(lambda: boot.stages[StageName.CONFIGURE_OVS].attempts == 1)
        assert node.files.content[PRIMARY] == b"192.0.2.5"
        node.kernel.now = host(OTHER)
        await boot.until(lambda: boot.ready)
    assert boot.watch.last["node_ips"] == ["192.0.2.6"]
    assert node.files.content[PRIMARY] == b"192.0.2.6"
    assert b"KUBELET_NODE_IP=192.0.2.6" in node.files.content[KUBELET]


async def test_a_ready_that_systemd_did_not_take_is_sent_again_only_for_what_is_true_then() -> None:
    """The READY=1 that arrives lets kubelet start, and the lease has changed since the first one (R13, R17)."""
    node = NodeIpRig(FakeKernel(host(V4))).with_units()
    boot = Boot(node=node, queue=Queue(is_full=True))
    async with boot.running():
        await asyncio.sleep(2)
        assert boot.queue.lost == 2
        node.kernel.now = host(OTHER)
        boot.queue.is_full = False
        boot.reconciler.report_uplink(None)
        assert boot.queue.taken == 0, "a status that changes for another reason does not let kubelet start"
        await boot.until(lambda: boot.queue.taken > 0)
        assert node.files.content[PRIMARY] == b"192.0.2.6"
        assert b"KUBELET_NODE_IP=192.0.2.6" in node.files.content[KUBELET]
    assert boot.watch.last["node_ips"] == ["192.0.2.6"]


async def test_a_ready_that_systemd_did_not_take_is_confirmed_and_sent_again_and_changes_nothing() -> None:
    """With a back-off; the status stays ready: it is what the gate reads where systemd is never heard from (R17)."""
    boot = Boot(queue=Queue(is_full=True))
    async with boot.running():
        await asyncio.sleep(42)
        assert (boot.queue.lost, boot.queue.taken) == (6, 0)
        boot.queue.is_full = False
        await asyncio.sleep(5)
        assert boot.queue.taken > 0
    gaps = [round(later - sooner) for sooner, later in zip(boot.asked, boot.asked[1:], strict=False)]
    assert gaps == [1, 2, 4, 8, 15, 15]
    first = next(status for status in boot.watch.shown if status.ready)
    assert all(status.ready for status in boot.watch.shown[boot.watch.shown.index(first) :])
    assert {stage.attempts for stage in boot.stages.values()} == {1}


async def test_a_ready_that_is_due_waits_for_a_stage_that_runs_again() -> None:
    """The loop sleeps meanwhile (R7)."""
    boot = Boot(queue=Queue(is_full=True))
    async with boot.running():
        await boot.until(lambda: boot.ready)
        bridge = boot.stages[StageName.CONFIGURE_OVS]
        bridge.waits = bridge.attempts + 30
        boot.reconciler.rerun(StageName.CONFIGURE_OVS)
        await asyncio.sleep(25)
        assert boot.queue.lost == 1
        assert len(boot.pulse.beats) < 1000
        await asyncio.sleep(10)
        assert boot.queue.lost > 1
    assert bridge.attempts == bridge.waits + 1
