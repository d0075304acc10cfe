"""A stage that a systemd unit does."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import PurePath, PurePosixPath

import pytest

from fakes import FakeClock, FakeFiles, FakeHost, FakeKernel, FakeUnits
from nodenet.core.boot.outcome import Done, Facts, Failed, Outcome, Skipped, Topic, Waiting, detail_of
from nodenet.core.boot.stage_state import Request
from nodenet.core.errors import NodeFileInvalid, NotAFile, Unavailable, UnitFailed
from nodenet.core.node_ip.published_files import IPV4
from nodenet.core.resolver import DONE
from nodenet.core.stage_name import StageName
from nodenet.core.unit_stage import Unit
from nodenet.stages.unit_stage import PUBLICATION_SECONDS, UnitStage, UnitStageEdges

DIRECTORY = PurePosixPath("/etc/nmstate/openshift")
FINISHED = Unit("other.service", "other.service", ran=True)


@dataclass
class Rig:
    """The stage resolv-prepender, done by other.service."""

    name: StageName = StageName.RESOLV_PREPENDER
    units: FakeUnits = field(default_factory=FakeUnits)
    files: FakeFiles = field(default_factory=FakeFiles)
    clock: FakeClock = field(default_factory=FakeClock)

    host: FakeHost = field(default_factory=FakeHost)

    def __post_init__(self) -> None:
        world = UnitStageEdges(self.host, self.files, FakeKernel(), self.clock, DIRECTORY)
        self.stage = UnitStage(self.name, "other.service", self.units, world)

    async def attempt(self, runs: int = 0) -> Outcome:
        return await self.stage.attempt(Facts(), Request(runs))

    def publish(self) -> None:
        self.files.content[str(DONE)] = b""


async def test_a_unit_is_started_its_end_awaited_and_its_publication_believed() -> None:
    """The plain way."""
    rig = Rig()
    outcome = await rig.attempt()
    assert isinstance(outcome, Waiting)
    assert Topic.UNIT in outcome.topics
    rig.units.now, rig.units.job_ended = FINISHED, "done"
    rig.publish()
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert outcome.detail == "other.service did it"
    assert rig.units.started == ["other.service"]


async def test_a_unit_that_did_its_work_before_is_not_started_again() -> None:
    """Nor by a reload."""
    rig = Rig()
    rig.units.now = FINISHED
    rig.publish()
    assert isinstance(await rig.attempt(runs=1), Done)
    assert rig.units.started == []


async def test_a_unit_is_believed_only_with_its_publication() -> None:
    """Awaited for a minute, then a problem that names what is missing; it ends when that comes."""
    rig = Rig()
    rig.units.now = FINISHED
    outcome = await rig.attempt()
    assert isinstance(outcome, Waiting)
    assert str(DONE) in outcome.reason
    rig.clock.now += PUBLICATION_SECONDS
    failed = await rig.attempt()
    assert isinstance(failed, Failed)
    assert str(DONE) in failed.problem.cause
    assert failed.again
    rig.publish()
    assert isinstance(await rig.attempt(), Done)


async def test_a_failed_unit_is_started_once_for_each_run_that_somebody_asks_for() -> None:
    """A second look does not start it; a reload or RunStage does. Whoever starts it by hand ends the failure."""
    rig = Rig()
    await rig.attempt()
    rig.units.now, rig.units.job_ended = replace(FINISHED, active_state="failed", result="exit-code"), "failed"
    for _ in range(3):
        outcome = await rig.attempt()
        assert isinstance(outcome, Failed)
        assert "other.service failed (exit-code)" in outcome.problem.cause
        assert outcome.again
        assert outcome.again.topics == {Topic.UNIT}
    assert len(rig.units.started) == 1
    assert isinstance(await rig.attempt(runs=1), Waiting)
    assert len(rig.units.started) == 2
    rig.units.now, rig.units.job_ended = FINISHED, "done"
    rig.publish()
    assert isinstance(await rig.attempt(runs=1), Done)


@pytest.mark.parametrize(("name", "kind"), [(StageName.RESOLV_PREPENDER, Skipped), (StageName.NODEIP, Failed)])
async def test_a_unit_whose_condition_does_not_hold_had_nothing_to_do(
    name: StageName, kind: type[Skipped | Failed]
) -> None:
    """Where kubelet can start without it."""
    rig = Rig(name)
    await rig.attempt()
    rig.units.now, rig.units.job_ended = replace(FINISHED, ran=False, condition=False), "done"
    outcome = await rig.attempt()
    assert isinstance(outcome, kind)
    assert "a condition of other.service does not hold" in detail_of(outcome)


async def test_a_node_without_a_name_is_held_back_also_where_the_unit_that_gives_it_one_has_failed() -> None:
    """Kubelet would register it as localhost. A name from elsewhere ends the wait, and the failure stays (R32)."""
    rig = Rig(StageName.HOSTNAME, host=FakeHost("localhost"))
    await rig.attempt()
    rig.units.now, rig.units.job_ended = replace(FINISHED, active_state="failed", result="exit-code"), "failed"
    outcome = await rig.attempt()
    assert isinstance(outcome, Waiting)
    assert outcome.reason == (
        "other.service failed (exit-code), and the host name 'localhost' is not valid: "
        "it only means that the real name is not known yet"
    )
    assert outcome.topics == {Topic.UNIT, Topic.HOSTNAME}
    rig.host.named = "worker-0"
    assert isinstance(await rig.attempt(), Failed)


async def test_without_systemd_on_the_bus_the_stage_waits() -> None:
    """And says for what."""
    rig = Rig()
    rig.units.broken = Unavailable("the system bus does not answer")
    outcome = await rig.attempt()
    assert isinstance(outcome, Waiting)
    assert "other.service" in outcome.reason
    assert Topic.BUS in outcome.topics


async def test_a_start_that_does_not_reach_systemd_is_repeated() -> None:
    """The bus went away in between: the unit has not run, and its publication is not waited for (R8)."""
    rig = Rig()
    rig.units.refuses = Unavailable("the system bus went away")
    assert isinstance(await rig.attempt(), Waiting)
    rig.units.refuses = None
    outcome = await rig.attempt()
    assert isinstance(outcome, Waiting)
    assert outcome.reason == "other.service, which was started"
    assert rig.units.started == ["other.service"] * 2


async def test_a_start_that_systemd_refuses_is_a_failure() -> None:
    """With systemd's own words."""
    rig = Rig()
    rig.units.refuses = UnitFailed("systemd does not start other.service: refused", remedy="See")
    outcome = await rig.attempt()
    assert isinstance(outcome, Failed)
    assert "refused" in outcome.problem.cause


@dataclass
class WithoutDirectory(FakeFiles):
    """A disk on which a file has the place of the directory of node files."""

    def listing(self, directory: PurePath) -> tuple[str, ...]:
        raise NodeFileInvalid(f"{directory} cannot be listed: Not a directory", remedy="Make it a directory")


@pytest.mark.parametrize(("name", "kind"), [(StageName.NMSTATE, Failed), (StageName.RESOLV_PREPENDER, Done)])
async def test_node_files_that_cannot_be_listed_concern_the_stage_that_applies_them(
    name: StageName, kind: type[Failed | Done]
) -> None:
    """And it fails with that cause: an error that nothing catches would hold kubelet back (R23)."""
    rig = Rig(name, files=WithoutDirectory())
    rig.units.now = FINISHED
    rig.publish()
    outcome = await rig.attempt()
    assert isinstance(outcome, kind)
    assert ("cannot be listed" in detail_of(outcome)) is (kind is Failed)


async def test_a_directory_in_the_place_of_another_file_is_not_looked_at() -> None:
    """What this unit publishes is there."""
    rig = Rig()
    rig.units.now = FINISHED
    rig.publish()
    rig.files.bad[str(IPV4)] = NotAFile(f"{IPV4} cannot be read: Is a directory")
    assert isinstance(await rig.attempt(), Done)
