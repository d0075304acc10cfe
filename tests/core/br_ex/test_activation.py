"""Is a link that NetworkManager has not activated yet told from one that another program configures?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from nodenet.core.br_ex.condition import awaited_profile
from nodenet.core.br_ex.facts import BridgeFacts
from nodenet.core.network_manager.profiles import Device, Profile

OWN = Profile("u-0", "uplink", "802-3-ethernet", "eth0")
FREE = Device("eth0", "ethernet")


def test_a_profile_that_is_still_to_be_activated() -> None:
    assert awaited_profile(BridgeFacts(devices=(FREE,), profiles=(OWN,)), "eth0") == "uplink"


@pytest.mark.parametrize(
    ("device", "profile"),
    [
        (replace(FREE, profile=OWN), OWN),
        (FREE, replace(OWN, link="eth1")),
        (FREE, replace(OWN, settings={"connection": {"autoconnect": False}})),
        (FREE, replace(OWN, settings={"connection": {"port-type": "ovs-port"}})),
        (FREE, replace(OWN, kind="ovs-port")),
        (Device("eth1", "ethernet"), OWN),
    ],
    ids=["active", "of another link", "not by itself", "for a port of a bridge", "a port's", "no device"],
)
def test_nothing_is_awaited(device: Device, profile: Profile) -> None:
    """After an interrupted apply the profile is for a port: making the bridge repairs that."""
    assert awaited_profile(BridgeFacts(devices=(device,), profiles=(profile,)), "eth0") is None
