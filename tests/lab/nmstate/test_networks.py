"""Networks of data centres that a node file may ask for: none of them is refused."""

from __future__ import annotations

from typing import Any

import pytest

from factories import NO_BRIDGE, NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lan
from story import causes, node_file, nothing_left, settle, stage

ISOLATED = """interfaces:
- name: eth0
  type: ethernet
  state: up
  ipv4: {enabled: true, dhcp: false, address: [{ip: 10.88.0.50, prefix-length: 24}]}
  ipv6: {enabled: false}
routes:
  config:
  - {destination: 0.0.0.0/0, state: absent, next-hop-interface: eth0}
  - {destination: 10.0.0.0/8, next-hop-address: 10.88.0.1, next-hop-interface: eth0}
"""
BRIDGE = """interfaces:
- name: br0
  type: linux-bridge
  state: up
  bridge: {options: {stp: {enabled: false}}, port: [{name: eth0}]}
  ipv4: {enabled: true, dhcp: true}
  ipv6: %s
- {name: eth0, type: ethernet, state: up, ipv4: {enabled: false}, ipv6: {enabled: false}}
"""
LINK_LOCAL = "{enabled: true}"
SERVICE = "{enabled: true, dhcp: false, autoconf: false, address: [{ip: 'fd99::5', prefix-length: 64}]}"
HINT = {"/etc/nodenet/nodenet.toml.d/20-hint.toml": 'hint = "10.88.0.0/24"\n'}


def is_kept(document: dict[str, Any]) -> bool:
    """Return whether the node file was applied, or is in force."""
    return stage(document, "nmstate")["status"] in ("done", "skipped")


def test_a_node_without_a_gateway_on_purpose_though_dhcp_offers_one(product_node: NodeFactory, lan: Lan) -> None:
    """Each boot refused its file, and kubelet started with the address that DHCP gave."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.SLAAC))
    node = product_node(files={node_file("worker-0.yml"): ISOLATED, **HINT, **NO_BRIDGE}, flavour=Flavour.OPENSHIFT)
    for _ in range(2):
        node.boot()
        document = settle(node)
        assert is_kept(document), document
        assert (document["node_ips"], node.record("kubelet").environment["KUBELET_NODE_IP"]) == (
            ["10.88.0.50"],
            "10.88.0.50",
        )
        assert "default" not in node.run("ip route").stdout
        assert causes(node) == []
        node.off()


@pytest.mark.parametrize("ipv6", [LINK_LOCAL, SERVICE], ids=["link-local", "service-network"])
@pytest.mark.parametrize("advertised", [False, True], ids=["before", "after"])
def test_ipv6_without_a_gateway_on_a_lan_with_router_advertisements(
    product_node: NodeFactory, lan: Lan, ipv6: str, *, advertised: bool
) -> None:
    """Whether the router was heard before the file is applied makes no difference."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.SLAAC))
    file = {node_file("worker-0.yml"): BRIDGE % ipv6}
    node = product_node(files={**NO_BRIDGE, **({} if advertised else file)}, flavour=Flavour.OPENSHIFT)
    node.boot()
    document = settle(node)
    if advertised:
        node.wait_until("ip -6 route | grep -q ^default", timeout=20)
        node.write(node_file("worker-0.yml"), BRIDGE % ipv6)
        node.run("systemctl reload nodenetd", timeout=90, check=False)
        document = settle(node)
    assert is_kept(document), document
    assert [cause for cause in causes(node) if "worker-0.yml" in cause] == []  # the IPv6 node IP goes on purpose
    assert node.addresses("br0")
    nothing_left(node)
