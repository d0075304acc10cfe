"""A node file that changes much and cuts nothing off: no probe refuses it on a booted node."""

from __future__ import annotations

from pathlib import Path

import pytest

from factories import NO_BRIDGE, NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lan, Node
from nmstate.test_probes import DHCP, SETTINGS, TARGETS, reloaded
from story import STATIC, settle, stage, status

BOTH = "ip route | grep -q '^default via 10.88.0.1' && ip -6 route | grep -q '^default'"
ENDED = ("auto-gateway: false", "auto-routes: false", "auto-route-table-id: 100")
AGAIN = "auto-gateway: true, auto-routes: true, auto-route-table-id: 0"
NO_GATEWAY6 = STATIC.replace(
    "ipv6:\n    enabled: false",
    "ipv6: {enabled: true, dhcp: false, autoconf: false, address: [{ip: 'fd77::5', prefix-length: 64}]}",
)
ABSENT6 = "- {destination: '::/0', state: absent, next-hop-interface: eth0}\n"
SPANNING = """interfaces:
- name: br0
  type: linux-bridge
  state: up
  bridge: {port: [{name: eth0}]}
  ipv4: {enabled: true, dhcp: false, address: [{ip: 10.88.0.50, prefix-length: 24}]}
  ipv6: {enabled: false}
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 10.88.0.1, next-hop-interface: br0}]}
"""


def dual_stack(product_node: NodeFactory, lan: Lan, settings: str = TARGETS) -> Node:
    """Return a node whose network came by DHCP and router advertisement."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.SLAAC))
    node = product_node(files={SETTINGS: settings, **NO_BRIDGE}, flavour=Flavour.OPENSHIFT)
    node.boot()
    settle(node)
    node.wait_until(BOTH, timeout=20)
    return node


def test_a_file_that_ends_the_ipv6_way_out_on_purpose(product_node: NodeFactory, lan: Lan) -> None:
    """NetworkManager takes addresses of the router, and no default route; and a default route is removed."""
    node = dual_stack(product_node, lan)
    for key in (*ENDED, AGAIN):
        section = f"ipv6: {{enabled: true, dhcp: true, autoconf: true, {key}}}"
        kept = stage(reloaded(node, (DHCP % 1500).replace("ipv6: {enabled: false}", section)), "nmstate")
        assert kept["status"] == "done", (key, kept)
        assert bool(node.run("ip -6 route show default table main").stdout) is (key == AGAIN), key
    kept = stage(
        reloaded(node, NO_GATEWAY6.replace("routes:\n  config:\n", f"routes:\n  config:\n  {ABSENT6}")), "nmstate"
    )
    assert kept["status"] == "done", kept["detail"]


@pytest.mark.parametrize("named", [False, True], ids=["auto", "both families"])
def test_a_file_that_has_no_ipv6_gateway_and_does_not_say_so(
    product_node: NodeFactory, lan: Lan, *, named: bool
) -> None:
    """Its IPv4 gateway is a way out, and nothing else is demanded unless a setting names IPv6 (rules 9 and 10)."""
    node = dual_stack(product_node, lan, ('families = ["ipv4", "ipv6"]\n' if named else "") + TARGETS)
    judged = stage(reloaded(node, NO_GATEWAY6), "nmstate")
    if not named:
        assert judged["status"] == "done", judged["detail"]
        assert node.run("ip -6 route show default table main").stdout == ""
        return
    assert judged["status"] == "failed", judged
    assert "the node has no IPv6 default route any more" in judged["detail"]
    assert "state: absent, next-hop-interface: NAME}" in str(status(node)["problems"]), "the remedy"
    node.wait_until(BOTH, timeout=30)


@pytest.mark.skipif(not Path("/sys/module/bridge").exists(), reason="this kernel has no bridges")
def test_a_bridge_whose_spanning_tree_learns(product_node: NodeFactory, lan: Lan) -> None:
    """NetworkManager switches it on by default: no packet passes for half a minute."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = product_node(files={SETTINGS: TARGETS, **NO_BRIDGE}, flavour=Flavour.OPENSHIFT)
    node.boot()
    settle(node)
    kept = stage(reloaded(node, SPANNING), "nmstate")
    assert node.run("cat /sys/class/net/br0/bridge/stp_state").stdout.strip() == "1"
    assert kept["status"] == "done", kept
    assert kept["detail"].endswith("these answer: gateway 10.88.0.1, target 10.88.0.1"), kept


def test_a_nic_that_is_identified_by_its_mac_address(product_node: NodeFactory, lan: Lan) -> None:
    """Its carrier is looked at, and that the file ends IPv6 is known."""
    node = dual_stack(product_node, lan)
    mac = node.run("cat /sys/class/net/eth0/address").stdout.strip()
    text = (DHCP % 1400).replace("name: eth0,", f'name: uplink, identifier: mac-address, mac-address: "{mac}",')
    document = reloaded(node, text)
    assert stage(document, "nmstate")["status"] == "done", document
    probes = node.run("cat /run/nodenet/probes.json").stdout
    assert '"what": "carrier",\n   "name": "eth0"' in probes
