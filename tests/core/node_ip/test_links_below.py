"""Which names mean a bridge?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from node_ip_cases import CASES, read_case
from nodenet.core.kernel.snapshot import Link
from nodenet.core.node_ip.ranking import names_below
from nodenet.core.node_ip.select import Selection

UPLINK = Link(2, "eth0", ("enp1s0",), mac="52:54:00:00:00:02", master="ovs-system")
SYSTEM = Link(3, "ovs-system", kind="openvswitch", mac="52:54:00:00:00:03")
BRIDGE = Link(4, "br-ex", kind="openvswitch", mac=UPLINK.mac)
INTEGRATION = Link(5, "br-int", kind="openvswitch", mac="52:54:00:00:00:05")


def test_a_port_of_the_kernel_datapath_is_below_the_bridge_with_its_mac() -> None:
    """The alternative names of the port count, too."""
    other = Link(6, "br-two", kind="openvswitch", mac="52:54:00:00:00:06")
    assert names_below((UPLINK, SYSTEM, BRIDGE, INTEGRATION, other)) == {"br-ex": {"eth0", "enp1s0"}}


def test_a_bridge_with_a_mac_of_its_own_is_over_the_port() -> None:
    """As over a bond with fail_over_mac; never the integration bridge."""
    own = replace(BRIDGE, mac="52:54:00:00:00:99")
    assert names_below((UPLINK, SYSTEM, own, INTEGRATION)) == {"br-ex": {"eth0", "enp1s0"}}


def test_the_userspace_datapath_is_known_by_the_mac_alone() -> None:
    tap = replace(BRIDGE, kind="tun")
    assert names_below((replace(UPLINK, master=None), tap)) == {"br-ex": {"eth0", "enp1s0"}}


def test_ports_of_ports_count() -> None:
    bond = Link(7, "bond0", kind="bond", mac=UPLINK.mac, master="ovs-system")
    port = replace(UPLINK, master="bond0")
    assert names_below((port, bond, SYSTEM, BRIDGE))["br-ex"] == {"bond0", "eth0", "enp1s0"}


def test_a_vrf_is_no_bridge() -> None:
    """A link in it keeps its addresses."""
    vrf = Link(8, "blue", kind="vrf")
    assert names_below((replace(UPLINK, master="blue"), vrf)) == {}


def test_a_loop_of_masters_ends() -> None:
    """The kernel has none, a snapshot may have."""
    one, two = Link(2, "a", kind="bridge", master="b"), Link(3, "b", kind="bridge", master="a")
    assert names_below((one, two)) == {"a": {"b"}, "b": {"a"}}


@pytest.mark.parametrize("case", ["br-ex", "br-ex-userspace", "bond-below-br-ex"])
def test_a_hint_for_a_link_means_the_bridge_over_it(case: str) -> None:
    """Hint = "eth0" with hint_required, in a later boot, where br-ex has the address; no note either (R20)."""
    chosen: Selection = read_case(CASES / f"hint-link-below-{case}").selection()
    assert (chosen.link, chosen.notes) == ("br-ex", ())
    assert chosen.selected[0].rule == "hint"
