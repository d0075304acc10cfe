"""Is the reason named that only Open vSwitch knows? (R12)"""

from __future__ import annotations

import asyncio

import pytest

from fakes import FakeOvsdb
from nodenet.core.errors import NodenetError, Unavailable
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.open_vswitch import OvsBridge, OvsInterface, OvsPort
from nodenet.stages.br_ex.ovs_errors import ovs_errors

BROKEN = OvsInterface("eth0", error="could not open network device eth0 (No such device)")
OTHER = OvsInterface("dead0", error="of no interest")
HELD = (OvsBridge("br-ex", ports=(OvsPort("eth0", (BROKEN,)), OvsPort("dead0", (OTHER,)))),)


FAILURE = NmstateFailure(FailureKind.VERIFICATION, "br-ex has no address", "do this")


async def fail(ovsdb: FakeOvsdb, failure: NodenetError = FAILURE) -> None:
    async with ovs_errors(ovsdb, {"br-ex", "eth0"}):
        await asyncio.sleep(0)
        ovsdb.held = ()  # the rollback
        raise failure


async def test_what_open_vswitch_says_is_part_of_the_cause() -> None:
    """Also when a rollback has removed the row."""
    with pytest.raises(NmstateFailure) as caught:
        await fail(FakeOvsdb(held=HELD))
    said = "br-ex has no address (Open vSwitch: eth0: could not open network device eth0 (No such device))"
    assert (caught.value.cause, caught.value.remedy) == (said, "do this")
    assert caught.value.kind is FailureKind.VERIFICATION


async def test_without_an_error_the_cause_is_libnmstate_s() -> None:
    with pytest.raises(NmstateFailure) as caught:
        await fail(FakeOvsdb(up=False))
    assert caught.value.cause == "br-ex has no address"


async def test_another_failure_is_not_touched() -> None:
    with pytest.raises(Unavailable, match="gone"):
        await fail(FakeOvsdb(held=HELD), Unavailable("gone"))
