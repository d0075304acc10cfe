"""The kernel has no datapath of Open vSwitch, and the settings ask for it (R12)."""

from __future__ import annotations

import pytest

from br_ex.test_make import DHCP_ONLY, SETTINGS
from factories import NodeFactory
from harness import Flavour, Lan
from pinger import Pinger
from story import causes, nothing_left, settle, stage

SYSTEM = 'network_type = "OVNKubernetes"\nfamilies = ["ipv4"]\n'
CAUSE = "br-ex could not be made: the kernel has no datapath of Open vSwitch (kernel module openvswitch)"


def test_a_missing_kernel_module_is_named_and_nothing_is_touched(product_node: NodeFactory, lan: Lan) -> None:
    """Kubelet starts at once on the plain link; no ping is lost, and no apply is tried again (R12)."""
    lan.start_dhcp(DHCP_ONLY)
    node = product_node(files={SETTINGS: SYSTEM}, flavour=Flavour.OPENSHIFT)
    node.boot()
    if node.run("test -e /sys/module/openvswitch", check=False).returncode == 0:
        pytest.skip("this machine's kernel has the datapath")
    document = settle(node)
    assert (document["health"], document["ready"], document["bridge"]) == ("degraded", True, None)
    assert stage(document, "configure-ovs")["detail"] == CAUSE
    assert document["last_error"]["remedy"].startswith("Install and load the kernel module openvswitch")
    assert causes(node) == [CAUSE]
    (address,) = document["node_ips"]
    with Pinger(lan, address) as pinger:
        pinger.wait_for_reply()
        node.run("systemctl restart ovs-vswitchd", timeout=60)
        node.run("nodenetctl bridge make", timeout=120, check=False)
    assert pinger.outage < 1.0
    assert node.addresses("eth0") == [address]
    assert not node.path("/var/lib/nodenet/bridge-intent.json").exists()
    nothing_left(node)
