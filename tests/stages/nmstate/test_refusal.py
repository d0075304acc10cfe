"""What comes first where a file is refused: the network, with a full disk and after an edit, too."""

from __future__ import annotations

import pytest

from fakes import BOOT_ID, FakeKernel, FakeManager, FakeNeighbours
from nodenet.core.apply import new_file
from nodenet.core.apply.intent import Intent, Phase
from nodenet.core.apply.new_file import NewFile
from nodenet.core.boot.outcome import Done, Failed, Skipped, Waiting
from nodenet.core.change.record import Change, What, render
from nodenet.core.change.way_back import Network
from nodenet.core.errors import RollbackFailed
from nodenet.core.network_manager.objects import Inventory
from nodenet.core.network_manager.profiles import Device, Profile
from nodenet.core.network_manager.state import Checkpoint
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.node_ip.published_files import BRIDGE_UP, KUBELET
from nodenet.stages.apply.records import CHANGE, INTENT, NEW_FILE
from nodenet.stages.apply.undo import PATIENCE_SECONDS
from stages.nmstate.test_stage import FILE, GATEWAY, ONLINE, StuckManager, lost_boots
from stages.nmstate.test_way_back_lost import (
    ETH0,
    UNVERIFIED,
    Node,
    cut_off_by_its_file,
    interrupted,
)


@pytest.mark.parametrize("edit", ["removed", "empty", "invalid"])
async def test_an_edit_while_the_way_back_is_awaited_lets_no_kubelet_start_on_the_network_of_the_file(
    edit: str,
) -> None:
    """The file was refused, NetworkManager refuses the profiles, and the administrator takes the file away."""
    node = cut_off_by_its_file()
    node.profiles.refuses = True
    assert isinstance(await node.attempt(), Waiting)
    assert not node.is_before
    if edit == "removed":
        del node.files.content[FILE]
    else:
        node.files.content[FILE] = b"# nothing\n" if edit == "empty" else b"interfaces: [\n"
    outcome = await node.attempt()
    assert isinstance(outcome, Waiting), outcome
    node.profiles.refuses = False
    await node.until_over()
    assert node.is_before


async def test_an_edit_between_two_tries_loses_no_way_back() -> None:
    """NetworkManager crashed in the apply; two seconds later the file is half written."""
    node = Node()

    def crash() -> None:
        node.manager.starts += 1
        node.nmstate.fails = [NmstateFailure(FailureKind.INTERNAL, "NetworkManager vanished")]

    node.once_applied(crash)
    first = await node.attempt()
    assert isinstance(first, Waiting), first
    assert not node.is_before
    node.files.content[FILE] = b"interfaces: [\n"
    await node.attempt()
    assert node.is_before


@pytest.mark.parametrize("how", ["rollback fails", "networkmanager started again"])
async def test_a_full_disk_keeps_no_network_from_coming_back(how: str) -> None:
    """No file is known good, and the record of the refusal cannot be written."""
    if how == "rollback fails":
        node = Node(manager=StuckManager())

        def full() -> None:
            node.manager.pending.append(Checkpoint("/checkpoint/1", node.clock.now))
            node.files.full = True

        node.nmstate.fails = [UNVERIFIED]
    else:
        node = Node(kernel=FakeKernel(ONLINE), neighbours=FakeNeighbours({GATEWAY}))

        def full() -> None:
            node.neighbours.there.clear()
            node.manager.starts += 1
            node.files.full = True

    node.once_applied(full)
    outcome = await node.until_over()
    assert isinstance(outcome, Failed)
    assert node.is_before, outcome


PORT = Profile("u-port", "eth0-port", "802-3-ethernet", "eth0", path="/etc/eth0-port", settings={})
BR = Profile("u-br", "br-ex-if", "ovs-interface", "br-ex", path="/etc/br-ex-if", settings={})


async def test_a_reload_does_not_take_the_uplink_from_a_bridge_that_was_made_since() -> None:
    """NetworkManager refused to give the profiles back until patience ended; kubelet runs, br-ex was made."""
    node = await interrupted()
    node.profiles.refuses = True
    node.nmstate.fails = [UNVERIFIED] * 3
    assert isinstance(await node.until_over(), Failed)
    assert str(CHANGE) in node.files.content
    # configure-ovs makes br-ex over eth0, and kubelet starts.
    with_bridge = Inventory(
        (Device("eth0", "ethernet", profile=PORT), Device("br-ex", "ovs-interface", profile=BR)),
        (ETH0, PORT, BR),
        settled=frozenset({"eth0", "br-ex"}),
    )
    node.profiles.found = with_bridge
    node.profiles.refuses = False
    node.files.content[str(BRIDGE_UP)] = b""
    node.profiles.done.clear()
    again = Node(files=node.files, profiles=node.profiles)  # a reload of the settings builds the stages again
    await again.attempt()
    assert node.profiles.done == []


async def test_a_file_refused_for_another_cause_is_not_held_to_a_gateway_that_is_gone_for_good() -> None:
    """Refused by its verification where a gateway answered; the node has moved to a network without that one."""
    node = Node(kernel=FakeKernel(ONLINE), neighbours=FakeNeighbours({GATEWAY}))
    node.nmstate.fails = [UNVERIFIED]
    assert isinstance(await node.until_over(), Failed)
    boots = []
    for _ in range(3):
        node = node.in_next_boot()
        node.neighbours.there.clear()
        boots.append(await node.until_over())
    assert isinstance(boots[-1], Done), boots[-1]


async def test_a_network_that_could_not_be_put_back_is_told_also_without_a_file() -> None:
    """Kubelet starts on what the interrupted apply left; neither status nor journal say so."""
    node = await interrupted()
    del node.files.content[FILE]
    node.profiles.refuses = True
    outcome = await node.until_over()
    assert not node.is_before
    assert getattr(outcome, "problem", None) is not None, outcome


class RefusingManager(FakeManager):
    """Its checkpoint stays after a rollback that fails, as where a policy refuses the order."""

    async def roll_back(self, checkpoint: str) -> None:
        raise RollbackFailed(f"NetworkManager could not roll back checkpoint {checkpoint}", remedy="Look")


async def with_interrupted_br_ex() -> Node:
    """Return a node whose file is in force, and where nodenetd was killed in the apply of br-ex."""
    node = Node(manager=RefusingManager())
    assert isinstance(await node.attempt(), Done)
    during = Intent("br", Phase.APPLYING, BOOT_ID, node.clock.now, checkpoint="/cp/9", created=node.clock.now)
    change = Change(What.BRIDGE, "br-ex", during, Network(("br-ex", "eth0")))
    node.files.content[str(CHANGE)] = render(change)
    node.manager.pending = [Checkpoint("/cp/9", node.clock.now)]
    node = Node(files=node.files, profiles=node.profiles, manager=node.manager)
    node.nmstate.left = {}
    return node


async def test_a_br_ex_that_cannot_be_rolled_back_says_nothing_about_the_file() -> None:
    """It is in force. Before, the last known good one took its place, or kubelet never started."""
    node = await with_interrupted_br_ex()
    lost_boots(node)
    node.files.content[str(NEW_FILE)] = new_file.render(NewFile("another"))
    outcome = await node.attempt()
    assert isinstance(outcome, Waiting)
    assert "/cp/9" in outcome.reason
    node.manager.pending = []  # NetworkManager's own time-out has ended it
    assert isinstance(await node.attempt(), Skipped)
    assert node.nmstate.applied == []
    assert new_file.parse(node.files.content[str(NEW_FILE)]).cut_off == ""


async def test_a_checkpoint_that_stays_is_a_problem_after_a_while() -> None:
    """With its own cause, and the file still in force: kubelet waits no longer."""
    node = await with_interrupted_br_ex()
    assert isinstance(await node.attempt(), Waiting)
    node.clock.now += PATIENCE_SECONDS
    outcome = await node.attempt()
    assert isinstance(outcome, Done)
    assert node.nmstate.applied == []
    assert outcome.problem is not None
    assert "/cp/9" in outcome.problem.cause
    assert "worker-0.yml" not in outcome.problem.cause
    assert outcome.facts is not None
    assert outcome.facts.applied_digest == node.record.digest
    assert node.record.phase is Phase.GOOD


async def test_a_corrected_file_is_not_blamed_for_the_apply_of_the_one_before() -> None:
    node = Node(manager=StuckManager())
    during = Intent("another", Phase.APPLYING, BOOT_ID, 99.0, checkpoint="/cp/9", created=99.0)
    node.remember(during)
    node.manager.pending = [Checkpoint("/cp/9", 99.0)]
    assert isinstance(await node.attempt(), Waiting)
    node.manager.pending = []
    assert isinstance(await node.attempt(), Done)


def cut_off_on_a_full_disk() -> Node:
    """Return a node whose file silences the gateway, and whose disk is full by then."""
    node = Node(kernel=FakeKernel(ONLINE), neighbours=FakeNeighbours({GATEWAY}))

    def cut() -> None:
        node.neighbours.there.clear()
        node.files.full = True

    node.once_applied(cut)
    return node


async def test_the_cause_of_a_refusal_is_named_on_a_full_disk() -> None:
    """The rollback worked; before, the status only said that there was no room, and how to apply the file again."""
    node = cut_off_on_a_full_disk()
    node.systemd.running.add(KUBELET)
    outcome = await node.attempt()
    assert isinstance(outcome, Failed)
    assert outcome.problem.cause == (
        "worker-0.yml: the gateway 192.0.2.1 does not answer on eth0, and it answered before the apply"
    )
    assert outcome.again is None


@pytest.mark.parametrize("room", [True, False])
async def test_a_file_that_was_refused_on_a_full_disk_is_not_applied_again_by_a_restart(*, room: bool) -> None:
    """It says why, and writes the record once there is room."""
    node = cut_off_on_a_full_disk()
    await node.attempt()
    node.files.full = not room
    node.neighbours.there.add(GATEWAY)
    node = Node(files=node.files, profiles=node.profiles, kernel=node.kernel, neighbours=node.neighbours)
    outcome = await node.attempt()
    assert isinstance(outcome, Failed)
    assert "the gateway 192.0.2.1 does not answer" in outcome.problem.cause
    assert node.nmstate.applied == []
    node.changes.edges.store.pay()
    assert node.record.phase is Phase.REFUSED
    assert (str(INTENT) in node.files.content) is room


async def test_a_secret_of_the_file_is_hidden_on_a_full_disk_too() -> None:
    """Libnmstate may quote it."""
    node = Node()
    node.files.content[FILE] = b"interfaces:\n- name: eth0\n  802.1x:\n    password: hunter2\n"
    node.nmstate.fails = [NmstateFailure(FailureKind.VERIFICATION, "not as asked for: password: hunter2")]
    node.once_applied(lambda: setattr(node.files, "full", True))
    outcome = await node.attempt()
    assert isinstance(outcome, Failed)
    assert "not as asked for" in outcome.problem.cause
    assert "hunter2" not in outcome.problem.cause
