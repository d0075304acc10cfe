"""The network from before an apply of a node file: kept until that has ended, and put back where it was interrupted."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import PurePath

import pytest
from structlog.testing import capture_logs

from fakes import BOOT_ID, FakeClock, FakeFiles, FakeManager, FakeProfiles, stage_edges
from nodenet.core.apply import intent
from nodenet.core.apply.intent import Intent, Phase
from nodenet.core.boot.outcome import Waiting
from nodenet.core.errors import PublishFailed, Unavailable
from nodenet.core.network_manager.availability import ManagerState
from nodenet.core.network_manager.objects import Inventory
from nodenet.core.network_manager.profiles import Device, Profile
from nodenet.core.node_file.content import Desired
from nodenet.core.node_file.find import NodeFile
from nodenet.core.node_file.links import Links
from nodenet.core.settings.model import Settings
from nodenet.stages.apply.pipeline import Pipeline, PipelineEdges
from nodenet.stages.apply.records import APPLY, INTENT
from nodenet.stages.nmstate.way_back import AGAIN_SECONDS, PATIENCE_SECONDS, STARTING_SECONDS, WayBack

ETH0 = Profile("u-0", "eth0", "802-3-ethernet", "eth0", path="/etc/eth0", settings={"ipv4": {"method": "auto"}})
PORT = replace(ETH0, settings={"connection": {"controller": "br-ex"}})
FILE = NodeFile("worker-0.yml", "interfaces: []\n", "d" * 64)
WISH = Desired(empty=False, links=Links(frozenset({"eth0"}), frozenset({"br-ex"})))
DURING = Intent("d" * 64, Phase.APPLYING, "the last boot", 90.0)


def inventory(profile: Profile) -> Inventory:
    """Return what NetworkManager has: *profile* on eth0."""
    return Inventory((Device("eth0", "ethernet", profile=profile),), (profile,), settled=frozenset({"eth0"}))


class StuckFiles(FakeFiles):
    """A disk from which nothing can be removed."""

    def remove(self, path: PurePath) -> bool:
        raise PublishFailed(f"{path}: Read-only file system")


class PowerCut(BaseException):
    """Ends the process in the middle of an apply."""


@dataclass
class Rig:
    """A node with one profile, and no apply yet."""

    profiles: FakeProfiles = field(default_factory=lambda: FakeProfiles(inventory(ETH0)))
    manager: FakeManager = field(default_factory=FakeManager)
    files: FakeFiles = field(default_factory=FakeFiles)
    clock: FakeClock = field(default_factory=FakeClock)

    def __post_init__(self) -> None:
        edges = stage_edges(files=self.files, manager=self.manager, profiles=self.profiles, clock=self.clock)
        self.way_back = WayBack.of(edges, Pipeline(PipelineEdges.of(edges, Settings()), BOOT_ID, 240.0))

    def note(self, record: Intent) -> None:
        self.files.content[str(INTENT)] = intent.render(record)

    @property
    def keeps(self) -> bool:
        return str(APPLY) in self.files.content

    async def interrupted(self, during: Intent = DURING) -> None:
        """Let an apply begin that a power cut ends, and NetworkManager start on what it has left."""
        with suppress(PowerCut):
            async with self.way_back.kept(FILE, WISH):
                self.note(during)
                raise PowerCut
        self.profiles.found = inventory(PORT)
        self.profiles.done.clear()

    @property
    def orders(self) -> list[str]:
        return [order[0] for order in self.profiles.done if order[0] != "keep"]


async def test_what_was_kept_is_forgotten_once_the_apply_has_succeeded() -> None:
    """No record is read for that: a disk that fails would leave it to the next start, which then writes."""
    rig = Rig()
    async with rig.way_back.kept(FILE, WISH):
        rig.note(DURING)
        assert rig.keeps
    assert not rig.keeps


async def test_what_was_kept_is_forgotten_once_the_apply_is_rolled_back() -> None:
    rig = Rig()
    with suppress(PowerCut):
        async with rig.way_back.kept(FILE, WISH):
            rig.note(replace(DURING, phase=Phase.ROLLED_BACK))
            raise PowerCut
    assert not rig.keeps


async def test_profiles_come_back_before_the_file_is_applied_again() -> None:
    """The remains gave no link an address, and the next apply need not succeed: a node without network, for ever."""
    rig = Rig()
    await rig.interrupted()
    with capture_logs() as logs:
        assert await rig.way_back.restored() is None
    assert rig.orders == ["give_back", "activate"]
    assert not rig.keeps
    assert (
        intent.parse(rig.files.content[str(INTENT)]) == DURING
    )  # the file is applied again, even where it looks right
    assert [entry["event"] for entry in logs] == [
        "An apply of worker-0.yml was interrupted; the network from before it comes back first",
        "Put the profiles from before the apply of worker-0.yml back",
    ]
    assert await rig.way_back.restored() is None
    assert rig.orders == ["give_back", "activate"]


async def test_an_apply_that_ended_before_the_power_was_cut_is_not_undone() -> None:
    """The record says that it is good, and what was kept could not be removed any more."""
    rig = Rig()
    await rig.interrupted()
    rig.note(replace(DURING, phase=Phase.GOOD))
    assert await rig.way_back.restored() is None
    assert (rig.orders, rig.keeps) == ([], False)


async def test_what_was_kept_of_an_interrupted_apply_is_not_overwritten_with_its_remains() -> None:
    rig = Rig()
    await rig.interrupted()
    before = rig.files.content[str(APPLY)]
    with suppress(PowerCut):
        async with rig.way_back.kept(FILE, WISH):
            raise PowerCut
    assert rig.files.content[str(APPLY)] == before


@pytest.mark.parametrize("state", [ManagerState.ABSENT, ManagerState.SILENT])
async def test_network_manager_is_waited_for(state: ManagerState) -> None:
    rig = Rig()
    await rig.interrupted()
    rig.manager.status = state
    assert isinstance(await rig.way_back.restored(), Waiting)
    assert rig.keeps


async def test_a_network_manager_that_is_starting_is_waited_for_ten_seconds() -> None:
    """What it has not found yet would be missed; a lease that does not come holds nothing up."""
    rig = Rig()
    await rig.interrupted()
    rig.manager.status = ManagerState.STARTING
    waiting = await rig.way_back.restored()
    assert isinstance(waiting, Waiting)
    assert waiting.seconds == STARTING_SECONDS
    rig.clock.now += STARTING_SECONDS - 1.0
    rig.manager.status = ManagerState.ABSENT
    assert isinstance(await rig.way_back.restored(), Waiting)
    rig.manager.status = ManagerState.STARTING
    waiting = await rig.way_back.restored()
    assert isinstance(waiting, Waiting)
    assert waiting.seconds == STARTING_SECONDS, "another start"
    rig.clock.now += STARTING_SECONDS
    assert await rig.way_back.restored() is None
    assert rig.orders == ["give_back", "activate"]


async def test_a_network_manager_that_refuses_is_asked_for_a_minute() -> None:
    """Then the file is applied all the same: it may be what helps. Events that wake the stage take no time."""
    rig = Rig()
    await rig.interrupted()
    rig.profiles.broken = Unavailable("NetworkManager refuses")
    with capture_logs() as logs:
        waits = [await rig.way_back.restored() for _ in range(100)]
        rig.clock.now += PATIENCE_SECONDS - 1.0
        waits.append(await rig.way_back.restored())
        assert all(isinstance(each, Waiting) for each in waits)
        rig.clock.now += 1.0
        assert await rig.way_back.restored() is None
    assert len([entry for entry in logs if "was interrupted" in entry["event"]]) == 1
    assert rig.keeps


async def test_a_network_manager_that_is_away_has_refused_nothing() -> None:
    """The bus was away for minutes: the file was applied to the remains of its own apply, and kept."""
    rig = Rig()
    await rig.interrupted()
    rig.profiles.broken = Unavailable("the system bus cannot be reached")
    assert isinstance(await rig.way_back.restored(), Waiting)
    rig.manager.status = ManagerState.NO_BUS
    rig.clock.now += PATIENCE_SECONDS / 2
    assert isinstance(await rig.way_back.restored(), Waiting)
    rig.clock.now += PATIENCE_SECONDS
    rig.manager.status, rig.profiles.broken = ManagerState.READY, None
    assert await rig.way_back.restored() is None
    assert rig.orders == ["give_back", "activate"]


async def test_a_record_that_cannot_be_removed_does_not_undo_the_network_twice() -> None:
    rig = Rig()
    await rig.interrupted()
    kept = rig.files.content[str(APPLY)]
    assert await rig.way_back.restored() is None
    rig.files.content[str(APPLY)] = kept
    rig.profiles.found = inventory(PORT)
    assert await rig.way_back.restored() is None
    assert (rig.orders, rig.keeps) == (["give_back", "activate"], False)


async def test_the_same_network_comes_back_again_where_the_next_apply_is_interrupted_too() -> None:
    """NetworkManager has forgotten that one as well: what is kept is equal, and was taken for what is back already."""
    rig = Rig()
    for started in (90.0, 95.0):
        await rig.interrupted(replace(DURING, started=started))
        assert rig.keeps
        assert await rig.way_back.restored() is None
        assert (rig.orders, rig.keeps) == (["give_back", "activate"], False)
        rig.profiles.found = inventory(ETH0)


UNREAD = PublishFailed("Too many open files")


@pytest.mark.parametrize("path", [APPLY, INTENT])
async def test_a_disk_that_fails_for_a_second_is_asked_again(path: PurePath) -> None:
    """The node had no address for the rest of the run, though kubelet was not running."""
    rig = Rig()
    await rig.interrupted()
    rig.files.bad = {str(path): UNREAD}
    waiting = await rig.way_back.restored()
    assert isinstance(waiting, Waiting)
    assert waiting.reason == "what an interrupted apply may have left comes first: Too many open files"
    assert waiting.seconds == AGAIN_SECONDS
    rig.files.bad = {}
    assert await rig.way_back.restored() is None
    assert rig.orders == ["give_back", "activate"]


async def test_a_disk_that_stays_unreadable_is_a_failure() -> None:
    rig = Rig()
    await rig.interrupted()
    rig.files.bad = {str(APPLY): UNREAD}
    assert isinstance(await rig.way_back.restored(), Waiting)
    rig.clock.now += PATIENCE_SECONDS
    with pytest.raises(PublishFailed):
        await rig.way_back.restored()


async def test_each_time_that_a_disk_fails_has_a_minute_of_its_own() -> None:
    rig = Rig()
    for _ in range(2):
        rig.files.bad = {str(APPLY): UNREAD}
        assert isinstance(await rig.way_back.restored(), Waiting)
        rig.files.bad = {}
        assert await rig.way_back.restored() is None
        rig.clock.now += PATIENCE_SECONDS


async def test_nothing_is_waited_for_where_there_is_nothing_to_put_back() -> None:
    """The apply has succeeded, and what was kept cannot be removed."""
    rig = Rig(files=StuckFiles())
    await rig.interrupted()
    rig.note(replace(DURING, phase=Phase.GOOD))
    with pytest.raises(PublishFailed):
        await rig.way_back.restored()


@pytest.mark.parametrize("phase", [None, Phase.REFUSED, Phase.GOOD, Phase.APPLYING])
async def test_an_apply_that_never_began_is_not_undone(phase: Phase | None) -> None:
    """NetworkManager was away when it was to begin. An earlier one may have been interrupted, and be undone already."""
    rig = Rig()
    if phase:
        rig.note(replace(DURING, phase=phase))
    with pytest.raises(Unavailable):
        async with rig.way_back.kept(FILE, WISH):
            raise Unavailable("NetworkManager is not on the bus")
    assert not rig.keeps


async def test_an_apply_that_is_interrupted_after_an_earlier_one_is_undone() -> None:
    """It has a record of its own."""
    rig = Rig()
    rig.note(replace(DURING, started=80.0))
    await rig.interrupted()
    assert rig.keeps
