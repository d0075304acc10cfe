"""The nmstate stage: keep, adopt, apply, try again, refuse; and what it writes each time."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from ipaddress import ip_address, ip_network
from pathlib import PurePath, PurePosixPath

import pytest
from structlog.testing import capture_logs

from fakes import (
    BOOT_ID,
    FakeClock,
    FakeFiles,
    FakeKernel,
    FakeManager,
    FakeNeighbours,
    FakeNmstate,
    FakeOvsdb,
    FakeProbe,
    FakeProfiles,
    FakeStanding,
    FakeSystemd,
    FakeTargets,
    stage_edges,
)
from nodenet.core.apply import new_file
from nodenet.core.apply.awaited_links import GRACE_SECONDS, SETTLE_SECONDS
from nodenet.core.apply.intent import Intent, Phase
from nodenet.core.apply.new_file import NewFile
from nodenet.core.boot.outcome import Done, Facts, Failed, Outcome, Problem, Skipped, Topic, Waiting
from nodenet.core.boot.stage_state import EDIT, NOTHING, Request
from nodenet.core.boot.stages import new_boot
from nodenet.core.change.record import Change, What
from nodenet.core.change.way_back import Network
from nodenet.core.errors import LibnmstateMissing, PublishFailed, RollbackFailed
from nodenet.core.history import entry
from nodenet.core.history.entry import Entry, Kind, Result
from nodenet.core.kernel.snapshot import Address, Link, NextHop, Route, Snapshot
from nodenet.core.messages import Message
from nodenet.core.network_manager.objects import Inventory
from nodenet.core.network_manager.state import Checkpoint, ManagerState
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.node_ip.published_files import KUBELET, PRIMARY, RUN
from nodenet.core.probes.questions import Scope
from nodenet.core.probes.verdict import PATH, ProbeFailed
from nodenet.core.settings.model import Settings
from nodenet.core.stage_name import StageName
from nodenet.core.trial.trial import APPLY_IT
from nodenet.loop.attempts import behind_undo
from nodenet.stages.apply.changes import Changes
from nodenet.stages.apply.history import Recorder, path_of
from nodenet.stages.apply.pipeline import Pipeline
from nodenet.stages.apply.probes import ProbeEdges, Probes
from nodenet.stages.apply.records import CHANGE, INTENT, NEW_FILE
from nodenet.stages.apply.undo import Undo
from nodenet.stages.nmstate.in_force import LaterTries
from nodenet.stages.nmstate.links import MissingLinks, OtherNames, Settling
from nodenet.stages.nmstate.quarantine import GoingBack, Quarantine
from nodenet.stages.nmstate.stage import NmstateStage

EDGES = ("files", "manager", "nmstate", "ovsdb", "clock", "profiles", "kernel", "neighbours", "standing")
DIRECTORY = PurePosixPath("/etc/nmstate/openshift")
FILE = str(DIRECTORY / "worker-0.yml")
APPLIED = str(DIRECTORY / "applied")
TEXT = b"interfaces:\n- name: eth0\n  type: ethernet\n"
BRIDGE = b"interfaces:\n- name: br-ex\n  type: ovs-interface\n"
NAMED = Facts(hostname="worker-0")


@dataclass
class Rig:
    """The stage over fakes."""

    files: FakeFiles = field(default_factory=lambda: FakeFiles({FILE: TEXT}))
    manager: FakeManager = field(default_factory=FakeManager)
    nmstate: FakeNmstate = field(default_factory=lambda: FakeNmstate({"interfaces": [{"name": "eth0"}]}))
    ovsdb: FakeOvsdb = field(default_factory=FakeOvsdb)
    clock: FakeClock = field(default_factory=FakeClock)
    profiles: FakeProfiles = field(default_factory=FakeProfiles)
    kernel: FakeKernel = field(default_factory=lambda: FakeKernel(Snapshot(links=(Link(2, "eth0"),))))
    neighbours: FakeNeighbours = field(default_factory=FakeNeighbours)
    systemd: FakeSystemd = field(default_factory=FakeSystemd)
    patience: float = 0.1
    standing: FakeStanding = field(default_factory=FakeStanding)

    def __post_init__(self) -> None:
        parts = {name: getattr(self, name) for name in EDGES}
        edges = stage_edges(**parts)
        settling = Settling(self.manager, self.profiles, self.kernel, self.clock)
        outside_probes = ProbeEdges(
            self.kernel, self.neighbours, FakeProbe(), FakeTargets(), self.files, FakeProfiles()
        )
        self.probes = Probes(outside_probes, Scope(), self.patience, forward_seconds=0.2, back_seconds=0.3)
        quarantine = Quarantine(self.files, edges.store, BOOT_ID, 2)
        missing = MissingLinks(self.kernel, self.files, self.systemd, self.clock)
        self.changes, self.undo = Changes(edges), Undo(edges)
        self.pipeline = Pipeline(edges, Settings())
        going_back, recorder = GoingBack(edges, self.pipeline), Recorder.of(edges, Settings())
        later_tries = LaterTries(self.systemd, self.files)
        names = OtherNames(self.kernel, edges.profiles, self.files, self.clock)
        own = (self.pipeline, settling, self.probes, quarantine, missing, going_back, recorder, names, later_tries)
        self.stage = NmstateStage(edges, *own, DIRECTORY)

    async def attempt(self, facts: Facts = NAMED, request: Request = NOTHING) -> Outcome:
        """Attempt the stage as the loop does: behind the undo of what is open."""
        self.clock.now += 1
        return await behind_undo(self.undo, self.stage, facts, request)

    @property
    def record(self) -> Intent:
        record = self.pipeline.record
        assert record is not None
        return record

    def remember(self, record: Intent) -> None:
        """Let *record* be the result of the last apply, or the change that it left open."""
        if record.phase is Phase.APPLYING:
            self.changes.save(Change(What.NODE_FILE, "worker-0.yml", record, Network(("eth0",))))
        else:
            self.changes.save_result(INTENT, record)


async def test_a_new_file_is_applied_committed_and_recorded() -> None:
    """The record is good, the marker is a byte copy, and the second pass writes nothing."""
    rig = Rig()
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert outcome.message is Message.NETWORK_APPLIED
    assert outcome.facts.applied_digest == outcome.facts.digest == rig.record.digest
    assert (rig.nmstate.applied, rig.nmstate.committed) == ([TEXT.decode()], ["/checkpoint/1"])
    assert rig.record.phase is Phase.GOOD
    assert rig.files.content[APPLIED] == TEXT
    rig.files.writes.clear()
    again = await rig.attempt()
    assert isinstance(again, Skipped)
    assert again.facts.applied_digest == again.facts.digest
    assert rig.files.writes == []
    assert len(rig.nmstate.applied) == 1


async def test_a_good_apply_reads_each_record_once() -> None:
    """And looks at what it replaces, or at what must be readable later. Before there was one store: 25 times."""

    class Counting(FakeFiles):
        def read(self, path: PurePath) -> bytes | None:
            if path.is_relative_to("/var/lib/nodenet"):
                reads[str(path)] += 1
            return super().read(path)

    reads: Counter[str] = Counter()
    rig = Rig(files=Counting({FILE: TEXT}))
    assert isinstance(await rig.attempt(), Done)
    assert max(reads.values()) <= 3
    reads.clear()
    await rig.attempt()
    assert not reads.keys() & {str(CHANGE), str(INTENT)}


async def test_the_intent_is_on_the_disk_before_the_network_is_touched() -> None:
    """And the marker is not."""
    rig = Rig()
    seen: list[tuple[Phase, bool]] = []
    rig.nmstate.during_apply = lambda: seen.append((rig.record.phase, APPLIED in rig.files.content))
    await rig.attempt()
    assert seen == [(Phase.APPLYING, False)]


async def test_what_another_program_has_changed_since_an_earlier_boot_is_logged_and_gone() -> None:
    """No silent revert. A file of another digest is no revert, and an administrator who reloads knows."""
    digest = hashlib.sha256(TEXT).hexdigest()
    left = {"interfaces": [{"name": "eth0", "type": "ethernet", "mtu": 1500}]}
    told = {}
    for boot, made_by, request in (
        ("an earlier boot", digest, NOTHING),
        (BOOT_ID, digest, NOTHING),
        ("an earlier boot", "another file", NOTHING),
        ("an earlier boot", digest, Request(1, retry_refused=True)),
    ):
        rig = Rig(nmstate=FakeNmstate(left))
        rig.remember(Intent(made_by, Phase.GOOD, boot, 80.0, made_by))
        with capture_logs() as logs:
            outcome = await rig.attempt(request=request)
        assert isinstance(outcome, Done)
        assert rig.nmstate.applied == [TEXT.decode()]
        lines = [line for line in logs if line.get("message") is Message.NETWORK_CHANGED]
        told[boot, made_by, request.retry_refused] = [(line["log_level"], line["event"]) for line in lines]
    text = "The network was not as an earlier boot had made it; worker-0.yml was applied again: eth0 (mtu)"
    assert told.pop(("an earlier boot", digest, False)) == [("warning", text)]
    assert set(map(tuple, told.values())) == {()}


@pytest.mark.parametrize("made_by", ["this file", "another file"])
async def test_a_new_process_applies_nothing_under_a_running_kubelet(made_by: str) -> None:
    """A restart or a crash of nodenetd is no order; a reload is.."""
    rig = Rig(nmstate=FakeNmstate({"interfaces": [{"name": "eth0", "type": "ethernet", "mtu": 1500}]}))
    digest = hashlib.sha256(TEXT).hexdigest() if made_by == "this file" else made_by
    rig.remember(Intent(digest, Phase.GOOD, BOOT_ID, 80.0, digest))
    rig.files.content[str(RUN / PRIMARY.name)] = b"192.0.2.5"
    rig.systemd.running.add(KUBELET)
    outcome = await rig.attempt()
    assert rig.nmstate.applied == []
    assert outcome.facts
    assert outcome.facts.applied_digest == digest
    if made_by == "this file":
        assert isinstance(outcome, Skipped)
        assert outcome.again, "the network is looked at again, and what differs is said"
    else:
        assert isinstance(outcome, Done), "nothing has failed: with on_failure = wait the node is guarded all the same"
        assert outcome.problem
        assert (outcome.problem.remedy, outcome.again) == (APPLY_IT, None)
        boot = new_boot({}, degrade=False)
        for name, ended in ((StageName.HOSTNAME, Skipped("static", NAMED)), (StageName.NMSTATE, outcome)):
            boot = boot.begun(name, 1.0).after(name, ended, 2.0)
        assert (boot.next(), boot.problem) == (StageName.RESOLV_PREPENDER, (StageName.NMSTATE, outcome.problem))
    await rig.attempt(request=Request(1, retry_refused=True, who=EDIT))
    assert rig.nmstate.applied == [], "an edit while a new process is not READY is for the next boot"
    assert isinstance(await rig.attempt(request=Request(2, retry_refused=True)), Done)
    assert rig.nmstate.applied == [TEXT.decode()]


@pytest.mark.parametrize("case", ["kubelet-waits", "not-published", "interrupted"])
async def test_a_boot_and_an_interrupted_order_go_on(case: str) -> None:
    rig = Rig()
    digest, phase = "another file", Phase.GOOD
    if case == "interrupted":
        digest, phase = hashlib.sha256(TEXT).hexdigest(), Phase.ROLLED_BACK
    rig.remember(Intent(digest, phase, BOOT_ID, 80.0, "another file"))
    if case != "not-published":
        rig.files.content[str(RUN / PRIMARY.name)] = b"192.0.2.5"
    if case != "kubelet-waits":
        rig.systemd.running.add(KUBELET)
    assert isinstance(await rig.attempt(), Done)
    assert rig.nmstate.applied == [TEXT.decode()]


async def test_an_interrupted_apply_of_another_file_is_no_order_for_this_one() -> None:
    """That file is no longer on the disk."""
    rig = Rig()
    rig.remember(Intent("another file", Phase.ROLLED_BACK, BOOT_ID, 80.0, "another file"))
    rig.files.content[str(RUN / PRIMARY.name)] = b"192.0.2.5"
    rig.systemd.running.add(KUBELET)
    await rig.attempt()
    assert rig.nmstate.applied == []


async def test_a_state_that_matches_already_is_adopted() -> None:
    """Nothing is applied; the record is written once."""
    rig = Rig(nmstate=FakeNmstate())
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert rig.nmstate.applied == []
    assert rig.record.phase is Phase.GOOD


@pytest.mark.parametrize(
    "status", [state for state in ManagerState if state not in (ManagerState.READY, ManagerState.STARTING)]
)
async def test_network_manager_is_waited_for_in_words(status: ManagerState) -> None:
    """Nothing is touched before it is there."""
    rig = Rig(manager=FakeManager(status))
    outcome = await rig.attempt()
    assert isinstance(outcome, Waiting)
    assert outcome.reason == status.value
    assert rig.nmstate.applied == []


async def test_open_vswitch_is_waited_for_where_the_file_needs_it() -> None:
    """And only there."""
    rig = Rig(ovsdb=FakeOvsdb(up=False))
    assert isinstance(await rig.attempt(), Done)
    rig = Rig(files=FakeFiles({FILE: BRIDGE}), ovsdb=FakeOvsdb(up=False))
    outcome = await rig.attempt()
    assert isinstance(outcome, Waiting)
    assert "Open vSwitch" in outcome.reason


async def test_a_foreign_checkpoint_is_waited_for_and_named() -> None:
    """Never destroyed."""
    rig = Rig(manager=FakeManager(pending=[Checkpoint("/cp/7", 90.0, 60)]))
    reasons = set()
    for _ in range(2):
        outcome = await rig.attempt()
        assert isinstance(outcome, Waiting)
        reasons.add(outcome.reason)
        rig.clock.now += 30
    made = "made 90 s after the start of this boot, which NetworkManager rolls back 60 s later"
    assert reasons == {f"another program holds NetworkManager's checkpoint /cp/7, {made}"}
    assert rig.manager.rolled_back == []


async def test_our_own_stale_checkpoint_is_rolled_back() -> None:
    """Ours is the one made after our intent of this boot."""
    rig = Rig(manager=FakeManager(pending=[Checkpoint("/cp/7", 90.0)]))
    rig.remember(Intent("d", Phase.APPLYING, BOOT_ID, 80.0))
    assert isinstance(await rig.attempt(), Done)
    assert rig.manager.rolled_back == ["/cp/7"]


async def test_what_may_pass_is_tried_three_times() -> None:
    """With a growing pause, then it is refused."""
    failure = NmstateFailure(FailureKind.PLUGIN, "activation failed")
    rig = Rig(nmstate=FakeNmstate({"interfaces": [1]}, fails=[failure, failure, failure]))
    pauses = []
    for _ in range(2):
        outcome = await rig.attempt()
        assert isinstance(outcome, Waiting)
        pauses.append(outcome.seconds)
    assert pauses == sorted(pauses)
    last = await rig.attempt()
    assert isinstance(last, Failed)
    assert last.problem.cause == "worker-0.yml: activation failed"
    assert rig.record.phase is Phase.REFUSED


async def test_a_try_that_succeeds_ends_the_tries() -> None:
    """A passing fault costs a pause, nothing else."""
    failure = NmstateFailure(FailureKind.KILLED, "hung")
    rig = Rig(nmstate=FakeNmstate({"interfaces": [1]}, fails=[failure]))
    assert isinstance(await rig.attempt(), Waiting)
    assert isinstance(await rig.attempt(), Done)
    assert rig.record.phase is Phase.GOOD


async def test_a_failed_verification_is_refused_and_left_alone_in_this_boot() -> None:
    """The network is not shaken again until somebody asks."""
    failure = NmstateFailure(FailureKind.VERIFICATION, "mtu is 1500")
    rig = Rig(nmstate=FakeNmstate({"interfaces": [1]}, fails=[failure]))
    rig.remember(Intent("old", Phase.GOOD, "boot0", 1.0, in_force="old", brings_bridge=True))
    outcome = await rig.attempt()
    assert isinstance(outcome, Failed)
    assert (outcome.facts.applied_digest, outcome.facts.brings_bridge) == ("old", True)
    again = await rig.attempt()
    assert isinstance(again, Failed)
    assert again.problem.cause == outcome.problem.cause
    assert rig.nmstate.applied == []
    asked = await rig.attempt(NAMED, Request(retry_refused=True))
    assert isinstance(asked, Done)


async def test_the_checkpoint_of_a_killed_child_is_rolled_back_at_once() -> None:
    """NetworkManager's timer is only the last resort."""
    rig = Rig()
    rig.nmstate.fails = [NmstateFailure(FailureKind.KILLED, "hung")]
    rig.nmstate.during_apply = lambda: rig.manager.pending.append(Checkpoint("/checkpoint/1", rig.clock.now))
    await rig.attempt()
    assert rig.manager.rolled_back == ["/checkpoint/1"]


@pytest.mark.parametrize(
    ("content", "said"), [(b"a: [", "line 1"), (b"\xff", "UTF-8"), (b"interfaces: 3", "a list was expected")]
)
async def test_a_file_that_cannot_be_read_touches_nothing(content: bytes, said: str) -> None:
    """The cause names the file; no record, no marker."""
    rig = Rig(files=FakeFiles({FILE: content}))
    outcome = await rig.attempt()
    assert isinstance(outcome, Failed)
    assert outcome.problem.message is Message.NODE_FILE_INVALID
    assert outcome.problem.cause.startswith("worker-0.yml")
    assert said in outcome.problem.cause
    assert rig.files.writes == []


async def test_a_file_that_libnmstate_refuses_touches_nothing() -> None:
    """Found by the difference already."""
    rig = Rig(nmstate=FakeNmstate(difference_fails=NmstateFailure(FailureKind.INVALID, "eth0: unknown key mtuu")))
    outcome = await rig.attempt()
    assert isinstance(outcome, Failed)
    assert outcome.problem.cause == "worker-0.yml: eth0: unknown key mtuu"
    assert outcome.problem.message is Message.NODE_FILE_INVALID
    assert rig.files.writes == [str(path_of(1))]


GONE = NmstateFailure(FailureKind.INVALID, "Interface eth0 does not exist")


async def test_a_link_that_udev_brings_late_is_waited_for_and_the_file_is_applied_then() -> None:
    """Libnmstate is not asked again before it is there."""
    rig = Rig(nmstate=FakeNmstate({"interfaces": [1]}, difference_fails=GONE), kernel=FakeKernel())
    there = "the link eth0 of worker-0.yml, which udev may still bring; this host has no NIC"
    wait = Waiting(there, frozenset({Topic.KERNEL}), 20.0)
    outcome = await rig.attempt()
    assert isinstance(outcome, Waiting)
    assert (outcome.reason, outcome.topics, outcome.seconds) == (wait.reason, wait.topics, wait.seconds)
    assert (outcome.facts is not None, rig.files.writes) == (True, [])
    rig.nmstate.difference_fails = None  # it would be applied now
    assert isinstance(await rig.attempt(), Waiting)
    rig.kernel.now = Snapshot(links=(Link(2, "eth0"),))
    assert isinstance(await rig.attempt(), Done)


async def test_a_vlan_is_not_applied_before_udev_had_time_for_the_link_below_it() -> None:
    """Libnmstate does not miss it. After the wait it is tried as before: NetworkManager may know better."""
    vlan = b"interfaces:\n- name: eth9.7\n  type: vlan\n  vlan: {base-iface: eth9, id: 7}\n"
    rig = Rig(FakeFiles({FILE: vlan}), nmstate=FakeNmstate({"interfaces": [{"name": "eth9.7"}]}))
    for _ in range(2):
        outcome = await rig.attempt()
        assert isinstance(outcome, Waiting)
        assert outcome.reason.startswith(
            "the link eth9 of worker-0.yml, which udev may still bring; this host has eth0"
        )
    assert (rig.nmstate.applied, rig.files.content.get(str(INTENT))) == ([], None)
    rig.clock.now += 20
    assert isinstance(await rig.attempt(), Done)


async def test_a_link_that_never_comes_is_a_refusal_with_the_same_cause_and_nothing_is_touched() -> None:
    """Once: neither a later look nor a reload waits again."""
    rig = Rig(nmstate=FakeNmstate(difference_fails=GONE), kernel=FakeKernel())
    assert isinstance(await rig.attempt(), Waiting)
    rig.clock.now += 20
    for request in (NOTHING, NOTHING, Request(1, retry_refused=True)):
        outcome = await rig.attempt(request=request)
        assert isinstance(outcome, Failed)
        assert outcome.problem.cause == "worker-0.yml: Interface eth0 does not exist; this host has no NIC"
    assert (rig.nmstate.applied, rig.files.writes) == ([], [str(path_of(1))])


REFUSED = NmstateFailure(FailureKind.INVALID, "eth0 cannot have IP enabled as it is attached to controller br-ex")


async def test_a_file_whose_link_went_below_br_ex_is_in_force_all_the_same() -> None:
    """By the record, or by the marker that the old chain left."""
    rig = Rig()
    await rig.attempt()
    rig.nmstate.difference_fails, rig.nmstate.below = REFUSED, {}
    rig.files.writes.clear()
    assert isinstance(await rig.attempt(), Skipped)
    assert (rig.nmstate.bridges, rig.files.writes) == (("br-ex", "br-ex1"), [])
    before = Rig(FakeFiles({FILE: TEXT, APPLIED: TEXT}), nmstate=FakeNmstate(difference_fails=REFUSED, below={}))
    assert isinstance(await before.attempt(), Done)
    assert before.nmstate.applied == []


async def test_another_file_for_a_link_below_br_ex_is_refused_with_the_way_out() -> None:
    """And one that is wrong in itself is told to be wrong."""
    rig = Rig()
    await rig.attempt()
    before = rig.record.digest
    rig.files.content[FILE] = TEXT + b"  mtu: 9000\n"
    rig.nmstate.difference_fails, rig.nmstate.below = REFUSED, {}
    outcome = await rig.attempt()
    assert isinstance(outcome, Failed)
    assert "nodenetctl bridge remove" in outcome.problem.remedy
    assert outcome.facts.applied_digest == before
    rig.nmstate.below = None
    outcome = await rig.attempt()
    assert isinstance(outcome, Failed)
    assert outcome.problem.remedy.startswith("Correct the node file")


async def test_a_missing_libnmstate_is_permanent() -> None:
    """Exit 78, no restart loop."""
    rig = Rig(nmstate=FakeNmstate(difference_fails=NmstateFailure(FailureKind.MISSING, "No module named libnmstate")))
    with pytest.raises(LibnmstateMissing, match="python3-libnmstate"):
        await rig.attempt()


async def test_no_node_file_is_skipped_with_the_names_searched() -> None:
    """An administrator sees what would have been taken."""
    outcome = await Rig(files=FakeFiles()).attempt()
    assert isinstance(outcome, Skipped)
    assert "worker-0.yml" in outcome.reason
    assert "cluster.yaml" in outcome.reason


async def test_an_empty_file_counts_as_none() -> None:
    """Comments configure nothing."""
    outcome = await Rig(files=FakeFiles({FILE: b"# later\n"})).attempt()
    assert isinstance(outcome, Skipped)


async def test_a_full_disk_leaves_the_network_alone() -> None:
    """Without an intent on the disk nothing is applied."""
    rig = Rig()
    rig.files.broken = PublishFailed("/var/lib/nodenet/intent.json: No space left on device", remedy="Make room")
    outcome = await rig.attempt()
    assert isinstance(outcome, Failed)
    assert outcome.problem.message is Message.PUBLISH_FAILED
    assert outcome.problem.remedy == "Make room; then run `nodenetctl reload --wait`"
    assert rig.nmstate.applied == []


async def test_a_record_that_cannot_be_read_is_the_cause_and_leaves_the_network_alone() -> None:
    """Not an error that nothing has caught: kubelet does not wait for five tries (R15)."""
    rig = Rig()
    rig.files.bad = {str(INTENT): PublishFailed(f"{INTENT} cannot be read: Input/output error")}
    outcome = await rig.attempt()
    assert isinstance(outcome, Failed)
    assert outcome.problem.cause == f"{INTENT} cannot be read: Input/output error"
    assert (rig.nmstate.applied, outcome.facts.applied_digest) == ([], None)


async def test_a_rollback_that_fails_is_told_as_such() -> None:
    """A person must look."""
    rig = Rig()
    rig.nmstate.fails = [RollbackFailed("devices are gone", remedy="Look")]
    outcome = await rig.attempt()
    assert isinstance(outcome, Failed)
    assert outcome.problem.message is Message.ROLLBACK_FAILED


async def test_a_record_that_cannot_be_read_is_one_failure_with_its_remedy() -> None:
    """Nothing is applied on top of what is not known."""
    rig = Rig()
    path = "/var/lib/nodenet/intent.json"
    rig.files.bad[path] = PublishFailed(f"{path} cannot be read: Is a directory", remedy="Remove it")
    outcome = await rig.attempt()
    assert isinstance(outcome, Failed)
    cause, remedy = f"{path} cannot be read: Is a directory", "Remove it; then run `nodenetctl reload --wait`"
    assert outcome.problem == Problem(Message.PUBLISH_FAILED, cause, remedy)
    assert rig.nmstate.applied == []


async def test_an_unreadable_record_is_set_aside() -> None:
    """Never half believed, never lost."""
    rig = Rig()
    rig.files.content[str(INTENT)] = b'{"version": 99}'
    assert isinstance(await rig.attempt(), Done)
    assert rig.files.content["/var/lib/nodenet/intent.unreadable"] == b'{"version": 99}'


async def test_a_secret_of_the_file_is_in_no_cause_and_no_record() -> None:
    """Journal, status, bus and the disk are told without it."""
    secret = b"interfaces:\n- name: eth0\n  802.1x:\n    password: hunter2\n"
    failure = NmstateFailure(FailureKind.VERIFICATION, "desired hunter2, current null")
    rig = Rig(files=FakeFiles({FILE: secret}), nmstate=FakeNmstate({"interfaces": [1]}, fails=[failure]))
    outcome = await rig.attempt()
    assert isinstance(outcome, Failed)
    assert outcome.problem.cause == "worker-0.yml: desired <hidden>, current null"
    assert b"hunter2" not in rig.files.content[str(INTENT)]


@pytest.mark.parametrize("dns", [None, {"searches": ["example.com"]}])
async def test_dns_that_a_rollback_forgets_is_put_back(dns: object) -> None:
    """NetworkManager before 1.48; a newer one needs nothing."""
    rig = Rig(manager=FakeManager(dns=dns))
    rig.nmstate.fails = [NmstateFailure(FailureKind.VERIFICATION, "mtu is 1500")]
    await rig.attempt()
    assert rig.manager.restored == ([] if dns is None else [dns])


@pytest.mark.parametrize(
    ("text", "why"), [(b"", "is empty"), (b"\n \n", "is empty"), (b"# later\n", "has nothing but comments")]
)
async def test_a_file_that_asks_for_nothing_is_none_in_every_place(text: bytes, why: str) -> None:
    """Neither in force nor out of it; what the earlier one set is told, for nobody undoes it."""
    rig = Rig()
    before = await rig.attempt()
    assert isinstance(before, Done)
    rig.files.content[FILE] = text
    outcome = await rig.attempt(before.facts)
    assert isinstance(outcome, Skipped)
    assert outcome.reason == f"worker-0.yml {why}: nothing to apply"
    assert (outcome.facts.node_file, outcome.facts.digest) == (None, None)
    assert outcome.facts.unused == ("worker-0.yml", hashlib.sha256(text).hexdigest())
    assert outcome.facts.applied_digest == before.facts.digest
    fresh = await rig.attempt()
    assert isinstance(fresh, Skipped)
    assert fresh.facts == outcome.facts
    del rig.files.content[FILE]
    gone = await rig.attempt(outcome.facts)
    assert isinstance(gone, Skipped)
    assert gone.facts.unused is None


async def test_two_files_for_one_host_are_both_named() -> None:
    """Neither is read, so neither has a digest."""
    rig = Rig()
    before = await rig.attempt()
    assert isinstance(before, Done)
    rig.files.content[FILE.replace(".yml", ".yaml")] = TEXT
    outcome = await rig.attempt(before.facts)
    assert isinstance(outcome, Failed)
    assert (outcome.facts.node_file, outcome.facts.digest) == ("worker-0.yaml and worker-0.yml", None)
    assert outcome.facts.applied_digest == before.facts.digest


@pytest.mark.parametrize("back", [True, False])
async def test_an_apply_that_crashes_network_manager_is_tried_three_times_at_most(*, back: bool) -> None:
    """Also where NetworkManager is *back* each time, and in five minutes where it is not: then degraded (R8)."""
    rig = Rig()
    applies = 0

    def crash() -> None:
        nonlocal applies
        applies += 1
        rig.manager.crash()
        rig.nmstate.fails = [NmstateFailure(FailureKind.INTERNAL, "NetworkManager vanished")]

    rig.nmstate.during_apply = crash
    outcome: Outcome = Waiting("not begun")
    began = rig.clock.now
    while isinstance(outcome, Waiting):
        rig.manager.crashed = rig.manager.crashed and not back
        rig.clock.now += 30
        outcome = await rig.attempt()
    assert isinstance(outcome, Failed)
    assert applies == (3 if back else 1)
    assert rig.clock.now - began <= 400
    assert outcome.problem.cause.startswith("worker-0.yml: NetworkManager vanished; the rollback is left to")
    assert rig.record.phase is Phase.REFUSED


async def test_a_type_of_link_that_the_kernel_cannot_make_is_tried_once() -> None:
    """No further try can succeed; and each one takes two minutes (R11)."""
    text = "failed to create bond0: Operation not supported - Unknown device type"
    rig = Rig()
    rig.nmstate.fails = [NmstateFailure(FailureKind.PLUGIN, text)]
    outcome = await rig.attempt()
    assert isinstance(outcome, Failed)
    assert outcome.problem.cause == f"worker-0.yml: {text}"


async def test_while_a_file_is_tried_again_its_name_the_try_and_the_last_error_are_known() -> None:
    """They stand in the status (R11)."""
    rig = Rig()
    rig.nmstate.fails = [NmstateFailure(FailureKind.PLUGIN, "NetworkManager timed out")]
    outcome = await rig.attempt()
    assert isinstance(outcome, Waiting)
    assert outcome.reason == "the next try of worker-0.yml; try 1 of 3 failed: NetworkManager timed out"
    assert outcome.facts
    assert (outcome.facts.node_file, outcome.facts.digest) == ("worker-0.yml", rig.record.digest)


STATIC = b"interfaces:\n- name: eth0\n  type: ethernet\n  ipv4: {dhcp: false, enabled: true}\n"
ASKS = Inventory(states={"eth0": "getting its IP configuration"})


ACTIVATES = "NetworkManager, which still activates eth0"


def starting(text: bytes = STATIC, found: Inventory = ASKS) -> Rig:
    """Return a node whose NetworkManager has been starting for four seconds."""
    rig = Rig(files=FakeFiles({FILE: text}), manager=FakeManager(ManagerState.STARTING))
    rig.profiles.found = found
    return rig


async def attempt_later(rig: Rig) -> Outcome:
    """Return what comes after NetworkManager has been starting for some seconds."""
    await rig.attempt()
    rig.clock.now += GRACE_SECONDS
    return await rig.attempt()


async def test_a_static_file_does_not_wait_for_a_lease_that_it_does_not_ask_for() -> None:
    """No DHCP server answers: NetworkManager would be starting for most of a minute."""
    rig = starting()
    assert isinstance(await attempt_later(rig), Done)
    assert rig.nmstate.applied == [STATIC.decode()]


async def test_a_file_for_another_link_waits_for_nothing() -> None:
    """A cabled storage NIC without DHCP keeps NetworkManager's start open for minutes."""
    rig = starting(found=Inventory(states={**ASKS.states, "eth1": ASKS.states["eth0"]}, settled=frozenset({"eth0"})))
    assert isinstance(await rig.attempt(), Done)


async def test_an_early_file_looks_for_open_vswitch_and_for_other_checkpoints_as_often_as_another_one() -> None:
    """Neither has an event: with the pause of NetworkManager's start kubelet would be held for up to a minute more."""
    rig = starting(STATIC + b"- name: br0\n  type: ovs-bridge\n")
    rig.ovsdb.up = False
    outcome = await attempt_later(rig)
    assert isinstance(outcome, Waiting)
    assert outcome.reason == "Open vSwitch's database is not there yet, and worker-0.yml needs it"
    assert outcome.seconds == 1.0
    rig.ovsdb.up = True
    rig.manager.pending = [Checkpoint("/checkpoint/9", 1.0)]
    outcome = await rig.attempt()
    assert isinstance(outcome, Waiting)
    assert outcome.seconds == 2.0


async def test_a_lease_that_the_file_wants_is_waited_for() -> None:
    """Nothing is applied, and libnmstate is not asked; no link is waited for without end."""
    rig = starting(STATIC.replace(b"false", b"true"))
    outcome = await attempt_later(rig)
    assert isinstance(outcome, Waiting)
    assert (outcome.reason, outcome.seconds) == (ACTIVATES, 1.0)
    assert rig.nmstate.applied == []
    rig.clock.now += SETTLE_SECONDS
    assert isinstance(await rig.attempt(), Done)


async def test_a_file_in_force_is_kept_while_another_link_waits_for_a_lease() -> None:
    """Where the state differs, what the file gave to a link may be on its way: the link is waited for."""
    rig = Rig(files=FakeFiles({FILE: STATIC}))
    assert isinstance(await rig.attempt(), Done)
    rig.manager.status, rig.profiles.found = ManagerState.STARTING, ASKS
    assert isinstance(await attempt_later(rig), Skipped)
    rig.nmstate.left = {"interfaces": [{"name": "eth0"}]}
    waiting = await rig.attempt()
    assert isinstance(waiting, Waiting)
    assert waiting.reason == ACTIVATES
    assert len(rig.nmstate.applied) == 1
    rig.profiles.found = Inventory(states=ASKS.states, settled=frozenset({"eth0"}))
    assert isinstance(await rig.attempt(), Done)


async def test_a_lease_that_a_file_in_force_asks_for_is_not_waited_for() -> None:
    """Its profile asks without end: NetworkManager never ends its start where no server answers on one of the links."""
    rig = Rig(files=FakeFiles({FILE: STATIC.replace(b"false", b"true")}))
    assert isinstance(await rig.attempt(), Done)
    rig.manager.status, rig.profiles.found = ManagerState.STARTING, ASKS
    assert isinstance(await attempt_later(rig), Skipped)
    assert len(rig.nmstate.applied) == 1


GATEWAY, OTHER = ip_address("192.0.2.1"), ip_address("192.0.2.5")
ONLINE = Snapshot(
    (Link(2, "eth0"),),
    (Address(ip_address("192.0.2.9"), 24, "eth0"),),
    (Route(ip_network("0.0.0.0/0"), (NextHop("eth0", GATEWAY),)),),
)
WITH_ADDRESS = b"interfaces:\n- name: eth0\n  ipv4: {enabled: true, address: [{ip: 192.0.2.5, prefix-length: 24}]}\n"


def online() -> Rig:
    """Return a node whose gateway answers."""
    return Rig(kernel=FakeKernel(ONLINE), neighbours=FakeNeighbours({GATEWAY}))


async def test_a_file_that_cuts_the_node_off_is_rolled_back_and_not_tried_again_under_kubelet() -> None:
    """The probe is the cause; the corrected file is applied at once, and this one if a reload asks for it."""
    rig = online()
    rig.systemd.running.add(KUBELET)

    def cut() -> None:
        rig.neighbours.there.clear()
        rig.manager.pending.append(Checkpoint("/checkpoint/1", rig.clock.now))

    rig.nmstate.during_apply = cut
    outcome = await rig.attempt()
    assert isinstance(outcome, Failed)
    assert outcome.problem.message is Message.PROBE_FAILED
    assert outcome.problem.cause == (
        "worker-0.yml: the gateway 192.0.2.1 does not answer on eth0, and it answered before the apply"
    )
    assert (rig.nmstate.committed, rig.manager.rolled_back) == ([], ["/checkpoint/1"])
    assert rig.record.phase is Phase.REFUSED
    rig.neighbours.there.add(GATEWAY)
    rig.nmstate.during_apply = lambda: None
    again = await rig.attempt()
    assert isinstance(again, Failed)
    assert again.problem.cause == outcome.problem.cause
    assert len(rig.nmstate.applied) == 1
    rig.files.content[FILE] = TEXT + b"  mtu: 1400\n"
    assert isinstance(await rig.attempt(), Done)


async def test_the_stage_ends_when_the_rolled_back_network_is_there_again() -> None:
    """The stages behind would report its addresses as lost."""
    rig = online()

    def cut() -> None:
        rig.neighbours.there.clear()
        rig.kernel.now = Snapshot()
        asyncio.get_running_loop().call_later(0.25, restore)

    def restore() -> None:
        rig.neighbours.there.add(GATEWAY)
        rig.kernel.now = ONLINE

    rig.nmstate.during_apply = cut
    outcome = await rig.attempt()
    assert isinstance(outcome, Failed)
    assert outcome.problem.message is Message.PROBE_FAILED
    assert rig.kernel.now is ONLINE


async def test_a_node_that_had_no_network_keeps_its_file() -> None:
    """There is nothing to go back to; the silence is logged."""
    rig = online()
    rig.neighbours.there.clear()
    with capture_logs() as logs:
        outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert [line["event"] for line in logs if line.get("message") is Message.PROBE_SILENT] == [
        "After the apply the gateway 192.0.2.1 does not answer on eth0"
    ]


async def test_an_address_of_another_host_is_refused_before_the_apply() -> None:
    """Nothing is touched."""
    rig = online()
    rig.files.content[FILE] = WITH_ADDRESS
    rig.neighbours.there.add(OTHER)
    outcome = await rig.attempt()
    assert isinstance(outcome, Failed)
    assert outcome.problem.message is Message.PROBE_FAILED
    assert outcome.problem.cause == "worker-0.yml: the address 192.0.2.5 of eth0 is in use by another host"
    assert rig.nmstate.applied == []
    assert rig.files.content.keys() == {FILE, str(NEW_FILE), str(PATH), str(path_of(1))}


async def test_the_detail_names_what_answers() -> None:
    """A file in force is not probed: nothing is asked in an unchanged boot."""
    rig = online()
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert outcome.detail.endswith(" s; these answer: gateway 192.0.2.1")
    rig.neighbours.asked.clear()
    assert isinstance(await rig.attempt(), Skipped)
    assert rig.neighbours.asked == []


def moving() -> Rig:
    """Return a node with a way out that the file takes away; its own gateway does not answer yet."""
    rig = online()
    rig.kernel.now = replace(ONLINE, routes=(replace(ONLINE.routes[0], next_hops=(NextHop("eth0", OTHER),)),))
    rig.neighbours.there = {OTHER}
    rig.nmstate.during_apply = lambda: setattr(rig.kernel, "now", ONLINE)
    return rig


async def test_the_file_in_force_and_the_last_known_good_one_are_kept_though_a_router_boots_late() -> None:
    """The network differs from it after a power cut, and a gateway of another network answers."""
    rig = moving()
    digest = hashlib.sha256(TEXT).hexdigest()
    rig.remember(Intent(digest, Phase.GOOD, "the last boot", 5.0, in_force=digest))
    rig.nmstate.left = {"interfaces": [{"name": "eth0"}]}
    assert isinstance(await rig.attempt(), Done)
    assert rig.nmstate.committed == ["/checkpoint/1"]
    rig = moving()
    lost_boots(rig)
    assert isinstance(await rig.attempt(), Done)
    assert rig.nmstate.applied == [OLD.decode()]
    new = await moving().attempt()
    assert isinstance(new, Failed)
    assert new.problem.message is Message.PROBE_FAILED


async def test_probes_can_be_switched_off() -> None:
    rig = Rig(kernel=FakeKernel(ONLINE), neighbours=FakeNeighbours({GATEWAY, OTHER}), patience=0)
    rig.files.content[FILE] = WITH_ADDRESS
    assert isinstance(await rig.attempt(), Done)
    assert rig.neighbours.asked == []


OLD = b"interfaces:\n- name: eth0\n  mtu: 1400\n"


def quarantined() -> Rig:
    """Return a node whose new file did not lead to READY in two boots; it had worked with the file OLD."""
    rig = Rig()
    lost_boots(rig)
    return rig


def lost_boots(rig: Rig) -> None:
    """Let two boots with the new file be lost."""
    digest = hashlib.sha256(OLD).hexdigest()
    parts = ("worker-0.yml", OLD.decode(), digest, "worker-0", "boot0", 1.0)
    good = Entry(Kind.NODE_FILE, Result.COMMITTED, *parts, good=True)
    rig.files.content[str(path_of(1))] = entry.render(good, 1 << 20)
    lost = NewFile(hashlib.sha256(TEXT).hexdigest(), ("boot1", "boot2"))
    rig.files.content[str(NEW_FILE)] = new_file.render(lost)


async def test_after_two_boots_without_ready_the_last_known_good_file_is_applied() -> None:
    """With the cause beside it, also where the state matches already; the file on the disk is not touched."""
    rig = quarantined()
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert outcome.problem == Problem(
        Message.NODE_FILE_QUARANTINED,
        (
            "2 boots in a row with worker-0.yml did not reach READY or ended soon after it: the last known good "
            "worker-0.yml is used in its place"
        ),
        "Correct worker-0.yml; `nodenetctl reload --wait` tries it once more as it is",
    )
    assert rig.nmstate.applied == [OLD.decode()]
    assert outcome.detail.startswith("Applied the last known good worker-0.yml and verified it in ")
    assert (rig.files.content[FILE], rig.files.content[APPLIED]) == (TEXT, OLD)
    assert (outcome.facts.digest, outcome.facts.applied_digest) == (
        hashlib.sha256(TEXT).hexdigest(),
        hashlib.sha256(OLD).hexdigest(),
    )
    again = await rig.attempt()
    assert isinstance(again, Done)
    assert again.problem == outcome.problem
    assert len(rig.nmstate.applied) == 1


def cut_short(boot_id: str, *, good: bool) -> Rig:
    """Return a node whose new file had taken its gateway away when the power or nodenetd went, *good*: OLD is known."""
    rig = Rig(kernel=FakeKernel(ONLINE))
    if good:
        lost_boots(rig)
        rig.files.content[str(NEW_FILE)] = new_file.render(NewFile(hashlib.sha256(TEXT).hexdigest(), ("boot1",)))
    record = Intent(hashlib.sha256(TEXT).hexdigest(), Phase.APPLYING, boot_id, 5.0, in_force="old", way_out=True)
    rig.remember(record)
    return rig


CUT_OFF = (
    "worker-0.yml failed its probes (the gateway 192.0.2.1 does not answer on eth0, "
    "and one answered when the node last worked): "
    "the last known good worker-0.yml is used in its place"
)


async def test_a_power_cut_in_the_probes_of_a_bad_file_does_not_leave_the_node_cut_off() -> None:
    """In the next boot nothing answers before the apply, and no checkpoint leads back, but the last known good file."""
    rig = cut_short("the last boot", good=True)
    outcome = await rig.attempt()
    assert isinstance(outcome, Waiting)
    assert (outcome.seconds, rig.record.phase, rig.record.way_out) == (0.0, Phase.REFUSED, True)
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert outcome.problem
    assert (outcome.problem.message, outcome.problem.cause) == (Message.NODE_FILE_QUARANTINED, CUT_OFF)
    assert rig.nmstate.applied == [TEXT.decode(), OLD.decode()]
    assert len(rig.nmstate.committed) == 1
    again = await rig.attempt()
    assert isinstance(again, Done)
    assert (again.problem, len(rig.nmstate.applied)) == (outcome.problem, 2)
    rig.neighbours.there.add(GATEWAY)
    asked = await rig.attempt(NAMED, Request(retry_refused=True))
    assert isinstance(asked, Done)
    assert asked.problem is None


async def test_a_probe_that_says_nothing_about_the_way_out_is_not_called_a_cut() -> None:
    """Another host has an address of the file that an earlier boot was interrupted with."""
    rig = cut_short("the last boot", good=True)
    rig.nmstate.fails = [ProbeFailed(FailureKind.PROBE, "192.0.2.9 is in use by another host")]
    assert isinstance(await rig.attempt(), Waiting)
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert outcome.problem
    assert outcome.problem.cause.startswith("worker-0.yml failed its probes (192.0.2.9 is in use by another host): ")


async def test_a_failed_try_between_does_not_let_an_interrupted_bad_file_pass() -> None:
    """Its rollback leads to what the interrupted apply left."""
    rig = cut_short("the last boot", good=True)
    rig.nmstate.fails = [NmstateFailure(FailureKind.PLUGIN, "Open vSwitch's plugin is not loaded yet")]
    waiting = await rig.attempt()
    assert isinstance(waiting, Waiting)
    assert (waiting.seconds, rig.record.phase) == (2.0, Phase.ROLLED_BACK)
    assert isinstance(await rig.attempt(), Waiting)
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert outcome.problem
    assert outcome.problem.cause == CUT_OFF


@pytest.mark.parametrize("refused", [False, True])
async def test_two_kills_with_a_failed_try_between_do_not_let_an_interrupted_bad_file_pass(*, refused: bool) -> None:
    """The second nodenetd has nothing but the record; also where the tries between were used up."""
    rig = cut_short("the last boot", good=True)
    rig.nmstate.fails = [NmstateFailure(FailureKind.PLUGIN, "Open vSwitch's plugin is not loaded yet")] * (
        1 + 2 * refused
    )
    for _ in rig.nmstate.fails.copy():
        last = await rig.attempt()
    assert isinstance(last, Failed if refused else Waiting)
    assert rig.record.phase is (Phase.REFUSED if refused else Phase.ROLLED_BACK)
    if refused:
        rig.remember(replace(rig.record, boot_id="the boot between"))
    again = Rig(files=rig.files, kernel=FakeKernel(ONLINE))
    assert isinstance(await again.attempt(), Waiting)
    outcome = await again.attempt()
    assert isinstance(outcome, Done)
    assert outcome.problem
    assert outcome.problem.cause == CUT_OFF


async def test_without_a_file_to_go_back_to_an_interrupted_one_is_kept() -> None:
    """As in a first boot: its router may boot later."""
    rig = cut_short("the last boot", good=False)
    assert isinstance(await rig.attempt(), Done)
    assert len(rig.nmstate.committed) == 1


async def test_a_kill_in_the_probes_of_a_bad_file_does_not_let_it_pass() -> None:
    """The rollback of the next nodenetd is not over when that one asks what answers."""
    rig = cut_short(BOOT_ID, good=False)
    outcome = await rig.attempt()
    assert isinstance(outcome, Failed)
    assert outcome.problem.message is Message.PROBE_FAILED
    assert (rig.nmstate.committed, rig.record.phase) == ([], Phase.REFUSED)


async def test_an_interrupted_file_that_works_is_kept() -> None:
    """Its gateway answers."""
    rig = cut_short("the last boot", good=True)
    rig.nmstate.during_apply = lambda: rig.neighbours.there.add(GATEWAY)
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert (outcome.problem, rig.record.phase) == (None, Phase.GOOD)


async def test_a_bad_file_that_network_manager_cannot_roll_back_any_more_gives_way() -> None:
    """It was started again during the probes, and has forgotten its checkpoint."""
    rig = online()
    lost_boots(rig)
    rig.files.content[str(NEW_FILE)] = new_file.render(NewFile("another"))

    def cut() -> None:
        rig.neighbours.there.clear()
        rig.manager.starts += 1

    rig.nmstate.during_apply = cut
    reload = Request(2, retry_refused=True)  # a wait does not use it up
    assert isinstance(await rig.attempt(NAMED, reload), Waiting)
    outcome = await rig.attempt(NAMED, reload)
    assert isinstance(outcome, Done)
    assert outcome.problem
    assert outcome.problem.cause.startswith(
        "worker-0.yml failed its probes (the gateway 192.0.2.1 does not answer on eth0"
    )
    assert rig.nmstate.applied == [TEXT.decode(), OLD.decode()]


class StuckManager(FakeManager):
    """A device does not come back in a rollback. Its checkpoint is gone all the same, as in NetworkManager."""

    async def roll_back(self, checkpoint: str) -> None:
        await super().roll_back(checkpoint)
        raise RollbackFailed("NetworkManager could not bring back 1 of 2 devices", remedy="Look")


async def test_a_file_that_cannot_be_rolled_back_gives_way_to_the_last_known_good_one() -> None:
    """Until an administrator asks for it: nothing else brings the network back before the next boot."""
    rig = Rig(manager=StuckManager())
    lost_boots(rig)
    rig.files.content[str(NEW_FILE)] = new_file.render(NewFile("another"))
    rig.nmstate.during_apply = lambda: rig.manager.pending.append(Checkpoint("/checkpoint/1", rig.clock.now))
    rig.nmstate.fails = [NmstateFailure(FailureKind.VERIFICATION, "no answer from eth0")]
    waiting = await rig.attempt()
    assert isinstance(waiting, Waiting)
    assert waiting.seconds == 0.0
    rig.nmstate.during_apply = lambda: None
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert outcome.problem
    assert outcome.problem.cause == (
        "worker-0.yml could not be rolled back (NetworkManager could not bring back 1 of 2 devices): the last known "
        "good worker-0.yml is used in its place"
    )
    assert rig.nmstate.applied == [OLD.decode()]
    assert (rig.files.content[FILE], rig.files.content[APPLIED]) == (TEXT, OLD)
    assert isinstance(await rig.attempt(), Done)
    asked = await rig.attempt(request=Request(2, retry_refused=True))
    assert isinstance(asked, Done)
    assert (asked.problem, asked.facts.applied_digest) == (None, hashlib.sha256(TEXT).hexdigest())


async def test_the_last_known_good_file_that_cannot_be_rolled_back_gives_way_to_none() -> None:
    """A person must look then; the two files do not take turns."""
    rig = Rig(manager=StuckManager())
    lost_boots(rig)
    rig.nmstate.during_apply = lambda: rig.manager.pending.append(Checkpoint("/checkpoint/1", rig.clock.now))
    rig.nmstate.fails = [NmstateFailure(FailureKind.VERIFICATION, "no answer from eth0")]
    outcome = await rig.attempt()
    assert isinstance(outcome, Failed)
    assert outcome.problem.message is Message.ROLLBACK_FAILED
    assert (rig.nmstate.fails, rig.nmstate.applied) == ([], [])
    assert rig.profiles.done == []  # nothing is deleted, and nothing set


async def test_a_corrected_file_or_a_reload_ends_the_quarantine() -> None:
    """At once."""
    rig = quarantined()
    rig.files.content[FILE] = TEXT + b"  mtu: 1450\n"
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert (outcome.problem, rig.nmstate.applied) == (None, [(TEXT + b"  mtu: 1450\n").decode()])
    rig = quarantined()
    await rig.attempt()
    rig.nmstate.left = {"interfaces": [1]}
    outcome = await rig.attempt(NAMED, Request(retry_refused=True))
    assert isinstance(outcome, Done)
    assert (outcome.problem, rig.nmstate.applied[-1]) == (None, TEXT.decode())


@pytest.mark.parametrize("has_other", [True, False])
async def test_a_gateway_that_answers_late_in_a_boot_saves_the_node(has_other: bool) -> None:  # noqa: FBT001
    """A switch port forwards half a minute after the link came up. It is waited for where another file is good."""
    rig = quarantined()
    rig.probes.forward_seconds = 30.0
    rig.kernel.now = ONLINE
    del rig.files.content[str(NEW_FILE)]
    if not has_other:
        del rig.files.content[str(path_of(1))]
    asyncio.get_running_loop().call_later(0.3, rig.neighbours.there.add, GATEWAY)
    rig.nmstate.during_apply = rig.neighbours.there.clear  # with the file, no gateway answers
    outcome = await rig.attempt()
    if has_other:
        assert isinstance(outcome, Failed)
        assert outcome.problem.message is Message.PROBE_FAILED
    else:
        assert isinstance(outcome, Done)


async def test_a_silent_gateway_is_compared_with_what_answered_when_the_node_last_worked() -> None:
    """A new file of a node whose router is off: it is kept if a gateway answers with it, and else tried again."""
    for probes, gateway in (("gateway 192.0.2.1", False), ("gateway 192.0.2.1", True), ("", False)):
        rig = quarantined()
        rig.kernel.now = ONLINE
        del rig.files.content[str(NEW_FILE)]
        good = entry.parse(rig.files.content[str(path_of(1))], 1)
        rig.files.content[str(path_of(1))] = entry.render(replace(good, probes=probes), 1 << 20)
        rig.nmstate.during_apply = partial(rig.neighbours.there.update, {GATEWAY} if gateway else ())
        outcome = await rig.attempt()
        if gateway or not probes:
            assert isinstance(outcome, Done)
            continue
        assert isinstance(outcome, Failed)
        assert "and one answered when the node last worked" in outcome.problem.cause
        assert outcome.again
        assert outcome.again.seconds == 60
        rig.nmstate.during_apply = partial(rig.neighbours.there.add, GATEWAY)  # the router has started
        rig.systemd.running.add(KUBELET)  # with the node IPs of the last boot: nothing is applied under it
        assert isinstance(await rig.attempt(), Failed)
        rig.systemd.running.clear()
        assert isinstance(await rig.attempt(), Done)
