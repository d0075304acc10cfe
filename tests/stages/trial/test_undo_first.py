"""A trial that nodenetd or the node did not survive: ended before the stage runs."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any

import pytest
from structlog.testing import capture_logs

from fakes import FakeFiles, FakeManager, FakeProfiles, stage_edges
from nodenet.core.boot.facts import Facts
from nodenet.core.boot.outcome import Again, Done, Failed, Outcome, Problem, Skipped, Waiting
from nodenet.core.boot.request import NOTHING, Request
from nodenet.core.change.way_back import Kept, render
from nodenet.core.errors import PublishFailed, Unavailable
from nodenet.core.messages import Message
from nodenet.core.network_manager.availability import ManagerState
from nodenet.core.settings.model import Settings
from nodenet.stages.apply.records import TRIAL
from nodenet.stages.trial.undo_first import MOST_TRIES, Restored, UndoTrialFirst
from nodenet.stages.trial.wiring import trial_of

KEPT = Kept("new.yml", "d" * 64, ("eth0",))
AFTER = Request(as_read=True)
AGAIN = Request(4)
OWN = "/etc/nmstate/openshift/worker-0.yml"
FACTS = Facts(hostname="worker-0", digest="e" * 64)


@dataclass
class Stage:
    """The stage nmstate."""

    attempts: int = 0
    failure: Problem | None = None

    async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:
        assert request in (NOTHING, AFTER, AGAIN, Request(5))
        self.attempts += 1
        return Failed(self.failure, facts) if self.failure else Done("applied", facts, Message.NETWORK_APPLIED)


@dataclass
class FullDisk(FakeFiles):
    """A disk from which nothing can be removed, and of which nothing can be synced."""

    full: bool = True

    def remove(self, path: PurePath) -> bool:
        self._need_room()
        return super().remove(path)

    def sync(self, directory: PurePath) -> None:
        self._need_room()
        super().sync(directory)

    def _need_room(self) -> None:
        if self.full:
            raise PublishFailed("the disk is full", remedy="Make room")


@dataclass
class Rig:
    """The stage behind the end of a trial that has left its record."""

    manager: FakeManager = field(default_factory=FakeManager)
    profiles: FakeProfiles = field(default_factory=FakeProfiles)
    files: FakeFiles = field(default_factory=lambda: FakeFiles({str(TRIAL): render(KEPT)}))
    stage: Stage = field(default_factory=Stage)
    first: UndoTrialFirst = field(init=False)
    restored: Restored = field(default_factory=Restored)

    def __post_init__(self) -> None:
        self.reload()

    def reload(self) -> None:
        """Build the stages again."""
        edges = stage_edges(files=self.files, manager=self.manager, profiles=self.profiles)
        self.first = trial_of(edges, Settings(), self.stage, self.restored).stage

    async def refused(self) -> None:
        """Have NetworkManager refuse so often that the stage runs, and then no more."""
        self.profiles.broken = Unavailable("NetworkManager refuses Update2")
        for _ in range(MOST_TRIES):
            await self.first.attempt(FACTS)
        assert (self.stage.attempts, self.open) == (1, True)
        self.profiles.broken = None

    @property
    def open(self) -> bool:
        """Whether the record is still there."""
        return str(TRIAL) in self.files.content


async def test_without_a_record_the_stage_just_runs() -> None:
    rig = Rig(files=FakeFiles())
    assert isinstance(await rig.first.attempt(FACTS), Done)
    assert rig.stage.attempts == 1


async def test_the_network_from_before_comes_back_before_the_stage_runs() -> None:
    rig = Rig()
    assert isinstance(await rig.first.attempt(FACTS), Done)
    assert not rig.open


async def test_a_trial_whose_file_is_installed_was_confirmed() -> None:
    """Nothing comes back: nodenetd was killed between the installation and the commit."""
    rig = Rig(profiles=FakeProfiles(broken=Unavailable("no profile is asked for")))
    assert isinstance(await rig.first.attempt(Facts(digest="d" * 64)), Done)
    assert not rig.open


@pytest.mark.parametrize("status", [ManagerState.ABSENT, ManagerState.NO_BUS, ManagerState.SILENT])
async def test_network_manager_is_waited_for(status: ManagerState) -> None:
    rig = Rig(FakeManager(status=status))
    outcome = await rig.first.attempt(FACTS)
    assert isinstance(outcome, Waiting)
    assert (rig.stage.attempts, rig.open) == (0, True)
    rig.manager.status = ManagerState.STARTING  # a start may never end, and profiles can be changed during it
    assert isinstance(await rig.first.attempt(FACTS), Done)


async def test_a_network_manager_that_refuses_does_not_hold_kubelet_back_for_ever() -> None:
    rig = Rig(profiles=FakeProfiles(broken=Unavailable("NetworkManager refuses Update2")))
    for _ in range(MOST_TRIES - 1):
        outcome = await rig.first.attempt(FACTS)
        assert isinstance(outcome, Waiting)
        assert outcome.reason == "the end of a trial: NetworkManager refuses Update2"
    cause = "NetworkManager refuses Update2: the network from before the trial of new.yml is not back"
    for attempts in (1, 1):
        outcome = await rig.first.attempt(FACTS)
        assert isinstance(outcome, Done)
        assert outcome.problem == Problem(Unavailable.message, cause, "")
        assert outcome.again
        assert (rig.stage.attempts, rig.open) == (attempts, True)
    rig.profiles.broken = None
    assert await rig.first.attempt(FACTS) == Done("applied", FACTS, Message.NETWORK_APPLIED)
    assert not rig.open


async def test_the_stage_runs_again_where_the_network_comes_back_behind_it() -> None:
    """Its file may be another one than before the trial: the network that comes back is not what it asks for."""
    rig = Rig()
    await rig.refused()
    assert isinstance(await rig.first.attempt(FACTS), Done)
    assert (rig.stage.attempts, rig.open) == (2, False)


async def test_a_file_that_failed_is_not_tried_again_where_the_network_comes_back() -> None:
    """That would change the network without a reload."""
    rig = Rig(stage=Stage(failure=Problem(Message.APPLY_FAILED, "refused", "")))
    await rig.refused()
    assert isinstance(await rig.first.attempt(FACTS), Failed)
    assert (rig.stage.attempts, rig.open) == (1, False)


async def test_an_edit_is_not_applied_where_the_network_comes_back_behind_the_stage() -> None:
    rig = Rig(files=FakeFiles({str(TRIAL): render(KEPT), OWN: b"# edited"}))
    await rig.refused()
    facts = replace(FACTS, node_file="worker-0.yml")
    assert await rig.first.attempt(facts) == Skipped(
        "worker-0.yml was edited during the trial and is not applied", facts
    )
    assert (rig.stage.attempts, rig.open) == (1, False)


async def test_a_record_that_cannot_be_read_is_read_later() -> None:
    """A later start of nodenetd would undo the network by it, whatever has been changed since."""
    rig, error = Rig(), f"{TRIAL} cannot be read: Input/output error"
    await rig.refused()
    rig.files.bad[str(TRIAL)] = PublishFailed(error, remedy="Look")
    cause = f"{error}: it is not known whether a trial of a node file is to be undone"
    for seconds in (10.0, 20.0):
        outcome = await rig.first.attempt(FACTS)
        problem = Problem(Message.PUBLISH_FAILED, cause, "Look")
        assert outcome == Done("applied", FACTS, Message.NETWORK_APPLIED, problem, Again(seconds=seconds))
    assert rig.stage.attempts == 1
    rig.files.bad.clear()
    assert await rig.first.attempt(FACTS) == Done("applied", FACTS, Message.NETWORK_APPLIED)
    assert (rig.stage.attempts, rig.open) == (2, False)


async def test_a_disk_that_can_be_read_again_and_has_no_record_changes_nothing() -> None:
    rig = Rig(files=FakeFiles(bad={str(TRIAL): PublishFailed("it fails")}))
    outcome = await rig.first.attempt(FACTS)
    assert isinstance(outcome, Done)
    assert outcome.again == Again(seconds=5.0)
    rig.files.bad.clear()
    assert await rig.first.attempt(FACTS) == Done("applied", FACTS, Message.NETWORK_APPLIED)
    assert rig.stage.attempts == 1


@pytest.mark.parametrize("digest", ["e" * 64, KEPT.digest], ids=["rolled back", "confirmed"])
async def test_a_record_on_a_full_disk_is_removed_later_and_nothing_else_is_done(digest: str) -> None:
    """If it stayed, a later start of nodenetd would undo what an administrator has changed since."""
    disk, facts = FullDisk({str(TRIAL): render(KEPT)}), Facts(hostname="worker-0", digest=digest)
    rig = Rig(files=disk)
    cause = "the disk is full: the record of the trial of new.yml, which is over, cannot be removed"
    problem = Problem(Message.PUBLISH_FAILED, cause, "Make room")
    for seconds in (5.0, 10.0):
        outcome = await rig.first.attempt(facts, AGAIN)
        assert outcome == Done("applied", facts, Message.NETWORK_APPLIED, problem, Again(seconds=seconds))
        assert (rig.stage.attempts, rig.open) == (1, True)
    disk.full = False
    later = replace(facts, bridge="br-ex")
    assert await rig.first.attempt(later, AGAIN) == Done("applied", later, Message.NETWORK_APPLIED)
    assert (rig.stage.attempts, rig.open) == (1, False)
    assert await rig.first.attempt(facts, Request(5)) == Done("applied", facts, Message.NETWORK_APPLIED)
    assert rig.stage.attempts == 2


async def test_a_reload_of_a_full_disk_does_not_restore_the_network_twice() -> None:
    """An administrator may have changed it since."""
    rig = Rig(files=FullDisk({str(TRIAL): render(KEPT)}))
    await rig.first.attempt(FACTS, AGAIN)
    rig.reload()
    rig.profiles.broken = Unavailable("no profile is asked for")
    assert isinstance(await rig.first.attempt(FACTS, Request(5)), Done)
    assert rig.stage.attempts == 2


async def test_the_end_of_a_trial_is_logged_once() -> None:
    rig = Rig(profiles=FakeProfiles(broken=Unavailable("NetworkManager refuses Update2")))
    with capture_logs() as logged:
        await rig.first.attempt(FACTS)
        await rig.first.attempt(FACTS)
    text = "The trial of new.yml was interrupted; the network from before it comes back"
    assert [entry["event"] for entry in logged] == [text]


@pytest.mark.parametrize(
    ("there", "read"),
    [
        (b"# edited", {"node_file": "worker-0.yml", "digest": "e" * 64}),
        (b"# new", {}),
        (None, {"node_file": "worker-0.yml", "digest": "e" * 64}),
        (b"# still nothing", {"unused": ("worker-0.yml", "e" * 64)}),
    ],
    ids=["edited", "made", "removed", "empty"],
)
async def test_an_edit_during_a_trial_is_not_applied_after_it(there: bytes | None, read: dict[str, Any]) -> None:
    """It would change the network without a reload, and without the administrator who ended the trial."""
    rig = Rig(files=FakeFiles({OWN: there} if there else {}))
    facts = Facts(hostname="worker-0", **read)
    outcome = await rig.first.attempt(facts, AFTER)
    assert outcome == Skipped("worker-0.yml was edited during the trial and is not applied", facts)
    assert isinstance(await rig.first.attempt(facts), Done), "a reload applies it"


async def test_without_an_edit_the_stage_runs_after_a_trial() -> None:
    rig = Rig(files=FakeFiles({OWN: b"# own"}))
    facts = Facts(hostname="worker-0", node_file="worker-0.yml", digest=hashlib.sha256(b"# own").hexdigest())
    assert isinstance(await rig.first.attempt(facts, AFTER), Done)
    empty = Facts(hostname="worker-0", unused=("worker-0.yml", hashlib.sha256(b"# own").hexdigest()))
    assert isinstance(await rig.first.attempt(empty, AFTER), Done)
