"""Is a NIC with another name found, and nothing else taken for it? (R26)"""

from __future__ import annotations

from dataclasses import replace

import pytest

from nodenet.core.br_ex.record import BridgeRecord, renamed_uplinks
from nodenet.core.network_manager.objects import Inventory, KeptProfile
from nodenet.core.network_manager.profiles import Device, Profile

MAC = "52:54:00:00:00:01"
PROFILE = Profile("u-1", "uplink", "802-3-ethernet", "eth0")
KEPT = KeptProfile("u-1", "uplink", "", in_memory=True, settings={})
RECORD = BridgeRecord({"br-ex": "eth0"}, {"eth0": MAC}, originals={"eth0": KEPT})
NIC = Device("ens7", "ethernet", mac=MAC.upper())
BRIDGE = Device("br-ex", "ovs-interface", mac=MAC)
FOUND = Inventory((NIC, BRIDGE), (PROFILE,))
LINKS = frozenset({"lo", "ens7", "br-ex"})


def test_a_nic_is_known_by_its_mac_and_the_bridge_is_not_taken_for_it() -> None:
    assert renamed_uplinks(RECORD, FOUND, LINKS) == {"eth0": "ens7"}


def test_a_profile_that_was_restored_by_half_is_restored_again() -> None:
    """It has the new name, and the record still has the old one."""
    assert renamed_uplinks(RECORD, replace(FOUND, profiles=(replace(PROFILE, link="ens7"),)), LINKS) == {"eth0": "ens7"}


def test_a_nic_whose_profile_networkmanager_has_made_again_for_the_new_name_is_known() -> None:
    """A power cut took the keyfile of the profile, which was not synced: the bridge would stay without an uplink."""
    again = replace(PROFILE, link="ens7", on_disk=False)
    assert renamed_uplinks(RECORD, replace(FOUND, profiles=(again,)), LINKS) == {"eth0": "ens7"}


@pytest.mark.parametrize(
    ("record", "found", "links"),
    [
        (RECORD, FOUND, LINKS | {"eth0"}),
        (RECORD, FOUND, LINKS - {"ens7"}),
        (RECORD, replace(FOUND, devices=(BRIDGE,)), LINKS),
        (RECORD, replace(FOUND, devices=(NIC, replace(NIC, link="ens8"))), LINKS | {"ens8"}),
        (RECORD, replace(FOUND, profiles=(replace(PROFILE, kind="bond"),)), LINKS),
        (RECORD, replace(FOUND, profiles=(replace(PROFILE, link=""),)), LINKS),
        (RECORD, replace(FOUND, profiles=(replace(PROFILE, link="ens8", on_disk=False),)), LINKS),
        (RECORD, replace(FOUND, profiles=()), LINKS),
        (replace(RECORD, originals={}), FOUND, LINKS),
        (replace(RECORD, macs={}), FOUND, LINKS),
    ],
    ids=[
        *("the old name is there", "udev is not done with it", "no such NIC", "two with that MAC", "a bond"),
        *("a profile for any link", "another NIC's", "no profile", "nothing kept"),
        "no MAC known",
    ],
)
def test_what_is_not_certain_is_left_alone(record: BridgeRecord, found: Inventory, links: frozenset[str]) -> None:
    assert renamed_uplinks(record, found, links) == {}
