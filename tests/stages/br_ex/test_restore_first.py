"""Does a node get its addresses back that br-ex has lost while kubelet runs?"""

from __future__ import annotations

import asyncio

from br_ex_rig import FLAG, Rig
from nodenet.core.boot.facts import Facts
from nodenet.core.boot.outcome import Done, Failed, Outcome
from nodenet.core.errors import Unavailable
from nodenet.core.history.entry import Kind, Result
from nodenet.core.kernel.snapshot import Snapshot
from nodenet.core.node_ip.select import Selection
from nodenet.stages.apply.history import History
from nodenet.stages.br_ex.recover_first import LOST_SECONDS
from nodenet.stages.br_ex.stage import GIVEN_UP
from virtual_time import VirtualLoop


def attempt(rig: Rig, seconds: float = 1.0) -> Outcome:
    """Look at the bridge again, as the loop does after READY; the waits of the stage take no time."""
    rig.clock.now += seconds
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(rig.restore.attempt(Facts(selection=Selection(rig.node_ips, "eth0"))))


def without_open_vswitch() -> tuple[Rig, Facts]:
    """Return a ready node that has lost br-ex's address with its Open vSwitch, and what is known of it."""
    rig = Rig()
    made = attempt(rig)
    assert isinstance(made, Done)
    assert FLAG in rig.files.content
    rig.kernel.now = Snapshot()
    rig.ovsdb.dead = Unavailable("Open vSwitch's database cannot be reached")
    return rig, made.facts


def attempt_with(rig: Rig, facts: Facts, seconds: float) -> Outcome:
    rig.clock.now += seconds
    return asyncio.run(rig.restore.attempt(facts))


def test_a_ready_node_that_open_vswitch_keeps_from_its_address_gets_its_plain_network_back() -> None:
    """NetworkManager, started again, takes the address from a bridge whose Open vSwitch does not work."""
    rig, facts = without_open_vswitch()
    assert isinstance(attempt_with(rig, facts, 0.0), Done)
    assert rig.record.originals
    outcome = attempt_with(rig, facts, LOST_SECONDS)
    assert isinstance(outcome, Failed)
    assert outcome.problem.cause == GIVEN_UP
    assert (outcome.facts.bridge, outcome.facts.uplink) == (None, None)
    assert outcome.facts.selection == Selection(rig.node_ips, "eth0")
    assert FLAG not in rig.files.content
    assert not rig.record.originals
    newest = History(rig.files).newest()
    assert newest is not None
    assert (newest.kind, newest.result) == (Kind.BRIDGE_REMOVAL, Result.COMMITTED)
    assert newest.cause.startswith("Open vSwitch does not work")
    rig.ovsdb.dead = None
    rig.place("eth0")
    made = attempt_with(rig, outcome.facts, 2.0)
    assert isinstance(made, Done)
    assert made.detail.endswith("as it was")  # looked at as a whole: what was made is not remembered


def test_a_ready_node_that_has_its_address_keeps_br_ex_whatever_open_vswitch_does() -> None:
    """What the kernel forwards goes on without ovs-vswitchd."""
    rig, facts = without_open_vswitch()
    rig.place("br-ex")
    for _ in range(3):
        outcome = attempt_with(rig, facts, LOST_SECONDS)
        assert isinstance(outcome, Done)
        assert outcome.facts.bridge == "br-ex"
