"""Which link is the uplink of a bridge now?"""

from __future__ import annotations

from br_ex_cases import CASES, facts_of
from nodenet.core.br_ex.facts import BridgeFacts
from nodenet.core.network_manager.profiles import Device


def test_the_port_that_the_bridge_was_made_over_comes_before_others() -> None:
    """Any program may add a port; the mark names ours."""
    assert facts_of(CASES / "standing-ours-with-ports-of-others").uplink_of("br-ex") == "eth0"


def test_a_bridge_that_does_not_exist_has_no_uplink() -> None:
    assert facts_of(CASES / "dhcp4").uplink_of("br-ex") is None


def test_of_devices_with_one_name_the_one_with_addresses_is_found() -> None:
    bridge, interface = Device("br-ex", "ovs-bridge"), Device("br-ex", "ovs-interface")
    assert BridgeFacts(devices=(interface, bridge)).device("br-ex") is interface
