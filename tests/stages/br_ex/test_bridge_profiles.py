"""Which profile is changed for a bridge, and how does its device take that up?"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv6Address
from typing import Any

import pytest

from fakes import FakeManager, FakeProfiles, others_on_links
from nodenet.core.errors import Unavailable
from nodenet.core.network_manager.objects import Inventory
from nodenet.core.network_manager.profiles import Device, Lease6, Profile
from nodenet.core.network_manager.state import ManagerState
from nodenet.stages.br_ex.leases import BridgeProfiles

PROFILE = Profile("u-1", "br-ex-if", "ovs-interface", "br-ex")
ROW = Device("br-ex", "ovs-bridge", profile=Profile("u-0", "br-ex-br", "ovs-bridge", "br-ex"))
LINK = Device("br-ex", "ovs-interface", profile=PROFILE)
LEASED = Device("br-ex", "ovs-interface", profile=PROFILE, lease6=Lease6(IPv6Address("2001:db8::5")))


@pytest.mark.parametrize(
    ("devices", "section", "taken_up"),
    [
        ((ROW, LINK), "ipv4", [("reapply", "br-ex")]),
        ((ROW, LEASED), "ipv4", [("reapply", "br-ex")]),
        ((ROW, LEASED), "ipv6", [("activate", "u-1", "br-ex")]),
        ((), "ipv4", []),
    ],
)
async def test_a_change_is_taken_up(devices: tuple[Device, ...], section: str, taken_up: list[tuple[str, ...]]) -> None:
    """DHCPv6 ends for good when IPv6 settings are reapplied; without a device the profile is changed alone."""
    profiles = FakeProfiles(Inventory(devices, (PROFILE,)))
    await BridgeProfiles(profiles, FakeManager(), others_on_links()).set({"br-ex": {section: {"method": "auto"}}})
    assert profiles.done == [("set", "u-1", {section: {"method": "auto"}}), *taken_up]


class Unchanged(FakeProfiles):
    """Every profile has the values already."""

    async def set(self, uuid: str, changes: Mapping[str, Mapping[str, Any]]) -> bool:
        await super().set(uuid, changes)
        return False


@pytest.mark.parametrize("again", [False, True])
async def test_a_profile_that_was_changed_before_a_kill_is_taken_up_later(*, again: bool) -> None:
    """Only where it is asked for: a static lease that is not in the profile any more must leave the link too (R3)."""
    profiles = Unchanged(Inventory((ROW, LINK), (PROFILE,)))
    await BridgeProfiles(profiles, FakeManager(), others_on_links()).set(
        {"br-ex": {"ipv4": {"method": "auto"}}}, again=again
    )
    assert profiles.done[1:] == ([("reapply", "br-ex")] if again else [])


@pytest.mark.parametrize("state", list(ManagerState))
async def test_a_missing_profile_is_only_passed_over_when_all_are_read(state: ManagerState) -> None:
    own = BridgeProfiles(FakeProfiles(), FakeManager(state), others_on_links())
    if state is ManagerState.READY:
        await own.set({"br-ex": {}})
        return
    with pytest.raises(Unavailable, match="NetworkManager has no profile of br-ex yet"):
        await own.set({"br-ex": {}})
