"""A trial: refused, held, confirmed or rolled back, and what is on the disk each time."""

from __future__ import annotations

import asyncio
import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import PurePosixPath
from typing import Any

import pytest

from fakes import (
    BOOT_ID,
    FakeClock,
    FakeFiles,
    FakeKernel,
    FakeManager,
    FakeNeighbours,
    FakeNmstate,
    FakeProbe,
    FakeProfiles,
    stage_edges,
)
from nodenet.core.apply import intent
from nodenet.core.apply.intent import Intent, Phase
from nodenet.core.boot.outcome import Facts
from nodenet.core.errors import (
    Busy,
    NodeFileInvalid,
    NodenetError,
    PublishFailed,
    RollbackFailed,
    Unavailable,
    UplinkRefused,
    UsageInvalid,
)
from nodenet.core.history.entry import Kind
from nodenet.core.network_manager.objects import Inventory
from nodenet.core.network_manager.state import Checkpoint, ManagerState
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.probes.verdict import PATH as PROBES
from nodenet.core.settings.model import Settings
from nodenet.core.trial.trial import ASIDE, STAGED, Decision, TrialEnded, TrialOrder
from nodenet.edge.files.disk import STRAY
from nodenet.stages.apply.history import History
from nodenet.stages.apply.node_file import NodeFiles
from nodenet.stages.apply.policies import RECORD
from nodenet.stages.apply.records import CHANGE, INTENT, NEW_FILE
from nodenet.stages.trial import trial_of
from probes_rig import GATEWAY, ONLINE

TEXT = b"interfaces:\n- name: eth0\n  type: ethernet\n  mtu: 1400\n"
DIGEST = hashlib.sha256(TEXT).hexdigest()
ORDER = TrialOrder("new.yml", DIGEST, 60.0, "root")
PATH = f"{STAGED}/{DIGEST}.yml"
OWN = "/etc/nmstate/openshift/worker-0.yml"
OWN_DIGEST = hashlib.sha256(b"interfaces: []\n").hexdigest()
SECRET = TEXT + b"  802.1x:\n    identity: node\n    private-key-password: hunter2-rack\n"
BEFORE = intent.render(Intent("e" * 64, Phase.GOOD, BOOT_ID, 1.0, in_force="e" * 64))
DIFFERENCE = {"interfaces": [{"name": "eth0", "mtu": 1400}]}
BRIDGE = {
    "name": "br-ex",
    "type": "ovs-bridge",
    "bridge": {"port": [{"name": "eth0"}, {"name": "br-ex"}]},
}
BELOW = {"interfaces": [BRIDGE, {"name": "eth0", "type": "ethernet"}, {"name": "br-ex", "type": "ovs-interface"}]}


@dataclass
class Rig:
    """A node with the file that is to be tried; the checkpoint of the apply is ``/checkpoint/1``."""

    decisions: list[Decision | None] = field(default_factory=list)
    """What the administrator decides, one after another; then nothing, and 10 s pass each time."""
    files: FakeFiles = field(
        default_factory=lambda: FakeFiles({PATH: TEXT, OWN: b"interfaces: []\n", str(INTENT): BEFORE})
    )
    nmstate: FakeNmstate = field(default_factory=lambda: FakeNmstate(left=DIFFERENCE))
    manager: FakeManager = field(default_factory=FakeManager)
    profiles: FakeProfiles = field(default_factory=FakeProfiles)
    clock: FakeClock = field(default_factory=FakeClock)
    probe: FakeProbe = field(default_factory=FakeProbe)
    kernel: FakeKernel = field(default_factory=FakeKernel)
    neighbours: FakeNeighbours = field(default_factory=lambda: FakeNeighbours(set()))
    settings: Settings = field(default_factory=lambda: Settings(probe_timeout=0))
    order: TrialOrder = ORDER
    until: float | None = None
    edits_made: bool = False
    edited_file: str = ""
    refusals: list[NodenetError] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.nmstate.during_apply = lambda: self.manager.pending.append(Checkpoint("/checkpoint/1", self.clock.now))
        parts = {"files": self.files, "nmstate": self.nmstate, "manager": self.manager, "profiles": self.profiles}
        probes = {"resolver_probe": self.probe, "kernel": self.kernel, "neighbours": self.neighbours}
        edges = stage_edges(**parts, **probes, clock=self.clock)
        self.runner, self.store = trial_of(edges, self.settings), edges.store

    def begins(self) -> None:
        assert self.nmstate.applied == []

    def holds(self, until: float) -> None:
        assert str(CHANGE) in self.files.content
        self.until = until

    async def decided(self, seconds: float) -> Decision | None:
        assert seconds <= 2.0
        if self.decisions:
            return self.decisions.pop(0)
        self.clock.now += 10.0
        return None

    def refuses(self, error: NodenetError) -> None:
        self.refusals.append(error)

    def edited(self, name: str) -> None:
        self.edited_file = name

    async def hold(self, **facts: Any) -> str:
        read = {"node_file": "worker-0.yml", "digest": OWN_DIGEST, **facts}
        return await self.runner.hold(self.order, Facts(hostname="worker-0", **read), self)

    @property
    def as_before(self) -> bool:
        """Whether nothing is left of the trial."""
        content = self.files.content
        return (content[OWN], content[str(INTENT)], PATH in content, str(CHANGE) in content) == (
            b"interfaces: []\n",
            BEFORE,
            False,
            False,
        )


async def test_a_confirmed_policy_is_installed_as_it_is_written() -> None:
    """Its document was tried; it is kept before the file is in its place, and the stages find that in force."""
    policy = b"""capture: {a: 'interfaces.name=="eth0"'}
desiredState: {interfaces: [{name: "{{ capture.a.interfaces.0.name }}", type: ethernet, mtu: 1400}]}
"""
    digest = hashlib.sha256(policy).hexdigest()
    files = FakeFiles({f"{STAGED}/{digest}.yml": policy, OWN: b"interfaces: []\n", str(INTENT): BEFORE})
    nmstate = FakeNmstate(left=DIFFERENCE, shown={"interfaces": [{"name": "eth0", "type": "ethernet"}]})
    rig = Rig([Decision.CONFIRM], files=files, nmstate=nmstate, order=TrialOrder("new.yml", digest, 60.0, "root"))
    assert await rig.hold() == OWN
    assert files.content[OWN] == policy
    assert '"mtu": 1400' in nmstate.applied[0]
    found = NodeFiles(files, nmstate, PurePosixPath(OWN).parent).read("worker-0.yml", "worker-0")
    assert (found.text, found.policy.encode()) == (nmstate.applied[0], policy)
    assert json.loads(files.content[str(INTENT)])["in_force"] == found.digest
    order = [path for path in files.writes if path in (OWN, str(RECORD))]
    assert order == [str(RECORD), OWN]


async def test_a_confirmed_file_is_installed_and_good() -> None:
    """No boot counts against it, and it is the last known good one."""
    rig = Rig([None, Decision.CONFIRM])
    before = [rig.store.read(path) for path in (NEW_FILE, PurePosixPath("/etc/nmstate/openshift/applied"))]
    assert before[0] is None
    assert await rig.hold() == OWN
    assert rig.store.read(PurePosixPath("/etc/nmstate/openshift/applied")) == TEXT, "what other stages know"
    assert (rig.nmstate.applied, rig.nmstate.committed) == ([TEXT.decode()], ["/checkpoint/1"])
    assert (rig.manager.extended, rig.until) == ([("/checkpoint/1", 70)], 160.0)
    content = rig.files.content
    assert content[OWN] == content["/etc/nmstate/openshift/applied"] == TEXT
    record = intent.parse(content[str(INTENT)])
    assert (record.phase, record.digest, record.in_force) == (Phase.GOOD, DIGEST, DIGEST)
    good = History(rig.files).good("worker-0").entry
    assert good is not None
    assert (good.number, good.name, good.digest, good.kind) == (1, "worker-0.yml", DIGEST, Kind.TRIAL)
    assert f'"ready": "{BOOT_ID}"'.encode() in content[str(NEW_FILE)]
    assert not {PATH, str(CHANGE)} & content.keys()
    writes = rig.files.writes
    assert writes.index(str(CHANGE)) < writes.index(OWN) < writes.index(str(INTENT))


async def test_a_node_with_the_file_of_the_cluster_gets_one_of_its_own() -> None:
    rig = Rig([Decision.CONFIRM])
    del rig.files.content[OWN]
    rig.files.content["/etc/nmstate/openshift/cluster.yml"] = b"interfaces: []\n"
    assert await rig.hold(node_file="cluster.yml") == OWN
    assert rig.files.content["/etc/nmstate/openshift/cluster.yml"] == b"interfaces: []\n"


@pytest.mark.parametrize(
    ("decisions", "cause"),
    [
        ([], "its time is over, and it was not confirmed"),
        ([None, Decision.ROLL_BACK], "an administrator rolled it back"),
    ],
)
async def test_without_a_confirmation_everything_is_as_before(decisions: list[Decision | None], cause: str) -> None:
    rig = Rig(decisions)
    with pytest.raises(TrialEnded, match=cause):
        await rig.hold()
    assert rig.manager.rolled_back == ["/checkpoint/1"]
    assert rig.as_before


@pytest.mark.parametrize(
    ("decisions", "causes"),
    [
        ([], ["its time is over, and it was not confirmed"]),
        ([Decision.ROLL_BACK], ["an administrator rolled it back"]),
        ([Decision.CONFIRM], []),
    ],
)
async def test_the_report_of_the_probes_says_how_the_trial_ended(
    decisions: list[Decision | None], causes: list[str]
) -> None:
    rig = Rig(decisions, settings=Settings(), kernel=FakeKernel(ONLINE), neighbours=FakeNeighbours({GATEWAY}))
    with suppress(TrialEnded):
        await rig.hold()
    document = json.loads(rig.files.content[str(PROBES)])
    assert (document["node_file"], document["kept"], document["failed"]) == ("new.yml", not causes, causes)


async def test_a_network_manager_that_forgets_the_checkpoint_ends_the_trial() -> None:
    """A confirmation comes too late then."""
    rig = Rig([None, Decision.CONFIRM])
    rig.nmstate.during_apply = lambda: rig.manager.pending.append(Checkpoint("/checkpoint/1", rig.clock.now))
    looked = rig.decided

    async def decided(seconds: float) -> Decision | None:
        rig.manager.pending, rig.manager.starts = [], 2
        return await looked(seconds)

    rig.__dict__["decided"] = decided
    with pytest.raises(TrialEnded, match="NetworkManager no longer has the trial's checkpoint"):
        await rig.hold()
    assert rig.as_before


async def test_a_file_that_cannot_be_installed_is_not_kept() -> None:
    rig = Rig([Decision.CONFIRM])
    target = PublishFailed(f"{OWN} cannot be written: no space is left")
    decided = rig.decided

    async def full(seconds: float) -> Decision | None:
        rig.files.broken = target
        try:
            return await decided(seconds)
        finally:
            asyncio.get_running_loop().call_later(0, lambda: setattr(rig.files, "broken", None))

    rig.__dict__["decided"] = full
    with pytest.raises(PublishFailed, match="no space is left"):
        await rig.hold()
    assert rig.manager.rolled_back == ["/checkpoint/1"]
    assert rig.files.content[OWN] == b"interfaces: []\n"


async def test_a_commit_that_fails_takes_the_installed_file_back() -> None:
    rig = Rig([Decision.CONFIRM])

    async def commit(checkpoint: str | None) -> None:
        raise NmstateFailure(FailureKind.UNAVAILABLE, f"NetworkManager did not answer for {checkpoint}")

    rig.nmstate.__dict__["commit"] = commit
    with pytest.raises(NmstateFailure, match="did not answer"):
        await rig.hold()
    assert rig.as_before


async def failing_commit(rig: Rig, path: str = "") -> NodenetError:
    """Confirm, let the commit fail and the disk be full from then on; return the error. *path* cannot be changed."""
    rig.decisions = [Decision.CONFIRM]

    async def commit(checkpoint: str | None) -> None:
        assert rig.files.content[OWN] == TEXT
        rig.files.broken = PublishFailed("no space is left", remedy="Free space")
        rig.files.bad = {path: PublishFailed("Input/output error", remedy="Look at the disk")} if path else {}
        raise NmstateFailure(FailureKind.UNAVAILABLE, f"NetworkManager did not answer for {checkpoint}")

    rig.nmstate.__dict__["commit"] = commit
    with pytest.raises(NodenetError) as failed:
        await rig.hold()
    return failed.value


async def test_a_disk_that_is_full_by_then_gives_the_nodes_own_file_back() -> None:
    """And the network: the answer is that the file is not confirmed, so the next boot must not apply it."""
    rig = Rig()
    error = await failing_commit(rig)
    assert error.cause == "NetworkManager did not answer for /checkpoint/1"
    assert rig.files.content[OWN] == b"interfaces: []\n"
    assert str(PurePosixPath(OWN).with_name(ASIDE)) not in rig.files.content
    assert rig.manager.rolled_back == ["/checkpoint/1"]


async def test_a_file_that_cannot_be_taken_away_again_is_named_and_the_network_comes_back() -> None:
    rig = Rig()
    error = await failing_commit(rig, OWN)
    assert "the file of the trial is still installed, and the next boot applies it: Input/output error" in error.cause
    assert rig.manager.rolled_back == ["/checkpoint/1"]


async def test_a_disk_without_space_for_the_file_that_is_replaced_takes_no_new_one() -> None:
    """There would be no way back."""
    rig = Rig([Decision.CONFIRM])
    aside = str(PurePosixPath(OWN).with_name(ASIDE))
    rig.files.bad = {aside: PublishFailed(f"{aside} cannot be written: no space is left")}
    with pytest.raises(PublishFailed, match="no space is left"):
        await rig.hold()
    assert OWN not in rig.files.writes
    assert rig.as_before


async def test_the_file_that_was_replaced_does_not_stay_beside_the_confirmed_one() -> None:
    """What a power cut leaves is removed by the next nodenetd."""
    rig = Rig([Decision.CONFIRM])
    await rig.hold()
    assert not [path for path in rig.files.content if ASIDE in path]
    assert ASIDE.startswith(STRAY)


def edit(rig: Rig, content: bytes) -> None:
    """Let another program write the node's own file while the administrator decides."""
    decided = rig.decided

    async def edited(seconds: float) -> Decision | None:
        if rig.until and not rig.edits_made:
            rig.edits_made = True
            rig.files.content[OWN] = content
        return await decided(seconds)

    rig.__dict__["decided"] = edited


async def test_an_edit_of_the_nodes_own_file_during_a_trial_stays() -> None:
    """And is reported: the stages do not apply it."""
    rig = Rig([None])
    edit(rig, b"# edited\n")
    with pytest.raises(TrialEnded):
        await rig.hold()
    assert rig.files.content[OWN] == b"# edited\n"
    assert rig.edited_file == "worker-0.yml"


async def test_a_confirmation_does_not_replace_an_edit() -> None:
    """The trial goes on; the file may be put back, and confirmed."""
    rig = Rig([Decision.CONFIRM])
    edit(rig, b"# edited\n")
    with pytest.raises(TrialEnded, match="its time is over"):
        await rig.hold()
    (refusal,) = rig.refusals
    assert str(refusal) == (
        "worker-0.yml was edited during the trial, and the confirmation would replace that edit; the trial goes on. "
        "Put it back as it was (`applied` in its directory is a copy of the file in force) and confirm again, or run "
        "`nodenetctl rollback`"
    )
    assert rig.files.content[OWN] == b"# edited\n"


@pytest.mark.parametrize("decisions", [[Decision.CONFIRM], [None]], ids=["confirmed", "time over"])
async def test_an_administrator_may_install_the_file_that_is_on_trial(decisions: list[Decision | None]) -> None:
    """A confirmation has nothing to replace then; the end of the trial does not take that file away."""
    rig = Rig(decisions)
    edit(rig, TEXT)
    if decisions == [Decision.CONFIRM]:
        assert await rig.hold() == OWN
    else:
        with pytest.raises(TrialEnded):
            await rig.hold()
        assert rig.edited_file == "worker-0.yml"
    assert rig.files.content[OWN] == TEXT


async def test_each_trial_of_a_file_begins_with_what_answers_then() -> None:
    """A DNS server that has gone since the last trial is no fault of the file."""
    rig = Rig(settings=Settings(probe_timeout=1), probe=FakeProbe({ip_address("192.0.2.53")}))
    rig.files.content["/etc/resolv.conf"] = b"nameserver 192.0.2.53\n"
    for _ in range(2):
        rig.files.content[PATH] = TEXT
        rig.nmstate.applied.clear()
        with pytest.raises(TrialEnded, match="its time is over"):
            await rig.hold()
        rig.probe.servers.clear()


async def test_a_network_that_does_not_come_back_is_reported_and_not_forgotten() -> None:
    """The stage nmstate tries again."""
    rig = Rig()

    async def refused(checkpoint: str) -> None:
        raise RollbackFailed(f"NetworkManager could not roll back checkpoint {checkpoint}")

    rig.manager.__dict__["roll_back"] = refused
    with pytest.raises(RollbackFailed, match="the network from before the trial is not back yet: NetworkManager could"):
        await rig.hold()
    assert str(CHANGE) in rig.files.content


async def test_the_nodes_own_file_is_not_tried_where_it_is() -> None:
    """The stage nmstate would apply it after the trial, and the next nodenetd would take a kill for a confirmation."""
    rig = Rig()
    rig.files.content[OWN] = TEXT
    with pytest.raises(UsageInvalid, match=r"^worker-0\.yml, the node's own file, is the one to try"):
        await rig.hold(digest=DIGEST)  # nodenetd has read it, and it is not in force: it was refused
    assert rig.nmstate.applied == []


async def test_no_secret_of_the_file_gets_out_where_the_network_does_not_come_back() -> None:
    """The cause is in status, journal and the answer."""
    digest = hashlib.sha256(SECRET).hexdigest()
    rig = Rig(order=TrialOrder("new.yml", digest, 60.0, "root"))
    rig.files.content[f"{STAGED}/{digest}.yml"] = SECRET
    rig.nmstate.fails = [NmstateFailure(FailureKind.VERIFICATION, "desired 'hunter2-rack', current ''")]
    rig.nmstate.during_apply = lambda: setattr(rig.profiles, "broken", Unavailable("NetworkManager is not on the bus"))
    with pytest.raises(RollbackFailed, match="is not back yet: NetworkManager is not on the bus") as failed:
        await rig.hold()
    assert "hunter2" not in str(failed.value)


async def test_a_file_that_cannot_be_applied_leaves_nothing_behind() -> None:
    rig = Rig()
    rig.nmstate.fails = [NmstateFailure(FailureKind.VERIFICATION, "eth0 has another MTU")]
    with pytest.raises(NmstateFailure, match="another MTU"):
        await rig.hold()
    assert rig.until is None
    assert rig.as_before


async def test_a_stop_of_nodenetd_puts_everything_back() -> None:
    rig = Rig()

    async def decided(seconds: float) -> Decision | None:
        await asyncio.sleep(seconds)
        return None

    rig.__dict__["decided"] = decided
    work = asyncio.ensure_future(rig.hold())
    while rig.until is None:
        await asyncio.sleep(0)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert rig.as_before


@pytest.mark.parametrize(
    ("change", "kind", "cause"),
    [
        (lambda rig: rig.files.content.pop(PATH), UsageInvalid, "is not the file to try"),
        (lambda rig: rig.files.content.update({PATH: b"other"}), UsageInvalid, "is not the file to try"),
        (lambda rig: setattr(rig.nmstate, "left", {}), UsageInvalid, "there is nothing to try"),
        (lambda rig: rig.manager.pending.append(Checkpoint("/cp/7", 1.0)), Busy, "another program holds"),
        (lambda rig: rig.files.content.update({OWN: TEXT}), UsageInvalid, "is the one to try or was changed"),
        (lambda rig: rig.files.content.update({OWN: b"# edited"}), UsageInvalid, "is the one to try or was changed"),
        (lambda rig: rig.files.content.pop(OWN), UsageInvalid, r"worker-0\.yml, the node's own file, .* was changed"),
        (
            lambda rig: setattr(rig.nmstate, "left", {**DIFFERENCE, "hostname": {"config": "worker-9"}}),
            UsageInvalid,
            "new.yml changes hostname, which NetworkManager does not roll back",
        ),
        (lambda rig: setattr(rig.nmstate, "shown", BELOW), UplinkRefused, "changes eth0, which is below br-ex"),
        (
            lambda rig: rig.nmstate.__dict__.update(
                shown=BELOW, difference_fails=NmstateFailure(FailureKind.INVALID, "a port has addresses")
            ),
            UplinkRefused,
            "changes eth0, which is below br-ex",
        ),
        (
            lambda rig: setattr(rig.nmstate, "invalid", NmstateFailure(FailureKind.INVALID, "invalid type")),
            NodeFileInvalid,
            "new.yml",
        ),
    ],
)
async def test_what_cannot_be_tried_is_refused_before_anything_is_touched(
    change: Any, kind: type[NodenetError], cause: str
) -> None:
    rig = Rig()
    change(rig)
    with pytest.raises(kind, match=cause):
        await rig.hold()
    assert rig.nmstate.applied == []
    assert rig.files.content[str(INTENT)] == BEFORE
    assert str(CHANGE) not in rig.files.content


async def test_the_start_of_network_manager_is_over_before_profiles_are_compared() -> None:
    """A link that has no profile yet would be activated a second time."""
    rig = Rig()
    looked, found, states = rig.decided, rig.profiles.inventory, []

    async def decided(seconds: float) -> Decision | None:
        rig.manager.pending, rig.manager.starts, rig.manager.status = [], 2, ManagerState.STARTING
        asyncio.get_running_loop().call_later(0.3, setattr, rig.manager, "status", ManagerState.READY)
        return await looked(seconds)

    async def inventory(*, profiles: bool = True) -> Inventory:
        states.append(rig.manager.status)
        return await found(profiles=profiles)

    rig.__dict__["decided"] = decided
    rig.profiles.__dict__["inventory"] = inventory
    with pytest.raises(TrialEnded):
        await rig.hold()
    assert set(states) == {ManagerState.READY}
    assert rig.as_before
