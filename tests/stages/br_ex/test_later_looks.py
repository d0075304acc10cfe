"""What is looked at while the bridges are there."""

from __future__ import annotations

from br_ex_rig import Rig
from nodenet.core.boot.outcome import Done, Topic
from nodenet.core.errors import Unavailable


async def test_a_second_look_writes_nothing() -> None:
    """Only whether Open vSwitch lives is asked."""
    rig = Rig()
    await rig.attempt()
    rig.files.writes.clear()
    applied = len(rig.nmstate.applied)
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert outcome.again
    assert outcome.again.topics == {Topic.OVS, Topic.NODE_IP_LOST}
    assert (rig.files.writes, len(rig.nmstate.applied)) == ([], applied)


async def test_an_open_vswitch_that_dies_later_degrades_until_it_is_back() -> None:
    """The bridge is not touched."""
    rig = Rig()
    await rig.attempt()
    rig.ovsdb.dead = Unavailable("ovs-vswitchd is gone", remedy="start it")
    dead = await rig.attempt()
    assert isinstance(dead, Done)
    assert dead.problem
    assert dead.problem.cause == "ovs-vswitchd is gone"
    rig.ovsdb.dead = None
    back = await rig.attempt()
    assert isinstance(back, Done)
    assert back.problem is None
