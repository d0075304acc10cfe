"""An open change is undone before any stage: what that waits for, for how long, and what is not undone."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace

import pytest
from structlog.testing import capture_logs

from fakes import BOOT_ID, FakeClock, FakeFiles, FakeManager, FakeProfiles, stage_edges
from nodenet.core.apply.intent import Intent, Phase, cut_short
from nodenet.core.boot.outcome import Waiting
from nodenet.core.br_ex.uplink import BRIDGE
from nodenet.core.change.record import Change, What
from nodenet.core.change.way_back import Network
from nodenet.core.errors import PublishFailed, RollbackFailed, Unavailable
from nodenet.core.messages import Message
from nodenet.core.network_manager.objects import Inventory, KeptProfile
from nodenet.core.network_manager.profiles import Device, Profile
from nodenet.core.network_manager.state import Checkpoint, ManagerState
from nodenet.core.node_ip.published_files import BRIDGE_UP
from nodenet.core.ownership.things import Kind, Thing, render
from nodenet.stages.apply.changes import Changes
from nodenet.stages.apply.others import ASIDE
from nodenet.stages.apply.records import BRIDGE_INTENT, CHANGE, INTENT
from nodenet.stages.apply.undo import AGAIN_SECONDS, LONGEST_SECONDS, PATIENCE_SECONDS, STARTING_SECONDS, Undo
from probes_rig import timed

ETH0 = Profile("u-0", "eth0", "802-3-ethernet", "eth0", settings={"ipv4": {"method": "auto"}})
PORT = replace(ETH0, settings={"connection": {"controller": "br-ex"}})
KEPT = KeptProfile("u-0", "eth0", "", in_memory=False, settings={"ipv4": {"method": "auto"}})
TEXT = b"interfaces: []\n"
DURING = Intent(hashlib.sha256(TEXT).hexdigest(), Phase.APPLYING, "the last boot", 90.0, way_out=True)
OWN = "/etc/nmstate/openshift/worker-0.yml"


def on_eth0(profile: Profile) -> Inventory:
    return Inventory((Device("eth0", "ethernet", profile=profile),), (profile,), settled=frozenset({"eth0"}))


@dataclass
class Rig:
    """A node that an interrupted change has left: eth0 is a port, and was none."""

    what: What = What.NODE_FILE
    manager: FakeManager = field(default_factory=FakeManager)
    files: FakeFiles = field(default_factory=FakeFiles)
    clock: FakeClock = field(default_factory=FakeClock)
    apply: Intent = DURING
    active: dict[str, str] = field(default_factory=lambda: {"eth0": "u-0"})

    def __post_init__(self) -> None:
        self.profiles = FakeProfiles(on_eth0(PORT), on_give_back=lambda _: self._is_back())
        parts = {"files": self.files, "manager": self.manager, "profiles": self.profiles, "clock": self.clock}
        before = Network(("br-ex", "eth0"), (KEPT,), self.active)
        installs = OWN if self.what is What.TRIAL else ""
        Changes(stage_edges(**parts)).begin(Change(self.what, "worker-0.yml", self.apply, before, installs))
        edges = stage_edges(**parts)  # of the next process
        self.changes, self.undo = Changes(edges), Undo(edges)

    def _is_back(self) -> None:
        self.profiles.found = on_eth0(ETH0)

    @property
    def state(self) -> tuple[bool, bool]:
        """Whether the network is as before, and whether the change is open."""
        return self.profiles.found == on_eth0(ETH0), str(CHANGE) in self.files.content

    async def waits(self) -> Waiting:
        waiting = await self.undo.first()
        assert waiting is not None
        return waiting


BACK, LEFT = (True, False), (False, True)


@pytest.mark.parametrize(("what", "path"), [(What.NODE_FILE, INTENT), (What.TRIAL, None), (What.BRIDGE, BRIDGE_INTENT)])
async def test_open_and_killed_is_undone_before_the_stages(what: What, path: object) -> None:
    """The result says that the apply was interrupted; that of a trial leaves the result of the node's own file."""
    rig = Rig(what)
    with capture_logs() as logs:
        assert await rig.undo.first() is None
    assert rig.state == BACK
    written = {each: rig.changes.result(each) for each in (INTENT, BRIDGE_INTENT)}
    undone = replace(DURING, phase=Phase.ROLLED_BACK, interrupted=True, way_out=False)
    assert written == {each: undone if each == path else None for each in (INTENT, BRIDGE_INTENT)}
    words = f"{what} of worker-0.yml"
    assert [line["event"] for line in logs] == [
        f"The {words} was interrupted; the network from before it comes back first",
        f"Put the profiles from before the {words} back",
    ]
    assert await rig.undo.first() is None


async def test_none_and_killed_is_nothing() -> None:
    rig = Rig()
    rig.changes.close(Change(What.NODE_FILE, "worker-0.yml", DURING, Network(())), replace(DURING, phase=Phase.GOOD))
    assert await rig.undo.first() is None
    assert rig.state == (False, False)
    assert rig.undo.problem is None


async def test_committed_and_killed_before_the_record_was_removed_is_not_undone() -> None:
    """The result is written first: one write commits. The record goes, which has secrets."""
    rig = Rig()
    rig.changes.save_result(INTENT, replace(DURING, phase=Phase.GOOD))
    assert rig.state == LEFT
    assert await rig.undo.first() is None
    assert rig.state == (False, False)


@pytest.mark.parametrize("installed", [True, False])
async def test_a_trial_that_was_confirmed_and_not_committed_is_not_undone(*, installed: bool) -> None:
    """Its file is the node's own by then, and this boot applies it; not if the node is cut off by that."""
    rig = Rig(What.TRIAL, files=FakeFiles({OWN: TEXT if installed else b"another"}))
    assert await rig.undo.first() is None
    assert rig.state == ((False, False) if installed else BACK)
    result = rig.changes.result(INTENT)
    assert (result is not None and cut_short(result, DURING.digest)) is installed


async def test_a_checkpoint_of_this_boot_is_rolled_back_first() -> None:
    """NetworkManager has activated what the links had before: nothing else is to be done."""
    rig = Rig(apply=replace(DURING, boot_id=BOOT_ID), manager=FakeManager(pending=[Checkpoint("/cp/1", 95.0)]))

    async def rolled_back(checkpoint: str) -> None:
        rig.manager.rolled_back.append(checkpoint)
        rig._is_back()

    rig.manager.__dict__["roll_back"] = rolled_back
    assert await rig.undo.first() is None
    assert (rig.state, rig.manager.rolled_back, rig.profiles.done) == (BACK, ["/cp/1"], [])


async def test_the_checkpoint_of_another_program_is_waited_for() -> None:
    """Its rollback would undo what comes back."""
    rig = Rig(manager=FakeManager(pending=[Checkpoint("/cp/7", 95.0, 60)]))
    assert (await rig.waits()).reason.startswith("another program holds NetworkManager's checkpoint /cp/7")
    assert (rig.state, rig.manager.rolled_back) == (LEFT, [])


@pytest.mark.parametrize("state", [ManagerState.ABSENT, ManagerState.SILENT])
async def test_network_manager_is_waited_for(state: ManagerState) -> None:
    rig = Rig(manager=FakeManager(state))
    for _ in range(3):
        await rig.waits()
        rig.clock.now += PATIENCE_SECONDS
    assert (rig.state, rig.undo.problem) == (LEFT, None)
    rig.clock.now += LONGEST_SECONDS
    assert await rig.undo.first() is None, "kubelet waits no longer"
    assert rig.undo.problem is not None
    rig.manager.status = ManagerState.READY
    assert await rig.undo.first() is None
    assert rig.state == BACK


async def test_network_manager_started_again_is_waited_for_ten_seconds() -> None:
    """What it has not found yet would be missed; a lease that does not come holds nothing up."""
    rig = Rig(manager=FakeManager(ManagerState.STARTING))
    assert (await rig.waits()).seconds == STARTING_SECONDS
    rig.clock.now += STARTING_SECONDS
    assert await rig.undo.first() is None
    assert rig.state == BACK


@pytest.mark.parametrize("error", [Unavailable("the bus is away"), RollbackFailed("eth0 did not come back")])
async def test_undoing_and_refused_is_tried_again_for_a_minute_and_then_a_problem(error: Exception) -> None:
    """Then the stages run, and the status names what is not back."""
    rig = Rig()

    async def refused(_uuid: str, _link: str) -> None:
        raise error

    rig.profiles.__dict__["activate"] = refused
    rig.profiles.on_give_back = lambda _: None
    waiting = await rig.waits()
    assert (waiting.seconds, rig.undo.problem) == (AGAIN_SECONDS, None)
    assert str(error).partition(". ")[0] in waiting.reason
    rig.clock.now += PATIENCE_SECONDS
    assert await rig.undo.first() is None
    problem = rig.undo.problem
    assert problem is not None
    assert problem.message is Message.ROLLBACK_FAILED
    assert problem.cause.startswith("what a change has left is not undone: the network from before an interrupted")
    assert rig.state == LEFT
    rig.changes.save_result(INTENT, replace(DURING, phase=Phase.GOOD))
    assert await rig.undo.first() is None
    assert rig.undo.problem is None, "a later change of this file was committed"


async def test_undoing_and_killed_is_undone_again() -> None:
    """The undo is a difference."""
    rig = Rig()
    rig.profiles.broken = Unavailable("the bus went away in the middle")
    await rig.waits()
    rig.profiles.broken = None
    assert await rig.undo.first() is None
    assert rig.state == BACK


async def test_undoing_on_a_disk_that_takes_nothing_is_done_once() -> None:
    """The record is gone for this boot; after a power cut it would be undone once more, which changes nothing."""
    rig = Rig()
    rig.files.broken = PublishFailed("Read-only file system")
    rig.files.bad[str(CHANGE)] = rig.files.broken
    assert isinstance(await rig.undo.first(), Waiting), "what is open is not known"
    rig.files.bad.clear()
    assert await rig.undo.first() is None
    assert rig.state[0]
    rig.profiles.done.clear()
    assert await rig.undo.first() is None
    assert rig.profiles.done == []


def test_an_undo_that_was_carried_out_is_closed_though_run_is_full() -> None:
    """What others had on the links was noted before. It is back, and the note stays: that is said once."""
    noted = [Thing(Kind.ADDRESS, link, ("198.51.100.7",), "01") for link in ("eth0", "gone")]
    rig = Rig(files=FakeFiles({str(ASIDE): render(noted)}))
    rig.files.broken = PublishFailed("No space left on device", remedy="Make room")

    async def story() -> None:
        assert await rig.undo.first() is None
        assert rig.changes.open is None
        assert await rig.undo.first() is None

    with capture_logs() as logs:
        timed(story)
    assert rig.state[0]
    said = [line["event"] for line in logs if line["message"] is Message.PUBLISH_FAILED]
    assert said == [f"{ASIDE} still names what is back on the links: No space left on device"]


async def test_a_disk_that_does_not_say_what_is_open_is_asked_for_a_minute() -> None:
    """The node may have no address; later the stages report the disk."""
    rig = Rig()
    rig.files.bad[str(CHANGE)] = PublishFailed("/var/lib/nodenet/change.json cannot be read: Input/output error")
    assert "what an interrupted apply may have left comes first" in (await rig.waits()).reason
    rig.clock.now += PATIENCE_SECONDS
    assert await rig.undo.first() is None
    rig.files.bad.clear()
    assert await rig.undo.first() is None
    assert rig.state == BACK


@pytest.mark.parametrize(("active", "undone"), [({"eth0": "u-0"}, False), ({"eth0": "u-0", BRIDGE: "u-br"}, True)])
async def test_the_uplink_is_not_taken_from_a_bridge_that_was_made_since(
    active: dict[str, str], *, undone: bool
) -> None:
    """NetworkManager refused for a minute, br-ex was made, and kubelet runs with it."""
    rig = Rig(files=FakeFiles({str(BRIDGE_UP): b""}), active=active)
    assert await rig.undo.first() is None
    assert rig.state[0] is undone
