"""Does a node get its addresses back that an apply has lost while kubelet runs?"""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from br_ex_rig import FLAG, NODE_IP, Rig
from fakes import BOOT_ID
from nodenet.core.apply import intent
from nodenet.core.apply.intent import Intent, Phase
from nodenet.core.boot.facts import Facts
from nodenet.core.boot.outcome import Done, Failed, Outcome, Waiting
from nodenet.core.br_ex import record as bridge_record
from nodenet.core.br_ex.record import BridgeRecord
from nodenet.core.errors import Unavailable
from nodenet.core.kernel.snapshot import Snapshot
from nodenet.core.network_manager.profiles import KEYFILES, Profile
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.node_ip.select import Selection
from nodenet.stages.apply.records import BRIDGE, BRIDGE_INTENT
from nodenet.stages.br_ex.lost_network import LOST_SECONDS
from nodenet.stages.br_ex.recover_first import PATIENCE_SECONDS
from nodenet.stages.br_ex.stage import GIVEN_UP
from virtual_time import VirtualLoop

RESTORED = ["delete", "give_back", "activate"]


def attempt(rig: Rig, seconds: float = 1.0) -> Outcome:
    """Look at the bridge again, as the loop does after READY; the waits of the stage take no time."""
    rig.clock.now += seconds
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(rig.restore.attempt(Facts(selection=Selection(rig.node_ips, "eth0"))))


def in_a_crash(*, comes_back: bool) -> Rig:
    """Return a node whose NetworkManager ends in the middle of an apply, with the uplink a port of nothing."""
    rig = Rig()

    def crash() -> None:
        rig.manager.crash()
        rig.manager.crashed = not comes_back
        port = {"connection": {"port-type": "ovs-port", "controller": "u-port"}}
        uplink = rig.uplink_profile
        others = (profile for profile in rig.known if profile is not uplink)
        rig.known = (*others, replace(uplink, settings=port), Profile("u-port", "eth0-port", "ovs-port", "eth0"))
        rig.devices = tuple(replace(device, profile=None) for device in rig.devices)
        rig.place("eth0")
        rig.kernel.now = Snapshot()

    rig.nmstate.during_apply = crash
    rig.nmstate.fails = [NmstateFailure(FailureKind.INTERNAL, "NetworkManager vanished")]
    return rig


def restored(rig: Rig) -> list[str]:
    """Return what was done to profiles to get back."""
    return [order[0] for order in rig.profiles.done if order[0] in RESTORED]


def test_a_network_manager_that_dies_in_an_apply_costs_the_node_no_address() -> None:
    """It rolls nothing back, and the stage that chooses the node IP runs no more after READY (R8)."""
    rig = in_a_crash(comes_back=True)
    assert isinstance(attempt(rig), Failed)
    assert restored(rig) == RESTORED
    assert str(BRIDGE_INTENT) not in rig.files.content
    assert rig.files.writes[-2:] == [f"sync {KEYFILES}", str(BRIDGE)]


def test_a_network_manager_that_comes_back_late_is_waited_for() -> None:
    """Nothing can be restored without it; then the address has a moment to come back by itself (R8)."""
    rig = in_a_crash(comes_back=False)
    assert isinstance(attempt(rig), Failed)
    assert isinstance(attempt(rig), Waiting)
    rig.manager.crashed = False
    waiting = attempt(rig)
    assert isinstance(waiting, Waiting)
    assert waiting.reason == "10.88.0.113 is missing since the making of br-ex was interrupted"
    assert restored(rig) == []
    attempt(rig, PATIENCE_SECONDS)
    assert restored(rig) == RESTORED


@pytest.mark.parametrize(
    ("phase", "boot_id"), [(Phase.ROLLED_BACK, BOOT_ID), (Phase.GOOD, BOOT_ID), (Phase.APPLYING, "an earlier boot")]
)
def test_an_address_that_no_apply_of_this_boot_lost_is_left_alone(phase: Phase, boot_id: str) -> None:
    """A pulled cable, a silent server, an administrator: none of them is an apply without an end."""
    rig = Rig()
    record = BridgeRecord({"br-ex": "eth0"}, node_ips=(str(NODE_IP),), present=("u1",))
    rig.files.content[str(BRIDGE)] = bridge_record.render(record)
    rig.files.content[str(BRIDGE_INTENT)] = intent.render(Intent("d", phase, boot_id, 5.0))
    rig.kernel.now = Snapshot()
    for _ in range(8):
        attempt(rig)
    assert (restored(rig), rig.ovsdb.removed) == ([], [])


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
