"""Are leases static only as long as they must be, each for its own bridge?"""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Interface

import pytest

from br_ex_rig import Rig
from fakes import BOOT_ID
from nodenet.core.br_ex.lease import Moment, StaticLease
from nodenet.core.br_ex.record import BridgeRecord
from nodenet.core.messages import Message
from nodenet.core.network_manager.objects import Inventory
from nodenet.core.network_manager.profiles import Device, Lease4, Profile

NOTED = Moment(BOOT_ID, 100.0, 1_700_000_100.0)
COPY: dict[str, dict[str, list[str]]] = {"ipv4": {"address-data": []}}
RECORD = BridgeRecord(
    {"br-ex": "eth0", "br-ex1": "eth1"},
    finish={"br-ex": COPY, "br-ex1": COPY},
    leases={"br-ex": StaticLease("10.88.0.113", NOTED, 3600.0), "br-ex1": StaticLease("172.16.0.9", NOTED, 3600.0)},
)


def given(rig: Rig, **addresses: str | None) -> None:
    """Let DHCP servers give the bridges these addresses."""
    devices = []
    for bridge, address in addresses.items():
        link = bridge.replace("_", "-")
        profile = Profile(f"u-{link}", f"{link}-if", "ovs-interface", link)
        lease = Lease4(IPv4Interface(f"{address}/24")) if address else None
        devices.append(Device(link, "ovs-interface", profile=profile, lease4=lease))
    rig.profiles.found = Inventory(tuple(devices), ovs=True)


def changed(rig: Rig) -> list[str]:
    """Return the profiles that were set."""
    return [order[1] for order in rig.profiles.done if order[0] == "set"]


async def test_one_server_s_answer_is_not_another_s() -> None:
    """The lease of br-ex1 is not taken for another lease of br-ex (R28)."""
    rig = Rig()
    given(rig, br_ex=None, br_ex1="172.16.0.9")
    record, problem = await rig.maker.settle(RECORD)
    assert problem is None
    assert (list(record.finish or ()), list(record.leases), changed(rig)) == (["br-ex"], ["br-ex"], ["u-br-ex1"])
    assert rig.record == record


async def test_what_one_server_confirms_takes_nothing_from_the_other_bridge() -> None:
    """br-ex1 keeps its static copy while its own server is silent (R28)."""
    rig = Rig()
    given(rig, br_ex="10.88.0.113", br_ex1=None)
    record, problem = await rig.maker.settle(RECORD)
    assert (problem, list(record.leases), changed(rig)) == (None, ["br-ex1"], ["u-br-ex"])


async def test_another_address_is_named_with_its_bridge() -> None:
    rig = Rig()
    given(rig, br_ex="10.88.0.113", br_ex1="172.16.0.77")
    _, problem = await rig.maker.settle(RECORD)
    assert problem
    assert problem.message is Message.LEASE_LOST
    assert problem.cause == "The DHCP server gives br-ex1 172.16.0.77; the node keeps 172.16.0.9 until its lease ends"


async def test_a_lease_of_an_earlier_boot_is_noted_in_this_one_once() -> None:
    """The lease that was noted in this boot stays as it was."""
    rig = Rig()
    before = replace(RECORD.leases["br-ex1"], noted=replace(NOTED, boot_id="the last boot"))
    held = rig.maker.hold_leases(replace(RECORD, leases={**RECORD.leases, "br-ex1": before}))
    assert [each.noted.boot_id for each in held.leases.values()] == [BOOT_ID, BOOT_ID]
    assert (held.leases["br-ex"], rig.record) == (RECORD.leases["br-ex"], held)
    rig.files.content.clear()
    assert rig.maker.hold_leases(held) == held
    assert rig.files.content == {}


async def test_a_step_of_the_wall_clock_removes_no_lease() -> None:
    """2020 becomes 2026 when the time service answers (R4)."""
    rig = Rig()
    given(rig, br_ex=None, br_ex1=None)
    in_2020 = Moment(BOOT_ID, 100.0, 1_577_836_800.0)
    record = replace(RECORD, leases={key: replace(each, noted=in_2020) for key, each in RECORD.leases.items()})
    assert (await rig.maker.settle(record), changed(rig)) == ((record, None), [])


async def test_a_lease_that_has_ended_is_a_problem_and_goes() -> None:
    rig = Rig()
    given(rig, br_ex=None, br_ex1="172.16.0.9")
    rig.clock.now += 3600.0
    record, problem = await rig.maker.settle(RECORD)
    assert problem
    assert problem.cause == "The lease of 10.88.0.113 has ended and no DHCP server renews it"
    assert (record.finish, changed(rig)) == (None, ["u-br-ex", "u-br-ex1"])


async def test_a_profile_that_was_changed_before_a_kill_is_taken_up() -> None:
    """The device still has the static copy, though the profile differs in nothing any more."""
    rig = Rig()
    rig.profiles.differs = False
    given(rig, br_ex="10.88.0.113", br_ex1="172.16.0.9")
    await rig.maker.settle(RECORD)
    assert [order[1] for order in rig.profiles.done if order[0] == "reapply"] == ["br-ex", "br-ex1"]


@pytest.mark.parametrize("ready", [False, True])
async def test_a_profile_that_no_device_uses_is_changed_too(*, ready: bool) -> None:
    """It would bring the static address back in the next boot."""
    rig = Rig()
    profile = Profile("u-br-ex", "br-ex-if", "ovs-interface", "br-ex")
    rig.profiles.found = Inventory(profiles=(profile,) if ready else (), ovs=True)
    rig.clock.now += 3600.0
    await rig.maker.settle(replace(RECORD, finish={"br-ex": COPY}, leases={"br-ex": RECORD.leases["br-ex"]}))
    assert changed(rig) == (["u-br-ex"] if ready else [])
    assert not [order for order in rig.profiles.done if order[0] == "reapply"]
