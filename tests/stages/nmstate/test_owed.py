"""A committed file stays in force, whatever the disk has taken of its record."""

from __future__ import annotations

from nodenet.core.apply.intent import Phase
from nodenet.core.boot.outcome import NEVER, Again, Failed, Skipped
from nodenet.core.errors import PublishFailed
from nodenet.core.network_manager.profiles import KEYFILES
from nodenet.stages.apply.records import APPLY
from stages.nmstate.test_stage import BRIDGE, FILE
from stages.nmstate.test_way_back_lost import OF_ADMINISTRATOR, ORDERED, Node, inventory

NOT_SYNCED = {
    str(KEYFILES): PublishFailed("/etc/NetworkManager/system-connections cannot be synced: Input/output error")
}


def not_synced() -> Node:
    """Return a node whose disk fails behind the commit of its file."""
    node = Node()
    node.once_applied(lambda: node.files.bad.update(NOT_SYNCED))
    return node


async def test_a_disk_that_fails_behind_the_commit_is_asked_again() -> None:
    """The stages behind know the bridge of the file; before, br-ex was made over it."""
    node = not_synced()
    node.files.content[FILE] = BRIDGE
    outcome = await node.attempt()
    assert isinstance(outcome, Failed)
    assert node.nmstate.committed == ["/checkpoint/1"]
    assert outcome.facts.applied_digest == outcome.facts.digest
    assert outcome.facts.brings_bridge
    assert outcome.again == Again(seconds=15.0)
    assert str(APPLY) in node.files.content  # a power cut may still take keyfiles
    node.files.bad.clear()
    node.nmstate.left = {}
    outcome = await node.attempt()
    assert isinstance(outcome, Skipped)
    assert node.record.phase is Phase.GOOD
    assert str(APPLY) not in node.files.content


async def test_the_next_nodenetd_undoes_no_committed_file() -> None:
    """Kubelet runs, and an administrator has edited the profile meanwhile."""
    node = not_synced()
    await node.attempt()
    assert node.record.phase is Phase.APPLYING
    node.files.bad.clear()
    node.profiles.found = inventory(OF_ADMINISTRATOR)
    node.profiles.done.clear()
    node = Node(files=node.files, profiles=node.profiles)
    node.nmstate.left = {}
    outcome = await node.attempt(request=ORDERED)
    assert isinstance(outcome, Skipped)
    assert (node.profiles.done, node.nmstate.applied) == ([], [])
    assert node.record.phase is Phase.GOOD
    assert str(APPLY) not in node.files.content


async def test_the_next_nodenetd_undoes_no_committed_file_on_a_disk_that_still_fails() -> None:
    """It says what is in force, and asks again."""
    node = not_synced()
    node.files.content[FILE] = BRIDGE
    first = await node.attempt()
    assert isinstance(first, Failed)
    node.profiles.done.clear()
    node = Node(files=node.files, profiles=node.profiles)
    outcome = await node.attempt()
    assert isinstance(outcome, Failed)
    assert outcome.problem.cause == NOT_SYNCED[str(KEYFILES)].cause
    assert (outcome.facts.applied_digest, outcome.facts.brings_bridge) == (first.facts.digest, True)
    assert outcome.again == Again(seconds=15.0)
    assert node.profiles.done == []


async def test_the_next_nodenetd_undoes_no_committed_file_on_a_read_only_disk() -> None:
    """What was kept from before the apply could not be removed either."""
    node = Node()
    node.once_applied(lambda: setattr(node.files, "read_only", True))
    await node.attempt()
    assert str(APPLY) in node.files.content
    node.profiles.done.clear()
    node = Node(files=node.files, profiles=node.profiles)
    node.nmstate.left = {}
    assert isinstance(await node.attempt(), Failed)
    node.files.read_only = False
    assert isinstance(await node.attempt(), Skipped)
    assert (node.profiles.done, node.nmstate.applied) == ([], [])
    assert str(APPLY) not in node.files.content


async def test_a_matching_file_on_a_full_disk_is_in_force() -> None:
    """Nothing has to be applied; before, it was reported as not applied, for good."""
    node = Node()
    node.nmstate.left = {}
    node.files.full = True
    outcome = await node.attempt()
    assert isinstance(outcome, Failed)
    assert outcome.facts.applied_digest == outcome.facts.digest
    assert outcome.again == Again(seconds=15.0)
    node.files.full = False
    assert isinstance(await node.attempt(), Skipped)
    assert node.record.phase is Phase.GOOD


async def test_a_disk_that_fails_before_the_commit_owes_nothing() -> None:
    node = Node()
    node.files.full = True
    outcome = await node.attempt()
    assert isinstance(outcome, Failed)
    assert outcome.again == NEVER
