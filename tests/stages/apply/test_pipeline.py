"""The apply pipeline: what is written when, and what happens when an apply goes wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import PurePath

import pytest

from fakes import (
    BOOT_ID,
    FakeClock,
    FakeFiles,
    FakeKernel,
    FakeManager,
    FakeNmstate,
    FakeOvsdb,
    FakeProfiles,
    FakeStanding,
    stage_edges,
)
from nodenet.core.apply.intent import Intent, Phase
from nodenet.core.change.record import Change, What, render
from nodenet.core.change.way_back import Network
from nodenet.core.errors import NodenetError, PublishFailed, RollbackFailed, Unavailable
from nodenet.core.network_manager.objects import Inventory, KeptProfile
from nodenet.core.network_manager.profiles import KEYFILES, Device, Profile
from nodenet.core.network_manager.state import Checkpoint, ManagerState
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.settings.model import Settings
from nodenet.stages.apply.network_manager import START_SECONDS
from nodenet.stages.apply.pipeline import Pipeline
from nodenet.stages.apply.records import CHANGE, INTENT

DIED = NmstateFailure(FailureKind.DIED, "the process that runs libnmstate died (signal 15)")
REFUSED = NmstateFailure(FailureKind.VERIFICATION, "eth0 has another MTU")


@dataclass
class SlowManager(FakeManager):
    """NetworkManager, each of whose answers takes a moment; *stays* is why a rollback fails."""

    stays: RollbackFailed | None = None

    async def checkpoints(self) -> tuple[Checkpoint, ...]:
        await asyncio.sleep(0.01)
        return await super().checkpoints()

    async def roll_back(self, checkpoint: str) -> None:
        await asyncio.sleep(0.01)
        if self.stays:
            raise self.stays
        await super().roll_back(checkpoint)

    async def restore_dns(self, configuration: object) -> None:
        await asyncio.sleep(0.01)
        await super().restore_dns(configuration)


@dataclass
class SlowNmstate(FakeNmstate):
    """libnmstate that takes *seconds* for an apply, and reports *checkpoint* as its own."""

    seconds: float = 0.0
    checkpoint: str | None = None

    async def apply(
        self,
        text: str,  # noqa: ARG002
        rollback_timeout: int,  # noqa: ARG002
        seconds: float,  # noqa: ARG002
        made: Callable[[str], None],
        patched: Collection[str] = (),
    ) -> str | None:
        self.patched = frozenset(patched)
        self.during_apply()
        if self.checkpoint:
            made(self.checkpoint)
        await asyncio.sleep(self.seconds)
        if self.fails:
            raise self.fails.pop(0)
        return "/cp/1"


@dataclass
class FailingFiles(FakeFiles):
    """A disk that no file can be read from while *unreadable* is set."""

    unreadable: PublishFailed | None = None

    def read(self, path: PurePath) -> bytes | None:
        if self.unreadable:
            raise self.unreadable
        return super().read(path)


@dataclass
class Rig:
    """The pipeline over fakes; the checkpoint of the apply is ``/cp/1``."""

    manager: SlowManager = field(default_factory=lambda: SlowManager(dns={"searches": ["example.com"]}))
    nmstate: SlowNmstate = field(default_factory=SlowNmstate)
    files: FakeFiles = field(default_factory=FakeFiles)
    clock: FakeClock = field(default_factory=FakeClock)
    standing: FakeStanding = field(default_factory=FakeStanding)
    kernel: FakeKernel = field(default_factory=FakeKernel)
    profiles: FakeProfiles = field(default_factory=FakeProfiles)
    ovsdb: FakeOvsdb = field(default_factory=FakeOvsdb)
    what: What = What.NODE_FILE
    names: list[str] = field(default_factory=list)
    """Of profiles that were given back."""
    recorded: Change | None = None

    def __post_init__(self) -> None:
        self.nmstate.during_apply = self.begin
        self.start()

    def start(self) -> None:
        """Begin as a new process of nodenetd."""
        names = ("files", "manager", "nmstate", "profiles", "clock", "standing", "kernel", "ovsdb")
        self.pipeline = Pipeline(stage_edges(**{name: getattr(self, name) for name in names}), Settings())

    def begin(self) -> None:
        """Make the checkpoint, as libnmstate does first of all."""
        self.clock.now += 1
        self.manager.pending.append(Checkpoint("/cp/1", self.clock.now))

    def apply(self, accept: NodenetError | Exception | None = None) -> asyncio.Task[float]:
        """Begin an apply whose result is accepted unless *accept* says why not."""

        async def look() -> None:
            if accept:
                raise accept

        record = self.pipeline.intent("d", Phase.APPLYING, in_force="before", brings_bridge=False)
        change = Change(self.what, "worker-0.yml", record, Network(("eth0",)))
        good = self.pipeline.intent("d", Phase.GOOD, in_force="d", brings_bridge=False)
        return asyncio.ensure_future(self.pipeline.apply(self.nmstate, "text", change, good, look))

    @property
    def record(self) -> Intent:
        record = self.pipeline.record
        assert record
        return record

    @property
    def is_open(self) -> bool:
        return str(CHANGE) in self.files.content


async def test_a_good_apply_is_committed_and_closed_and_nothing_is_rolled_back() -> None:
    rig = Rig()
    opened: list[bool] = []

    def during() -> None:
        rig.begin()
        opened.append(rig.is_open)

    rig.nmstate.during_apply = during
    assert await rig.apply() == 1.0
    assert (rig.nmstate.committed, rig.manager.rolled_back, rig.manager.restored) == (["/cp/1"], [], [])
    assert (opened, rig.is_open, rig.record.phase) == ([True], False, Phase.GOOD)


async def test_a_full_disk_refuses_a_change_and_the_network_is_untouched() -> None:
    rig = Rig(files=FakeFiles(broken=PublishFailed("No space left on device")))
    with pytest.raises(PublishFailed):
        await rig.apply()
    assert (rig.manager.pending, rig.nmstate.committed) == ([], [])


async def test_a_disk_that_fills_up_behind_the_commit_undoes_nothing() -> None:
    rig = Rig()

    def fill() -> None:
        rig.begin()
        rig.files.broken = PublishFailed("No space left on device")

    rig.nmstate.during_apply = fill
    await rig.apply()
    assert (rig.record.phase, rig.manager.rolled_back) == (Phase.GOOD, [])


async def test_profiles_that_other_programs_made_meanwhile_survive_the_rollback() -> None:
    """NetworkManager's rollback deletes them: DELETE_NEW_CONNECTIONS of libnmstate's checkpoints."""
    storage = Profile("u-7", "storage", "802-3-ethernet", "eth7")
    rig = Rig(nmstate=SlowNmstate(checkpoint="/cp/1", fails=[DIED]))

    def meanwhile() -> None:
        rig.begin()
        device = Device("eth7", "ethernet", profile=storage)
        rig.profiles.found = Inventory((device,), (storage,), settled=frozenset({"eth7"}))

    async def rolled_back(checkpoint: str) -> None:
        rig.manager.rolled_back.append(checkpoint)
        rig.recorded = rig.pipeline.changes.open
        rig.profiles.found = Inventory((Device("eth7", "ethernet"),))

    def given_back(profile: KeptProfile) -> None:
        device = Device("eth7", "ethernet", profile=storage)
        rig.profiles.found = Inventory((device,), (storage,), settled=frozenset({"eth7"}))
        rig.names.append(profile.name)

    rig.nmstate.during_apply, rig.profiles.on_give_back = meanwhile, given_back
    rig.manager.__dict__["roll_back"] = rolled_back
    with pytest.raises(NmstateFailure):
        await rig.apply()
    assert rig.recorded is not None, "a kill in the rollback loses nothing: the record has them first"
    assert [each.uuid for each in rig.recorded.before.profiles] == ["u-7"]
    assert (rig.manager.rolled_back, rig.names) == (["/cp/1"], ["storage"])
    assert ("activate", "u-7", "eth7") in rig.profiles.done
    assert rig.record.phase is Phase.ROLLED_BACK


@pytest.mark.parametrize("where", ["apply", "accept"])
async def test_a_clean_rollback_settles_the_intent(where: str) -> None:
    """Nothing is left for recovery to repair, in this boot or in a later one (R1)."""
    rig = Rig()
    rig.nmstate.fails = [DIED] if where == "apply" else []
    with pytest.raises(NmstateFailure):
        await rig.apply(REFUSED if where == "accept" else None)
    assert (rig.manager.rolled_back, rig.manager.restored) == (["/cp/1"], [{"searches": ["example.com"]}])
    assert (rig.record.phase, rig.record.in_force, rig.record.ended) == (Phase.ROLLED_BACK, "before", rig.clock.now)


async def test_a_later_checkpoint_of_another_program_is_waited_for() -> None:
    """A failed apply of this boot makes no checkpoint of Cockpit's or kubernetes-nmstate's ours (R2)."""
    rig = Rig()
    rig.nmstate.fails = [DIED]
    with pytest.raises(NmstateFailure):
        await rig.apply()
    rig.clock.now += 900
    rig.manager.pending = [Checkpoint("/cp/2", rig.clock.now - 10)]
    waiting = await rig.pipeline.obstacle("worker-0.yml", uses_ovs=False)
    assert waiting
    assert waiting.reason.startswith("another program holds NetworkManager's checkpoint /cp/2, made ")
    assert rig.manager.rolled_back == ["/cp/1"]


async def test_a_checkpoint_that_kept_libnmstate_out_is_not_rolled_back() -> None:
    """Another program was faster; what it holds is its own (R2)."""
    rig = Rig()
    rig.nmstate.fails = [NmstateFailure(FailureKind.BUSY, "another checkpoint exists")]
    with pytest.raises(NmstateFailure):
        await rig.apply()
    assert rig.manager.rolled_back == []
    assert rig.record.phase is Phase.ROLLED_BACK


async def test_a_kill_leaves_the_time_of_creation() -> None:
    """What was made between the beginning of the apply and the next start of nodenetd is ours."""
    rig = Rig()
    during = Intent("d", Phase.APPLYING, BOOT_ID, 90.0)
    rig.files.content[str(CHANGE)] = render(Change(What.BRIDGE, "br-ex", during, Network(("eth0",))))
    rig.manager.pending = [Checkpoint("/cp/1", 91.0)]
    assert await rig.pipeline.obstacle("br-ex", uses_ovs=False) is None


@pytest.mark.parametrize("again", [False, True])
async def test_a_stop_during_a_rollback_finishes_it(*, again: bool) -> None:
    """Also its DNS, and also where the stop comes twice (R5)."""
    rig = Rig()
    rig.nmstate.fails = [DIED]
    task = rig.apply()
    while rig.pipeline.record is None or rig.record.ended is None:  # until it has begun to roll back
        await asyncio.sleep(0)
    task.cancel()
    if again:
        await asyncio.sleep(0.015)
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (rig.manager.rolled_back, rig.manager.restored) == (["/cp/1"], [{"searches": ["example.com"]}])
    assert rig.record.phase is Phase.ROLLED_BACK


async def test_a_stop_in_the_middle_of_an_apply_rolls_back() -> None:
    """Before the process ends, and whatever NetworkManager says to it the stop goes on (R5)."""
    rig = Rig(nmstate=SlowNmstate(seconds=5.0))
    rig.manager.stays = RollbackFailed("eth0 did not come back")
    task = rig.apply()
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert rig.manager.restored == [{"searches": ["example.com"]}]
    assert rig.record.phase is Phase.APPLYING


async def test_a_record_that_cannot_be_read_ends_the_attempt_first() -> None:
    """Also where no checkpoint is there: what follows would be done for nothing, and far more often."""
    rig = Rig()
    rig.files.bad = {str(CHANGE): PublishFailed("Is a directory")}
    with pytest.raises(PublishFailed):
        await rig.pipeline.obstacle("br-ex", uses_ovs=False)


async def test_a_rollback_is_on_the_disk_before_its_record() -> None:
    """NetworkManager does not sync what it deletes: the next boot would begin with the network of the refused file."""
    rig = Rig()
    with pytest.raises(NmstateFailure):
        await rig.apply(NmstateFailure(FailureKind.PROBE, "the gateway does not answer"))
    assert rig.record.phase is Phase.ROLLED_BACK
    written = [path for path in rig.files.writes if not path.startswith("/run/")]
    assert written.index(str(INTENT)) > written.index(f"sync {KEYFILES}")


async def test_whatever_escapes_from_an_apply_rolls_back_first() -> None:
    """An unexpected error is a failed try with a cause (R6)."""
    rig = Rig()
    with pytest.raises(NmstateFailure) as raised:
        await rig.apply(IndexError("list index out of range"))
    assert raised.value.cause == "unexpected error of nodenetd: IndexError('list index out of range')"
    assert rig.manager.rolled_back == ["/cp/1"]
    assert rig.record.phase is Phase.ROLLED_BACK


async def test_a_network_manager_that_crashes_in_an_apply_makes_it_a_failed_try() -> None:
    """Not an error that is waited for without a count; the state stays unverified (R8)."""
    rig = Rig()
    rig.nmstate.fails = [NmstateFailure(FailureKind.INTERNAL, "NetworkManager vanished")]
    rig.nmstate.during_apply = rig.manager.crash
    with pytest.raises(NmstateFailure) as raised:
        await rig.apply()
    assert raised.value.kind is FailureKind.INTERNAL
    assert raised.value.cause == (
        "NetworkManager vanished; the rollback is left to NetworkManager, which does not answer "
        "(org.freedesktop.NetworkManager is not on the bus)"
    )
    assert (rig.record.phase, rig.record.ended) == (Phase.APPLYING, rig.clock.now)


async def test_a_network_manager_that_was_started_again_has_rolled_nothing_back() -> None:
    """It has forgotten the checkpoint: the state is not verified, and nobody is told that it is as before (R8)."""
    rig = Rig()

    def restart() -> None:
        rig.manager.crash()
        rig.manager.crashed = False

    rig.nmstate.during_apply = restart
    rig.nmstate.fails = [NmstateFailure(FailureKind.PLUGIN, "checkpoint /cp/1 does not exist")]
    with pytest.raises(NmstateFailure) as raised:
        await rig.apply()
    assert raised.value.cause == (
        "checkpoint /cp/1 does not exist; NetworkManager was started again meanwhile and has forgotten its checkpoint: "
        "nothing was rolled back"
    )
    assert rig.record.phase is Phase.APPLYING


async def test_what_is_unavailable_after_the_network_was_touched_is_a_failed_try() -> None:
    """Before that it is waited for (R8)."""
    rig = Rig()
    with pytest.raises(NmstateFailure) as raised:
        await rig.apply(Unavailable("the kernel does not list its neighbours"))
    assert (raised.value.kind, raised.value.cause) == (
        FailureKind.UNAVAILABLE,
        "the kernel does not list its neighbours",
    )
    assert rig.record.phase is Phase.ROLLED_BACK


async def test_a_full_disk_does_not_keep_the_network_from_being_rolled_back() -> None:
    """The failure is that of the apply; its result is kept until the disk takes it."""
    rig = Rig()

    def fill() -> None:
        rig.begin()
        rig.files.broken = PublishFailed("No space left on device")

    rig.nmstate.during_apply, rig.nmstate.fails = fill, [DIED]
    with pytest.raises(NmstateFailure):
        await rig.apply()
    assert (rig.manager.rolled_back, rig.record.phase) == (["/cp/1"], Phase.ROLLED_BACK)


async def test_a_disk_that_cannot_be_read_does_not_keep_the_network_from_being_rolled_back() -> None:
    files = FailingFiles()
    rig = Rig(files=files)

    def fail() -> None:
        rig.begin()
        files.unreadable = files.broken = PublishFailed("/var/lib/nodenet/intent.json cannot be read")

    rig.nmstate.during_apply, rig.nmstate.fails = fail, [DIED]
    with pytest.raises(NmstateFailure):
        await rig.apply()
    assert (rig.manager.rolled_back, rig.manager.restored) == (["/cp/1"], [{"searches": ["example.com"]}])


@pytest.mark.parametrize("kind", [FailureKind.INVALID, FailureKind.DEPENDENCY, FailureKind.PERMISSION])
async def test_a_checkpoint_made_while_libnmstate_refuses_is_not_rolled_back(kind: FailureKind) -> None:
    """The one from the same second is Cockpit's: libnmstate made none. The DNS is restored in any case."""
    rig = Rig()
    rig.nmstate.fails = [NmstateFailure(kind, "refused")]
    with pytest.raises(NmstateFailure):
        await rig.apply()
    assert (rig.manager.rolled_back, rig.manager.restored) == ([], [{"searches": ["example.com"]}])
    assert rig.record.phase is Phase.ROLLED_BACK


async def test_a_refusal_after_libnmstate_applied_rolls_back_though_no_checkpoint_is_noted() -> None:
    """The check of the result can find that something is missing: then libnmstate has made a checkpoint."""
    rig = Rig()
    with pytest.raises(NmstateFailure):
        await rig.apply(NmstateFailure(FailureKind.DEPENDENCY, "the plugin is missing"))
    assert rig.manager.rolled_back == ["/cp/1"]


async def test_a_checkpoint_that_is_noted_is_rolled_back_after_a_refusal() -> None:
    """The refusal of libnmstate came late, and its checkpoint is left."""
    rig = Rig(nmstate=SlowNmstate(checkpoint="/cp/1"))
    rig.nmstate.fails = [NmstateFailure(FailureKind.INVALID, "refused")]
    with pytest.raises(NmstateFailure):
        await rig.apply()
    assert rig.manager.rolled_back == ["/cp/1"]


async def test_a_checkpoint_that_another_program_makes_meanwhile_is_not_ours() -> None:
    """However close to ours it was made: libnmstate says which one it made (R2)."""
    rig = Rig(nmstate=SlowNmstate(checkpoint="/cp/1", fails=[DIED]))

    def begin() -> None:
        rig.clock.now += 1
        rig.manager.pending = [Checkpoint(f"/cp/{number}", rig.clock.now) for number in (7, 1, 8)]

    rig.nmstate.during_apply = begin
    with pytest.raises(NmstateFailure):
        await rig.apply()
    assert rig.manager.rolled_back == ["/cp/1"]


async def test_a_checkpoint_that_is_seen_while_libnmstate_still_reads_is_not_rolled_back_after_a_refusal() -> None:
    """Libnmstate reads the network for a second before it makes its own, and may refuse then (R2)."""
    rig = Rig(nmstate=SlowNmstate(seconds=0.6))
    rig.nmstate.fails = [NmstateFailure(FailureKind.INVALID, "refused")]
    with pytest.raises(NmstateFailure):
        await rig.apply()
    assert rig.manager.rolled_back == []


@dataclass
class LostAnswer(SlowNmstate):
    """libnmstate that dies at the commit, *committed_first*: when NetworkManager has destroyed the checkpoint."""

    committed_first: Callable[[], None] = lambda: None

    async def commit(self, checkpoint: str | None) -> None:  # noqa: ARG002
        self.committed_first()
        raise DIED


@pytest.mark.parametrize("stopped", [False, True])
async def test_a_commit_whose_answer_is_lost_is_no_rollback(*, stopped: bool) -> None:
    """The network may be the new one: what is static on it is settled by the next look, not forgotten (R3)."""
    nmstate = LostAnswer()
    rig = Rig(nmstate=nmstate)

    def commit() -> None:
        rig.manager.pending = []
        if stopped:
            raise asyncio.CancelledError

    nmstate.committed_first = commit
    with pytest.raises(asyncio.CancelledError if stopped else NmstateFailure) as raised:
        await rig.apply()
    assert (rig.manager.rolled_back, rig.record.phase, rig.record.ended) == ([], Phase.APPLYING, rig.clock.now)
    if not stopped:
        assert str(raised.value).startswith(
            "the process that runs libnmstate died (signal 15); NetworkManager has no checkpoint of this apply any "
            "more: it may have been committed all the same. "
        )


async def test_a_commit_that_failed_is_rolled_back() -> None:
    """Its checkpoint is there."""
    rig = Rig(nmstate=LostAnswer())
    with pytest.raises(NmstateFailure):
        await rig.apply()
    assert (rig.manager.rolled_back, rig.record.phase) == (["/cp/1"], Phase.ROLLED_BACK)


async def test_a_checkpoint_with_the_time_of_another_program_is_waited_for() -> None:
    """It was made in the moment in which libnmstate died before it had made its own (R2)."""
    rig = Rig()

    def begin() -> None:
        rig.clock.now += 1
        rig.manager.pending = [Checkpoint("/cp/cockpit", rig.clock.now, 7)]

    rig.nmstate.during_apply, rig.nmstate.fails = begin, [DIED]
    with pytest.raises(NmstateFailure):
        await rig.apply()
    waiting = await rig.pipeline.obstacle("worker-0.yml", uses_ovs=False)
    assert waiting
    made = f"made {rig.clock.now:.0f} s after the start of this boot, which NetworkManager rolls back 7 s later"
    assert waiting.reason == f"another program holds NetworkManager's checkpoint /cp/cockpit, {made}"
    assert rig.manager.rolled_back == []


async def test_network_manager_and_open_vswitch_are_waited_for_by_name() -> None:
    """Open vSwitch only where it is needed."""
    rig = Rig(manager=SlowManager(ManagerState.STARTING))
    waiting = await rig.pipeline.obstacle("worker-0.yml", uses_ovs=False)
    assert waiting
    assert waiting.reason == "NetworkManager is still starting (its first activations are not over)"


async def test_a_start_of_network_manager_that_does_not_end_is_waited_for_200_s() -> None:
    """With a DHCP client without a time-out, on a bridge without an uplink, it never ends; another start is another."""
    rig = Rig(manager=SlowManager(ManagerState.STARTING))
    for seconds, waits in ((0.0, True), (START_SECONDS - 1.0, True), (1.0, False), (600.0, False)):
        rig.clock.now += seconds
        assert bool(await rig.pipeline.obstacle("br-ex", uses_ovs=True)) is waits
    for state, waits in ((ManagerState.READY, False), (ManagerState.STARTING, True), (ManagerState.ABSENT, True)):
        rig.manager.status = state
        assert bool(await rig.pipeline.obstacle("br-ex", uses_ovs=True)) is waits
