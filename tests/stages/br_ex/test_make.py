"""Is a bridge made without the node losing its addresses?"""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address
from typing import Any

import pytest

from br_ex_rig import FLAG, HINT, LEASE, NODE_IP, Rig
from fakes import FakeNmstate
from nodenet.core.apply.intent import Phase
from nodenet.core.boot.outcome import Done, Failed
from nodenet.core.br_ex import record as bridge_record
from nodenet.core.br_ex.lease import StaticLease
from nodenet.core.br_ex.record import BridgeRecord, ProfileSettings
from nodenet.core.change.record import Change, What, parse
from nodenet.core.errors import PublishFailed
from nodenet.core.ip import IPAddress
from nodenet.core.kernel.snapshot import Link
from nodenet.core.messages import Message
from nodenet.core.network_manager.objects import KeptProfile
from nodenet.core.network_manager.profiles import Device, Profile
from nodenet.stages.apply.records import BRIDGE, BRIDGE_INTENT, CHANGE


async def test_the_lease_is_carried_and_given_back_before_the_commit() -> None:
    """First DHCP and the address, then DHCP alone; committed as one; the world is told where the node IP is."""
    rig = Rig()
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert outcome.message is Message.BRIDGE_MADE
    assert outcome.problem is None
    assert (outcome.facts.bridge, outcome.facts.uplink) == ("br-ex", "eth0")
    assert outcome.facts.selection
    assert outcome.facts.selection.link == "br-ex"
    assert rig.interface(0)["ipv4"]["address"] == [{"ip": "10.88.0.113", "prefix-length": 24}]
    assert rig.given_back == [{"ipv4": {"address-data": [], "route-data": []}}]
    assert len(rig.nmstate.committed) == 1
    assert (rig.record.uplinks, rig.record.finish, rig.phase) == ({"br-ex": "eth0"}, None, Phase.GOOD)
    assert (rig.files.content[FLAG], rig.files.content[HINT]) == (b"", b"eth0\n")


async def test_what_there_was_is_on_the_disk_before_the_network_is_touched() -> None:
    """The uplink's profile, all profiles, and the intent."""
    rig = Rig()
    seen: list[tuple[list[str], Any]] = []
    opened: list[Change] = []

    def look() -> None:
        seen.append((list(rig.record.originals), rig.record.finish))
        opened.append(parse(rig.files.content[str(CHANGE)]))
        rig.place("br-ex")

    rig.nmstate.during_apply = look
    await rig.attempt()
    originals, finish = seen[0]
    assert originals == ["eth0"]
    assert finish
    assert opened[0].what is What.BRIDGE
    assert {each.uuid for each in opened[0].before.profiles} == {each.uuid for each in rig.known}
    assert str(CHANGE) not in rig.files.content


async def test_the_keyfiles_are_on_the_disk_before_the_record_says_good() -> None:
    """A power cut that loses one of several leaves an uplink below a bridge that never comes up."""
    rig = Rig()
    refused = PublishFailed("/etc/NetworkManager/system-connections cannot be synced: Input/output error")
    rig.files.bad["/etc/NetworkManager/system-connections"] = refused
    await rig.attempt()
    assert len(rig.nmstate.committed) == 1
    assert (str(BRIDGE_INTENT) in rig.files.content, str(CHANGE) in rig.files.content) == (False, True)
    rig = Rig()
    await rig.attempt()
    assert rig.files.writes.index("sync /etc/NetworkManager/system-connections") < rig.files.writes.index(
        str(BRIDGE_INTENT)
    )
    assert rig.phase is Phase.GOOD


@pytest.mark.parametrize(("server", "asked"), [(NODE_IP, 0), (None, 1), (ip_address("10.88.0.222"), 0)])
async def test_dhcp_that_has_no_answer_on_the_new_bridge_asks_again(server: IPAddress | None, asked: int) -> None:
    """Once: its first request may have been lost, and it would wait for seconds before the next."""
    rig = Rig(server=server)
    await rig.attempt()
    assert [order for order in rig.profiles.done if order[0] == "ask_again"] == [("ask_again", "br-ex")] * asked


async def test_putting_a_bridge_right_keeps_what_there_was_before_it() -> None:
    """The uplink's profile is libnmstate's by then: the one to give back is that of the first making."""
    rig = Rig("stale-port-without-link")
    kept = KeptProfile(rig.uplink_profile.uuid, "as it was", "", in_memory=True, settings={})
    record = BridgeRecord({"br-ex": "eth0"}, originals={"eth0": kept}, present=("u1",))
    rig.files.content[str(BRIDGE)] = bridge_record.render(record)
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert outcome.message is Message.BRIDGE_MADE
    assert (rig.record.originals["eth0"].name, rig.record.present) == ("as it was", ("u1",))


async def test_an_uplink_without_an_active_profile_keeps_the_one_from_before_the_bridge() -> None:
    """A power cut in the first making left it so; without its profile there was no way back from the second."""
    rig = Rig("stale-port-without-link")
    kept = KeptProfile(rig.uplink_profile.uuid, "as it was", "", in_memory=True, settings={})
    record = BridgeRecord({"br-ex": "eth0"}, originals={"eth0": kept}, present=("u1",))
    rig.files.content[str(BRIDGE)] = bridge_record.render(record)
    rig.devices = tuple(replace(each, profile=None) if each.link == "eth0" else each for each in rig.devices)
    rig.place("br-ex")
    assert isinstance(await rig.attempt(), Done)
    assert (rig.record.originals["eth0"].name, rig.record.present) == ("as it was", ("u1",))


@pytest.mark.parametrize("server", [None, NODE_IP])
async def test_a_bridge_that_is_repaired_keeps_its_static_lease_no_longer_than_before(
    server: IPAddress | None,
) -> None:
    """The copy is static in the profile by then; without its record it would outlast the lease (R3)."""
    rig = Rig("stale-port-without-link", server=server)
    rig.devices = tuple(device for device in rig.devices if device.link != "br-ex")
    finish: ProfileSettings = {"br-ex": {"ipv4": {"address-data": []}}}
    leases = {"br-ex": StaticLease(str(NODE_IP), LEASE.noted, 3600.0)}
    record = BridgeRecord({"br-ex": "eth0"}, present=("u1",), finish=finish, leases=leases)
    rig.files.content[str(BRIDGE)] = bridge_record.render(record)
    assert isinstance(await rig.attempt(), Done)
    assert (rig.record.finish, rig.record.leases) == ((None, {}) if server else (finish, leases))


@pytest.mark.parametrize("case", ["standing-old-script", "standing-node-file"])
async def test_an_adopted_bridge_has_no_profile_to_restore(case: str) -> None:
    """The uplink's profile is a port of that bridge: restored after a removal, it would never come up again."""
    rig = Rig(case, nmstate=FakeNmstate())
    rig.place("br-ex")
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert outcome.detail.endswith(": as it was, made by another program")
    assert (rig.record.adopted, rig.record.originals) == (True, {})


async def test_a_link_without_a_carrier_takes_no_place() -> None:
    """The administrator who orders that gets that answer, and no later look does it: pods run on the bridge."""
    rig = Rig("takes-over", nmstate=FakeNmstate({"interfaces": [{"name": "br-ex"}]}))
    uuid = next(each.uuid for each in rig.known if (each.link, each.kind) == ("eth0", "802-3-ethernet"))
    rig.files.content[str(BRIDGE)] = bridge_record.render(BridgeRecord({"br-ex": "eth0"}, present=(uuid,)))
    rig.files.content["/etc/ovnk/default_bridge"] = b"eth1\n"
    rig.place("br-ex")
    rig.kernel.now = replace(rig.kernel.now, links=(*rig.kernel.now.links, Link(9, "eth1", carrier=False)))
    outcome = await rig.attempt()
    assert isinstance(outcome, Failed)
    assert outcome.problem.cause == "eth1 has no carrier: it cannot take the place of eth0 below br-ex"
    assert outcome.again is None
    assert rig.nmstate.applied == []


async def test_a_link_takes_the_place_of_another_one_and_the_record_follows() -> None:
    """Not before the change is over; and also where nodenetd ended between the change and its record."""
    rig = Rig("takes-over", nmstate=FakeNmstate({"interfaces": [{"name": "br-ex"}]}))
    uuid = next(each.uuid for each in rig.known if (each.link, each.kind) == ("eth0", "802-3-ethernet"))
    kept = KeptProfile(uuid, "as it was", "", in_memory=True, settings={"ipv4": ["dict", {}]})
    record = BridgeRecord({"br-ex": "eth0"}, originals={"eth0": kept}, present=(uuid,))
    rig.files.content[str(BRIDGE)] = bridge_record.render(record)
    rig.files.content["/etc/ovnk/default_bridge"] = b"eth1\n"
    rig.devices = (Device("eth1", "ovs-port", profile=Profile("u-port", "eth1-port", "ovs-port")), *rig.devices)
    rig.place("br-ex")
    meanwhile: list[tuple[BridgeRecord, Change]] = []

    def look() -> None:
        meanwhile.append((rig.record, parse(rig.files.content[str(CHANGE)])))

    rig.nmstate.during_apply = look
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert outcome.facts.uplink == "eth1"
    before, change = meanwhile[0]
    assert (before.uplinks, before.originals) == ({"br-ex": "eth0"}, {"eth0": kept})
    assert set(change.before.links) == {"br-ex", "eth0", "eth1"}
    assert (rig.record.uplinks, list(rig.record.originals)) == ({"br-ex": "eth1"}, ["eth1"])
    assert rig.record.originals["eth1"].uuid != "u-port"
    assert rig.record.originals["eth1"].settings["ipv4"] == ["dict", {}]
    assert ("10.88.0.1", "br-ex") in {(str(address), link) for address, link in rig.neighbours.asked}
    later = Rig("standing-ours-taken-over", files=rig.files, nmstate=FakeNmstate())
    later.files.content[str(BRIDGE)] = bridge_record.render(record)
    later.files.content.pop("/etc/ovnk/default_bridge")
    later.place("br-ex")
    assert isinstance(await later.attempt(), Done)
    assert (later.record.uplinks, list(later.record.originals), later.nmstate.applied) == (
        {"br-ex": "eth1"},
        ["eth1"],
        [],
    )
