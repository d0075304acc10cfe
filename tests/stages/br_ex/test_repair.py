"""Which remains of a bridge are removed, and which profiles does an uplink get back?"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pytest

from br_ex_rig import NODE_IP, Rig
from fakes import FakeOvsdb, FakeProfiles
from nodenet.core.br_ex.record import BridgeRecord
from nodenet.core.change.way_back import way_back
from nodenet.core.network_manager.objects import Inventory, KeptProfile
from nodenet.core.network_manager.profiles import Device, Profile
from nodenet.stages.br_ex.repair import BridgeRepairer

UPLINK = Profile("u-eth0", "uplink", "802-3-ethernet", "eth0")
PORT = replace(UPLINK, settings={"connection": {"port-type": "ovs-port", "controller": "u-port"}})
OF_BRIDGE = Profile("u-port", "eth0-port", "ovs-port", "eth0")
KEPT = KeptProfile("u-eth0", "uplink", "", in_memory=True, settings={})
RECORD = BridgeRecord({"br-ex": "eth0"}, node_ips=(str(NODE_IP),), originals={"eth0": KEPT}, present=("u-eth0",))
AUTOMATIC = Profile("u-auto", "Wired connection 1", "802-3-ethernet", "eth0", on_disk=False, generated=True)
OTHER = replace(AUTOMATIC, uuid="u-mine", name="mine", generated=False)


async def given_back(
    *profiles: Profile,
    active: Profile | None = None,
    nic: str = "eth0",
    record: BridgeRecord = RECORD,
    old_names: Collection[str] = (),
) -> list[tuple[Any, ...]]:
    """Return what is done to the profiles to restore the network of *record*."""
    fake = FakeProfiles()
    fake.found = Inventory((Device(nic, "ethernet", profile=active),), profiles)
    network = await BridgeRepairer(Rig().ovsdb, fake).network_before(record, old_names)
    present = tuple([await fake.keep(each.uuid) for each in profiles if not each.generated])
    way = way_back(network, fake.found, present, rolled_back=False)
    return [
        *(("delete", uuid) for uuid in way.delete),
        *(("give_back",) for _ in way.give_back),
        *(("activate", *each) for each in way.activate),
    ]


async def test_repair_removes_dead_rows_of_ours_only() -> None:
    """Findings about other programs' ports change nothing."""
    rig = Rig("stale-port-without-link", ovsdb=FakeOvsdb())
    await rig.attempt()
    assert rig.ovsdb.removed == ["br-ex/eth7"]


async def test_a_port_of_the_bridge_gets_its_own_profile_back() -> None:
    """The bridge's profiles go first: NetworkManager would make the link a port again."""
    assert await given_back(PORT, OF_BRIDGE) == [("delete", "u-port"), ("give_back",), ("activate", "u-eth0", "eth0")]


async def test_a_profile_that_networkmanager_made_by_itself_replaces_none() -> None:
    """The power cut tore the keyfile of the uplink, so NetworkManager asks for a lease: the static address is lost."""
    on_disk = replace(RECORD, originals={"eth0": replace(KEPT, in_memory=False)})
    orders = await given_back(AUTOMATIC, OF_BRIDGE, record=on_disk)
    assert orders == [("delete", "u-port"), ("give_back",), ("activate", "u-eth0", "eth0")]


async def test_a_profile_that_an_administrator_made_in_memory_stays() -> None:
    """`nmcli connection add save no` is no automatic profile (R1)."""
    assert await given_back(OTHER, PORT, OF_BRIDGE) == [("delete", "u-port")]


@pytest.mark.parametrize("link", ["eth0", ""])
@pytest.mark.parametrize("active", [True, False])
async def test_a_profile_that_is_no_port_is_not_replaced(link: str, *, active: bool) -> None:
    """An administrator has changed it since, in its place: it is only activated where it is not (R1)."""
    changed = replace(UPLINK, link=link, settings={"ipv4": {"method": "manual"}})
    orders = await given_back(changed, OF_BRIDGE, active=changed if active else None)
    assert orders == [("delete", "u-port"), *([] if active else [("activate", "u-eth0", "eth0")])]


async def test_an_administrator_s_profile_for_the_old_name_of_a_nic_stays() -> None:
    """It is for another NIC, or for the day on which the name is back (R1, R26)."""
    orders = await given_back(
        PORT, OF_BRIDGE, OTHER, nic="ens7", record=RECORD.renamed("eth0", "ens7"), old_names=["eth0"]
    )
    assert [order[1] for order in orders if order[0] == "delete"] == ["u-port"]
    assert orders[-1] == ("activate", "u-eth0", "ens7")


async def test_a_nic_that_is_gone_is_not_waited_for() -> None:
    """Its profile is restored for the day on which it is back; the node IP may be on another link meanwhile."""
    assert await given_back(PORT, OF_BRIDGE, nic="eth9") == [("delete", "u-port"), ("give_back",)]


@pytest.mark.parametrize(
    ("state", "connected"),
    [
        ("disconnected", True),
        ("disconnected (its profile was removed)", True),
        ("activated", False),
        ("getting its IP configuration", False),
    ],
)
async def test_a_link_that_networkmanager_leaves_disconnected_is_connected(state: str, *, connected: bool) -> None:
    """Whatever the reason is."""
    fake = FakeProfiles(Inventory(states={"eth0": state}))
    rig = Rig()
    await BridgeRepairer(rig.ovsdb, fake).connect("eth0")
    assert fake.done == ([("connect", "eth0")] if connected else [])
