"""Hints on real nodes: an address that cannot be used yet, a link that is below br-ex."""

from __future__ import annotations

from factories import NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lan
from story import settle, stage, status

HINTS = "/etc/default/nodeip-configuration"
SETTINGS = "/etc/nodenet/nodenet.toml"
DROP_INS = "/etc/nodenet/nodenet.toml.d/10-lab.toml"
BRIDGED = 'network_type = "OVNKubernetes"\n[bridge]\ndatapath = "netdev"\n'
WITHOUT_CARRIER = """[Unit]
DefaultDependencies=no
After=local-fs.target
Before=nodenetd.service
[Service]
Type=oneshot
ExecStart=ip link add lab0 type veth peer name lab1
ExecStart=ip address add 10.88.0.50/24 dev lab0
ExecStart=ip link set lab0 up
[Install]
WantedBy=sysinit.target
"""
"""A link with an address and without carrier, as a NIC that is configured before its switch port is up."""


def test_the_address_of_a_hint_waits_for_its_carrier(product_node: NodeFactory, lan: Lan) -> None:
    """Another address of its subnet does not take its place; what is waited for can be seen (R19)."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    files = {HINTS: "NODEIP_HINT=10.88.0.50\n", "/etc/systemd/system/lab-early.service": WITHOUT_CARRIER}
    files["/etc/NetworkManager/conf.d/lab.conf"] = "[keyfile]\nunmanaged-devices=interface-name:lab*\n"
    node = product_node(flavour=Flavour.OPENSHIFT, files=files)
    node.enable("lab-early.service")
    node.boot()
    reason = f"hint 10.88.0.50 ({HINTS}, line 1) is on lab0, but lab0 has no carrier"
    node.wait_until("nodenetctl status --json | grep -q 'lab0 has no carrier'", timeout=40)
    node.wait_until("ip -o -4 address show dev eth0 | grep -q 10.88.0", timeout=20)
    assert reason in stage(status(node), "nodeip")["detail"]
    assert node.addresses("eth0")
    assert not node.started("kubelet")
    node.run("ip link set lab1 up")
    document = settle(node)
    assert (document["health"], document["node_ips"], document["link"]) == ("ok", ["10.88.0.50"], "lab0")
    assert document["notes"] == []
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == "10.88.0.50"


def test_a_hint_for_the_uplink_holds_once_it_is_below_br_ex(product_node: NodeFactory, lan: Lan) -> None:
    """Required, in the first boot and in the next one: the address is on br-ex then (R20)."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    hint = 'hint = "eth0"\nhint_required = true\n'
    node = product_node(flavour=Flavour.OPENSHIFT, files={SETTINGS: hint, DROP_INS: BRIDGED})
    node.boot()
    first = settle(node, timeout=90)
    assert (first["ready"], first["bridge"], first["notes"]) == (True, "br-ex", [])
    node.reboot()
    document = settle(node, timeout=90)
    assert (document["health"], document["link"], document["notes"]) == ("ok", "br-ex", [])
    assert document["node_ips"] == first["node_ips"]
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == first["node_ips"][0]
    node.run("systemctl reload nodenetd", timeout=60)
    assert settle(node)["notes"] == []
