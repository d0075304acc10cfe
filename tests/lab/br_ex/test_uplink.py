"""br-ex waits for its uplink alone, and keeps it: two NICs on two networks."""

from __future__ import annotations

import time

from br_ex.test_make import DHCP_ONLY, SETTINGS
from br_ex.test_more import BRIDGED4
from factories import NodeFactory
from harness import Flavour, Lab, Lan
from story import causes, settle


def test_a_nic_without_a_dhcp_server_delays_nothing(product_node: NodeFactory, lab: Lab, lan: Lan) -> None:
    """A cabled storage NIC holds up the end of NetworkManager's start for minutes; br-ex is there before kubelet."""
    lan.start_dhcp(DHCP_ONLY)
    node = product_node(files={SETTINGS: BRIDGED4}, flavour=Flavour.OPENSHIFT, nics=[lan, lab.lan("lan1")])
    began = time.monotonic()
    node.boot()
    document = settle(node, timeout=120)
    assert time.monotonic() - began < 40
    assert (document["health"], document["link"], document["uplink"]) == ("ok", "br-ex", "eth0"), document["problems"]
    assert {link["ifname"] for link in node.record("kubelet").addresses} >= {"br-ex"}
    assert causes(node) == []


def test_a_late_lease_does_not_move_br_ex(product_node: NodeFactory, lab: Lab, lan: Lan) -> None:
    """DHCP of the uplink is silent in the second boot, and the other NIC has a lease: br-ex stays over its own NIC."""
    other = lab.lan("lan1")
    for each in (lan, other):
        each.start_dhcp(DHCP_ONLY)
    node = product_node(files={SETTINGS: BRIDGED4}, flavour=Flavour.OPENSHIFT, nics=[lan, other])
    node.boot()
    document = settle(node, timeout=120)
    assert (document["health"], document["uplink"]) == ("ok", "eth0")
    lan.stop_dhcp()
    node.reboot()
    time.sleep(40)
    assert "eth0" in node.run("ovs-vsctl list-ports br-ex").stdout.split()
    assert "eth1" not in node.run("ovs-vsctl list-ports br-ex").stdout.split()
    lan.start_dhcp(DHCP_ONLY)
    node.wait_until("ip -4 -o address show dev br-ex | grep -q 10.88", timeout=90)
    assert "eth0" in node.run("ovs-vsctl list-ports br-ex").stdout.split()
