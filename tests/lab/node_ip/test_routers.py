"""A router alone moves no node IP: a foreign prefix is announced on the LAN of a booted node of IPv6 alone."""

from __future__ import annotations

import pytest

from factories import NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lan
from story import nothing_left, settle, status

FOREIGN = "2001:db8:bad:1::"
"""Public: it would win over the LAN's own prefix, which is private."""


def announce(lan: Lan, *prefixes: str) -> None:
    """Let routers of the LAN announce *prefixes*, and nothing else."""
    ranges = [f"--dhcp-range={prefix},ra-only,64,3600s" for prefix in prefixes]
    lan.start_dhcp(Dhcp(ipv4=False, ipv6=Ipv6.NONE, extra=("--enable-ra", *ranges)))


@pytest.fixture
def lan6(lan: Lan) -> Lan:
    """Return the LAN with the foreign prefix on its router, not yet announced."""
    lan.run("ip", "-6", "address", "add", f"{FOREIGN}1/64", "dev", "br0", "nodad")
    return lan


def test_a_foreign_prefix_takes_no_node_ip_of_the_last_boot(product_node: NodeFactory, lan6: Lan) -> None:
    """The right router is silent while the node boots: kubelet waits for it, and the status says for what."""
    own = str(lan6.subnet6.network_address)
    announce(lan6, own)
    node = product_node(flavour=Flavour.OPENSHIFT)
    node.boot()
    (node_ip,) = settle(node, timeout=90)["node_ips"]
    node.off()
    announce(lan6, FOREIGN)
    node.boot()
    node.wait_until("ip -6 address show dev eth0 scope global -tentative | grep -q 2001:db8:bad", timeout=60)
    node.wait_until(f"nodenetctl status | grep -q '{node_ip}, the last node IP, to be back'", timeout=60)
    assert not node.started("kubelet")
    assert status(node)["health"] == "waiting"
    announce(lan6, FOREIGN, own)
    document = settle(node, timeout=90)
    assert (document["health"], document["node_ips"]) == ("ok", [node_ip])
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == node_ip
    nothing_left(node)
    node.reboot()
    assert settle(node, timeout=90)["node_ips"] == [node_ip]
