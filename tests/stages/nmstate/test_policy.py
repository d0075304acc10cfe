"""A node file that is an NMState policy: resolved once, against the network before it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakes import FakeFiles, FakeManager, FakeNmstate, FakeProfiles
from nodenet.core.boot.outcome import Done, Failed, Skipped, Topic, Waiting
from nodenet.core.boot.stage_state import EVENT, Request
from nodenet.core.errors import NodeFileInvalid, PublishFailed
from nodenet.core.network_manager.objects import Inventory
from nodenet.core.network_manager.state import ManagerState
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.stages.apply.node_file import NodeFiles
from nodenet.stages.apply.policies import RECORD
from stages.nmstate.test_stage import APPLIED, DIRECTORY, FILE, NAMED, Rig

POLICY = """capture:
  gateway: routes.running.destination=="0.0.0.0/0"
  uplink: interfaces.name==capture.gateway.routes.running.0.next-hop-interface
desiredState:
  interfaces:
  - {name: "{{ capture.uplink.interfaces.0.name }}", type: ethernet, mtu: 1400}
"""
EDITED = POLICY.replace("1400", "1402")


def network(link: str) -> dict[str, Any]:
    """Return a network whose default route leaves by *link*."""
    return {
        "interfaces": [{"name": "eth0", "type": "ethernet"}, {"name": "br-ex", "type": "ovs-interface"}],
        "routes": {"running": [{"destination": "0.0.0.0/0", "next-hop-interface": link}]},
    }


def rig(link: str = "eth0", **parts: Any) -> Rig:
    nmstate = FakeNmstate({"interfaces": [{"name": "eth0"}]}, shown=network(link))
    return Rig(files=FakeFiles({FILE: POLICY.encode()}), nmstate=nmstate, **parts)


def links(text: str) -> list[tuple[str, int]]:
    return [(each["name"], each["mtu"]) for each in json.loads(text.partition("\n")[2])["interfaces"]]


async def test_its_document_is_kept_before_the_network_is_touched_and_compared_later() -> None:
    """The captures would find br-ex now."""
    node, kept = rig(), []
    node.nmstate.during_apply = lambda: kept.append(str(RECORD) in node.files.content)
    outcome = await node.attempt()
    assert isinstance(outcome, Done)
    assert (kept, links(node.nmstate.applied[0])) == ([True], [("eth0", 1400)])
    assert outcome.facts.applied_digest == outcome.facts.digest == node.record.digest
    node.nmstate.shown = network("br-ex")
    later = Rig(files=node.files, nmstate=node.nmstate)
    node.files.writes.clear()
    for request in (Request(), Request(1, retry_refused=True)):
        again = await later.attempt(request=request)
        assert isinstance(again, Skipped)
        assert again.facts.digest == outcome.facts.digest
    assert (node.files.writes, len(node.nmstate.applied)) == ([], 1)
    assert links(node.files.content[APPLIED].decode()) == [("eth0", 1400)]


async def test_an_edited_policy_is_resolved_again() -> None:
    """Against the network of now; the files of the directory say that there is an edit."""
    node = rig()
    first = await node.attempt()
    assert first.facts
    files = NodeFiles(node.files, node.nmstate, DIRECTORY)
    assert files.edited(first.facts) is None
    node.files.content[FILE] = EDITED.encode()
    assert files.edited(first.facts) == "worker-0.yml"
    node.nmstate.shown = network("br-ex")
    node.nmstate.left = {"interfaces": [{"name": "br-ex"}]}
    await files.judge(first.facts)
    assert node.files.content[str(RECORD)].count(b"interfaces") == 1, "a verdict keeps nothing"
    second = await node.attempt()
    assert isinstance(second, Done)
    assert second.facts
    assert links(node.nmstate.applied[1]) == [("br-ex", 1402)]
    assert NodeFiles(node.files, node.nmstate, DIRECTORY).edited(second.facts) is None


async def test_a_capture_that_finds_nothing_is_a_refusal() -> None:
    """Nothing is written; a reload refuses with the same words."""
    node = rig()
    node.nmstate.shown = {"interfaces": [], "routes": {"running": []}}
    outcome = await node.attempt()
    assert isinstance(outcome, Failed)
    assert "worker-0.yml, line 2, column 12: capture.gateway" in outcome.problem.cause
    assert "no route of this node has destination = '0.0.0.0/0'" in outcome.problem.cause
    assert (node.nmstate.applied, node.files.writes) == ([], [])
    with pytest.raises(NodeFileInvalid) as refused:
        await NodeFiles(node.files, node.nmstate, DIRECTORY).judge(NAMED)
    assert refused.value.cause == outcome.problem.cause


async def test_what_a_policy_looks_at_may_come_late_while_kubelet_waits() -> None:
    """A lease minutes after the boot. A node whose kubelet runs is not changed without an order."""
    node = rig()
    there, node.nmstate.shown = node.nmstate.shown, {"interfaces": [], "routes": {"running": []}}
    outcome = await node.attempt()
    assert isinstance(outcome, Failed)
    assert outcome.again
    assert outcome.again.topics == {Topic.KERNEL, Topic.NETWORK_MANAGER}
    node.nmstate.shown = there
    node.systemd.running = {"kubelet.service"}
    assert await node.attempt(request=Request(who=EVENT)) == Failed(outcome.problem, outcome.facts)
    assert (node.nmstate.applied, node.files.writes) == ([], [])
    node.systemd.running, node.systemd.silent = set(), True
    assert await node.attempt(request=Request(who=EVENT)) == outcome, "it is not known whether kubelet runs"
    node.systemd.silent = False
    assert isinstance(await node.attempt(request=Request(who=EVENT)), Done)
    assert links(node.nmstate.applied[0]) == [("eth0", 1400)]


async def test_a_reload_resolves_again_what_never_came_into_force() -> None:
    """A boot applies the same document again; the administrator who orders a reload may have changed the network."""
    node = rig()
    node.nmstate.fails = [NmstateFailure(FailureKind.INVALID, "no such NIC")]
    assert isinstance(await node.attempt(), Failed)
    node.nmstate.shown = network("br-ex")
    assert isinstance(await Rig(files=node.files, nmstate=node.nmstate).attempt(), Failed)
    assert str(RECORD) in node.files.content
    assert isinstance(await node.attempt(request=Request(1, retry_refused=True)), Done)
    assert links(node.nmstate.applied[0]) == [("br-ex", 1400)]


async def test_a_policy_whose_document_cannot_be_kept_changes_nothing() -> None:
    """The next boot would make another document of it."""
    node = rig()
    node.files.bad[str(RECORD)] = PublishFailed("the disk is full")
    assert isinstance(await node.attempt(), Failed)
    assert node.nmstate.applied == []


async def test_links_that_network_manager_activates_at_its_start_are_waited_for() -> None:
    """A policy looks at the whole network: a lease may be on its way."""
    busy = FakeProfiles(Inventory(states={"eth0": "getting IP configuration"}, activating=frozenset({"eth0"})))
    node = rig(manager=FakeManager(ManagerState.STARTING), profiles=busy)
    outcome = await node.attempt()
    assert isinstance(outcome, Waiting)
    assert outcome.reason == "NetworkManager, which still activates eth0"
    node.manager.status = ManagerState.READY
    assert isinstance(await node.attempt(), Done)


async def test_a_policy_that_libnmstate_resolves_otherwise_is_refused() -> None:
    """It decides; and one that it cannot be asked about is asked again."""
    node = rig()
    node.nmstate.difference_fails = NmstateFailure(FailureKind.INVALID, "another document")
    outcome = await node.attempt()
    assert isinstance(outcome, Failed)
    assert outcome.problem.cause == "worker-0.yml cannot be resolved: another document"
    assert "br-ex, which also has the MAC address of its NIC" in outcome.problem.remedy
    node.nmstate.difference_fails = NmstateFailure(FailureKind.KILLED, "it hangs")
    assert isinstance(await node.attempt(), Waiting)
