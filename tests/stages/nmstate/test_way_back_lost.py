"""Orders of events after which the network from before an apply must still come back, and does not come back twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import PurePath

import pytest

from fakes import FakeFiles, FakeKernel, FakeManager, FakeNeighbours, FakeProfiles
from nodenet.core.apply import new_file
from nodenet.core.apply.intent import Phase
from nodenet.core.apply.new_file import BUDGET_SECONDS, NewFile
from nodenet.core.boot.outcome import Done, Failed, Outcome, Skipped, Waiting
from nodenet.core.boot.stage_state import Request
from nodenet.core.errors import PublishFailed, Unavailable
from nodenet.core.network_manager.objects import Inventory, KeptProfile
from nodenet.core.network_manager.profiles import Device, Profile
from nodenet.core.network_manager.state import Checkpoint
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.stages.apply.records import CHANGE, INTENT, NEW_FILE
from nodenet.stages.apply.undo import PATIENCE_SECONDS
from stages.nmstate.test_stage import FILE, GATEWAY, ONLINE, TEXT, Rig, StuckManager, lost_boots

ETH0 = Profile("u-0", "eth0", "802-3-ethernet", "eth0", path="/etc/eth0", settings={"ipv4": {"method": "auto"}})
OF_FILE = replace(ETH0, settings={"ipv4": {"method": "manual"}})
OF_ADMINISTRATOR = replace(ETH0, settings={"ipv4": {"method": "manual", "dns": "of the administrator"}})
ORDERED = Request(2, retry_refused=True)
UNVERIFIED = NmstateFailure(FailureKind.VERIFICATION, "no answer from eth0")


def inventory(profile: Profile) -> Inventory:
    return Inventory((Device("eth0", "ethernet", profile=profile),), (profile,), settled=frozenset({"eth0"}))


class Stateful(FakeProfiles):
    """Profiles that are what was given back. *refuses*: NetworkManager does not take them."""

    refuses = False

    async def give_back(self, kept: KeptProfile) -> None:
        if self.refuses:
            raise Unavailable("NetworkManager refuses: No space left on device")
        await super().give_back(kept)
        self.found = inventory(replace(ETH0, settings=kept.settings))


class FullDisk(FakeFiles):
    """A disk that takes nothing once it is *full*, or *read_only*; /run is in memory."""

    full = False
    read_only = False

    def write(self, path: PurePath, content: bytes, mode: int = 0o644) -> bool:
        if self.full and not path.is_relative_to("/run"):
            raise PublishFailed(f"{path}: No space left on device", remedy="Make room")
        self._refuse_to_change(path)
        return super().write(path, content, mode)

    def remove(self, path: PurePath) -> bool:
        if str(path) in self.content:
            self._refuse_to_change(path)
        return super().remove(path)

    def _refuse_to_change(self, path: PurePath) -> None:
        if self.read_only and not path.is_relative_to("/run"):
            raise PublishFailed(f"{path}: Read-only file system")


@dataclass
class Node(Rig):
    """A node whose profiles and disk have a memory."""

    files: FullDisk = field(default_factory=lambda: FullDisk({FILE: TEXT}))
    profiles: Stateful = field(default_factory=lambda: Stateful(inventory(ETH0)))

    @property
    def is_before(self) -> bool:
        """Whether the network is that from before the apply."""
        return self.profiles.found == inventory(ETH0)

    def once_applied(self, then: Callable[[], None] = lambda: None) -> None:
        """Let an apply write the profile of the file, and *then* something happen."""

        def during() -> None:
            self.profiles.found = inventory(OF_FILE)
            then()

        self.nmstate.during_apply = during

    def in_next_boot(self) -> Node:
        """Return the node after a power cut: disk, profiles and neighbours are as they were left."""
        if change := self.changes.open:
            self.changes.save(replace(change, apply=replace(change.apply, boot_id="the last boot")))
        else:
            self.remember(replace(self.record, boot_id="the last boot"))
        return Node(files=self.files, profiles=self.profiles, kernel=self.kernel, neighbours=self.neighbours)

    async def until_over(self) -> Outcome:
        """Return the first outcome that is no wait."""
        for _ in range(20):
            outcome = await self.attempt()
            if not isinstance(outcome, Waiting):
                return outcome
            self.clock.now += outcome.seconds
        raise AssertionError(f"it waits for ever: {outcome}")


class PowerCut(BaseException):
    """Nothing of the process runs after it."""


async def interrupted() -> Node:
    """Return a node on which the power was cut in the apply of its file, in its next boot."""
    node = Node()
    on_disk: dict[str, bytes] = {}

    def cut() -> None:
        on_disk.update(node.files.content)
        raise PowerCut

    node.once_applied(cut)
    with pytest.raises(PowerCut):
        await node.attempt()
    node.files.content = on_disk
    assert str(CHANGE) in on_disk
    return node.in_next_boot()


async def test_a_disk_that_fails_in_an_apply_keeps_no_network_from_coming_back() -> None:
    """No descriptors were left, and NetworkManager could not roll back: the node had no address until a reload."""
    node = Node()
    unread = PublishFailed("Too many open files")

    def fail() -> None:
        node.files.bad = {str(INTENT): unread, str(CHANGE): unread}

    node.once_applied(fail)
    node.nmstate.fails = [UNVERIFIED] * 3
    assert isinstance(await node.until_over(), Failed)
    assert node.is_before


@pytest.mark.parametrize("edit", ["removed", "empty", "invalid", "rivals"])
async def test_what_happened_to_the_file_keeps_no_network_from_coming_back(edit: str) -> None:
    """An administrator removes or mends the file that an apply was interrupted with; a power cut tears an edit."""
    node = await interrupted()
    match edit:
        case "removed":
            del node.files.content[FILE]
        case "empty":
            node.files.content[FILE] = b"# nothing\n"
        case "invalid":
            node.files.content[FILE] = b"interfaces: [\n"
        case _:
            node.files.content[FILE.replace(".yml", ".yaml")] = TEXT
    await node.attempt()
    assert node.is_before


def cut_off_by_its_file() -> Node:
    """Return a node whose file silences the gateway; NetworkManager is started again during the probes."""
    node = Node(kernel=FakeKernel(ONLINE), neighbours=FakeNeighbours({GATEWAY}))

    def started_again() -> None:
        node.neighbours.there.clear()
        node.manager.starts += 1

    node.once_applied(started_again)
    return node


async def test_a_refused_file_that_no_rollback_undid_is_undone() -> None:
    """NetworkManager has forgotten the checkpoint, and no other file is known good."""
    node = cut_off_by_its_file()
    assert isinstance(await node.until_over(), Failed)
    assert node.is_before
    assert str(CHANGE) not in node.files.content


async def test_kubelet_waits_for_the_network_from_before_a_refused_file() -> None:
    """It would start with an address of that file."""
    node = cut_off_by_its_file()
    node.profiles.refuses = True
    assert isinstance(await node.attempt(), Waiting)
    assert isinstance(await node.attempt(), Waiting)
    node.profiles.refuses = False
    assert isinstance(await node.until_over(), Failed)
    assert node.is_before


async def test_the_next_boot_does_not_keep_a_file_that_no_rollback_undid() -> None:
    """With the network from before, the gateway answers again."""
    node = cut_off_by_its_file()
    assert isinstance(await node.until_over(), Failed)
    node.neighbours.there.add(GATEWAY)
    node = node.in_next_boot()
    node.once_applied(node.neighbours.there.clear)
    assert isinstance(await node.until_over(), Failed)
    assert node.nmstate.committed == []


async def test_a_refused_file_is_not_kept_in_the_next_boot_where_no_gateway_answers_yet() -> None:
    """A switch port may still learn; one answered before the apply in which the file was refused."""
    node = Node(kernel=FakeKernel(ONLINE), neighbours=FakeNeighbours({GATEWAY}))
    node.once_applied(node.neighbours.there.clear)
    assert isinstance(await node.until_over(), Failed)
    node = node.in_next_boot()
    refused = await node.until_over()
    assert isinstance(refused, Failed)
    assert (
        refused.problem.cause == "worker-0.yml: the gateway 192.0.2.1 does not answer on eth0, "
        "and one answered when the node last worked"
    )
    assert node.nmstate.committed == []


async def test_a_reload_does_not_keep_a_refused_file_before_the_network_is_back() -> None:
    """A lease may be late: nothing answers before this apply, and the gateway did before the refused one."""
    node = Node(kernel=FakeKernel(ONLINE), neighbours=FakeNeighbours({GATEWAY}))
    node.once_applied(node.neighbours.there.clear)
    assert isinstance(await node.until_over(), Failed)
    assert isinstance(await node.attempt(request=ORDERED), Failed)
    assert node.nmstate.committed == []


async def test_three_crashes_of_networkmanager_forget_nothing() -> None:
    node = Node()

    def crash() -> None:
        node.manager.crash()
        node.nmstate.fails = [NmstateFailure(FailureKind.INTERNAL, "NetworkManager vanished")]

    node.once_applied(crash)
    outcome: Outcome = Waiting("not begun")
    for _ in range(12):
        node.manager.crashed = False
        node.clock.now += 30
        outcome = await node.attempt()
        if not isinstance(outcome, Waiting):
            break
    assert isinstance(outcome, Failed)
    node.manager.crashed = False
    for request in (Request(), ORDERED):
        node.nmstate.fails = [UNVERIFIED] * 3
        node.nmstate.during_apply = lambda: None
        await node.attempt(request=request)
    assert node.is_before


async def test_what_could_not_be_put_back_outlives_a_try_that_is_rolled_back() -> None:
    """Its rollback leads to what the interrupted apply left."""
    node = await interrupted()
    node.profiles.refuses = True
    assert isinstance(await node.attempt(), Waiting)
    node.clock.now += PATIENCE_SECONDS
    node.nmstate.fails = [UNVERIFIED]
    assert isinstance(await node.attempt(), Failed)
    node.profiles.refuses = False
    node = node.in_next_boot()
    node.nmstate.fails = [UNVERIFIED]
    await node.attempt()
    assert node.is_before


async def test_a_full_disk_is_no_wait_once_the_way_back_was_given_up() -> None:
    """The stage waited for ever, and kubelet with it: each pass began the minute of a failing disk again."""
    node = await interrupted()
    node.profiles.refuses = True
    assert isinstance(await node.attempt(), Waiting)
    node.clock.now += PATIENCE_SECONDS
    node.files.full = True
    assert isinstance(await node.attempt(), Failed)


async def test_a_rollback_that_fails_is_no_end_without_a_known_good_file() -> None:
    node = Node(manager=StuckManager())
    node.once_applied(lambda: node.manager.pending.append(Checkpoint("/checkpoint/1", node.clock.now)))
    node.nmstate.fails = [UNVERIFIED]
    assert isinstance(await node.until_over(), Failed)
    assert node.is_before


@pytest.mark.parametrize("restarted", [True, False])
async def test_what_is_committed_is_not_undone_where_a_full_disk_has_not_taken_its_record(*, restarted: bool) -> None:
    """The disk takes the record once there is room; a restart of nodenetd knows what is in force meanwhile."""
    node = Node()
    node.once_applied(lambda: setattr(node.files, "full", True))
    outcome = await node.attempt()
    assert isinstance(outcome, Done)
    assert outcome.facts.applied_digest == outcome.facts.digest
    node.profiles.found = inventory(OF_ADMINISTRATOR)
    node.profiles.done.clear()
    if restarted:
        node = Node(files=node.files, profiles=node.profiles)
    node.nmstate.left = {}
    assert isinstance(await node.attempt(), Skipped)
    assert node.profiles.done == []
    assert node.profiles.found == inventory(OF_ADMINISTRATOR)
    node.files.full = False
    assert node.changes.edges.store.pay() is None
    assert (node.record.phase, str(CHANGE) in node.files.content) == (Phase.GOOD, False)


async def test_another_programs_checkpoint_is_waited_for_before_profiles_come_back() -> None:
    """Its rollback would bring back what the interrupted apply left."""
    node = await interrupted()
    node.manager.pending = [Checkpoint("/cp/cockpit", 90.0, 7)]
    outcome = await node.attempt()
    assert isinstance(outcome, Waiting)
    assert "/cp/cockpit" in outcome.reason
    assert node.profiles.done == []
    node.manager.pending = []
    await node.attempt()
    assert node.is_before


async def test_a_full_disk_keeps_no_known_good_file_from_its_place() -> None:
    node = Node(manager=StuckManager())
    lost_boots(node)
    node.files.content[str(NEW_FILE)] = new_file.render(NewFile("another"))

    def full() -> None:
        node.manager.pending.append(Checkpoint("/checkpoint/1", node.clock.now))
        node.files.full = True

    node.once_applied(full)
    node.nmstate.fails = [UNVERIFIED]
    outcome = await node.attempt()
    assert isinstance(outcome, Waiting)
    assert outcome.reason.startswith("the last known good file: worker-0.yml could not be rolled back")


async def test_a_record_that_cannot_be_read_hides_no_cause() -> None:
    """A stop, or what libnmstate said, is not replaced by an error of the disk."""
    node = Node()

    def broken() -> None:
        node.files.bad = {str(INTENT): PublishFailed("Input/output error")}
        raise PowerCut

    node.once_applied(broken)
    with pytest.raises(PowerCut):
        await node.attempt()


class LeavingManager(FakeManager):
    """It leaves the bus just when an apply is to begin."""

    left = False

    async def owner(self) -> str:
        if self.left:
            raise Unavailable("org.freedesktop.NetworkManager is not on the bus")
        return await super().owner()


async def test_an_edit_while_networkmanager_is_away_is_not_reverted() -> None:
    """The apply never began: nothing was interrupted."""
    manager = LeavingManager()
    node = Node(manager=manager)
    manager.left = True
    assert isinstance(await node.attempt(), Waiting)
    manager.left = False
    node.profiles.found = inventory(OF_ADMINISTRATOR)
    node.profiles.done.clear()
    await node.attempt()
    assert "give_back" not in [order[0] for order in node.profiles.done]


@pytest.mark.parametrize("edit", ["removed", "invalid", "none"])
async def test_a_network_manager_that_stays_away_ends_the_wait_and_not_the_undo(edit: str) -> None:
    """It ended in the apply of the file, and is away for longer than any file is tried."""
    node = Node()

    def crash() -> None:
        node.manager.crash()
        node.nmstate.fails = [NmstateFailure(FailureKind.INTERNAL, "NetworkManager vanished")]

    node.once_applied(crash)
    assert isinstance(await node.attempt(), Waiting)
    if edit == "removed":
        del node.files.content[FILE]
    elif edit == "invalid":
        node.files.content[FILE] = b"interfaces: [\n"
    assert isinstance(await node.attempt(), Waiting)
    node.clock.now += BUDGET_SECONDS
    outcome = await node.attempt()
    assert isinstance(outcome, Failed if edit != "removed" else Done), outcome
    assert outcome.problem is not None
    node.manager.crashed = False
    await node.attempt()
    assert node.is_before
