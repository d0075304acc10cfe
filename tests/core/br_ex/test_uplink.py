"""Which link goes below br-ex?"""

from __future__ import annotations

from dataclasses import replace

from br_ex_cases import CASES, facts_of
from nodenet.core.br_ex.uplink import UplinkRule, main_uplink
from nodenet.core.network_manager.profiles import Device


def test_the_bridge_s_copy_of_the_mac_is_not_the_remembered_uplink() -> None:
    """br-ex has the MAC of the NIC that it was made over, and a name that sorts before most (R26)."""
    facts = facts_of(CASES / "choice-remembered-renamed")
    mac = facts.remembered_mac
    bridge = (Device("br-ex", "ovs-bridge"), Device("br-ex", "ovs-interface", mac=mac))
    found = main_uplink(replace(facts, devices=(*bridge, *facts.devices)))
    assert (found.link, found.rule) == ("eth1", UplinkRule.REMEMBERED)
