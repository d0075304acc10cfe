"""A node file that is valid and wrong: the node is not cut off, and the probe is the cause."""

from __future__ import annotations

import time
from typing import Any

from factories import NO_BRIDGE, NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lab, Lan, Node
from nodenet.core.messages import Message
from story import BRIDGE, STATIC, causes, mtu, network, node_file, nothing_left, settle, shorter, stage, story

SETTINGS = "/etc/nodenet/nodenet.toml.d/20-probes.toml"
SECONDS = 3
SERVER = "10.88.0.53"
"""Another address of the LAN's router, and its DNS server."""
TARGETS = f'probe_timeout = {SECONDS}\nprobe_targets = ["10.88.0.1"]\n'
VLAN = BRIDGE.replace("    - name: br-ex\n- name", "    - {name: br-ex, vlan: {mode: access, tag: 7}}\n- name")
"""In Open vSwitch: most kernels of test machines have no VLANs."""
DHCP = """interfaces:
- {name: eth0, type: ethernet, state: up, mtu: %d, ipv4: {enabled: true, dhcp: true}, ipv6: {enabled: false}}
"""
AROUND = """routes: {config: [{destination: 10.88.0.53/32, next-hop-address: 10.88.0.99, next-hop-interface: eth0}]}
"""
WITHOUT = "answered before the apply"
WRONG = {
    "gateway": (
        STATIC.replace("next-hop-address: 10.88.0.1", "next-hop-address: 10.88.0.99"),
        f"the gateway 10.88.0.99 does not answer on eth0, and the gateway 10.88.0.1 {WITHOUT}",
    ),
    "vlan": (VLAN, f"the gateway 10.88.0.1 does not answer on br-ex, and it {WITHOUT}"),
    "no route": (
        STATIC[: STATIC.index("routes:")],
        f"the node has no IPv4 default route any more, and the gateway 10.88.0.1 {WITHOUT}",
    ),
    "duplicate": (STATIC.replace("10.88.0.50", SERVER), f"the address {SERVER} of eth0 is in use by another host"),
    "mtu": (
        DHCP % 9000,
        (
            "the gateway 10.88.0.1 answers small packets, but none as large as the MTU of eth0; 10.88.0.1 of "
            "`probe_targets` answers small packets, but none as large as the MTU, "
            "and it answered large ones before the apply"
        ),
    ),
    "dns": (DHCP % 1500 + AROUND, f"the DNS server {SERVER} does not answer, and it {WITHOUT}"),
}


def reloaded(node: Node, text: str) -> dict[str, Any]:
    """Apply *text*; return the status document after that."""
    node.write(node_file("worker-0.yml"), text)
    node.run("systemctl reload nodenetd", timeout=90, check=False)
    return settle(node)


def silent(node: Node) -> list[str]:
    """Return what the journal says about hosts that do not answer, and roll nothing back."""
    return [str(entry["MESSAGE"]) for entry in story(node) if entry.get("MESSAGE_ID") == Message.PROBE_SILENT.value]


def same(node: Node, before: dict[str, Any]) -> bool:
    """Return whether the network is as it was, once NetworkManager has restored it."""
    node.wait_until("ip route | grep -q '^default via 10.88.0.1' && grep -q 10.88.0.53 /etc/resolv.conf", timeout=30)
    after = network(node)
    return all(after[what] == before[what] for what in ("addresses", "resolv.conf", "keyfiles"))


def test_a_wrong_file_is_rolled_back_with_the_probe_as_the_cause(product_node: NodeFactory, lan: Lan) -> None:
    """A gateway, a VLAN, no route, another host's address, an MTU, a DNS server; then the corrected file at once."""
    lan.run("ip", "address", "add", f"{SERVER}/24", "dev", "br0")
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE, extra=(f"--dhcp-option=option:dns-server,{SERVER}",)))
    node = product_node(files={SETTINGS: TARGETS, **NO_BRIDGE}, flavour=Flavour.OPENSHIFT)
    node.boot()
    settle(node)
    node.run("sysctl -q -w net.ipv4.ping_group_range='0 0'")
    before = network(node)
    for name, (text, cause) in WRONG.items():
        document = reloaded(node, text)
        failed = stage(document, "nmstate")
        assert (document["health"], failed["status"]) == ("degraded", "failed"), name
        assert failed["detail"].startswith(f"worker-0.yml: {cause}"), name
        assert same(node, before), name
        nothing_left(node)
    assert len(causes(node)) == len(WRONG)
    document = reloaded(node, DHCP % 1400)
    assert (document["health"], mtu(node)) == ("ok", 1400)
    answering = stage(document, "nmstate")["detail"].partition("; these answer: ")[2]
    assert answering == f"gateway 10.88.0.1, DNS server {SERVER}, target 10.88.0.1"
    lan.run("ip", "address", "delete", f"{SERVER}/24", "dev", "br0")
    document = reloaded(node, DHCP % 1410)
    assert (document["health"], mtu(node)) == ("ok", 1410)
    detail = stage(document, "nmstate")["detail"]
    assert detail.endswith("these answer: gateway 10.88.0.1, target 10.88.0.1")
    assert float(detail.partition("verified it in ")[2].partition(" s")[0]) < 10, "the lease was not given up"
    said = f"After the apply the DNS server {SERVER} was not asked again: it did not answer before the apply"
    assert said in silent(node)


def test_the_router_of_the_other_family_is_not_enough(product_node: NodeFactory, lan: Lan) -> None:
    """A file that forgets its IPv4 routes is rolled back though IPv6 has its router; one that ends IPv6 is kept."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.SLAAC))
    node = product_node(files={SETTINGS: TARGETS, **NO_BRIDGE}, flavour=Flavour.OPENSHIFT)
    node.boot()
    settle(node)
    both = "ip route | grep -q '^default via 10.88.0.1' && ip -6 route | grep -q '^default'"
    node.wait_until(both, timeout=20)
    automatic = STATIC.replace("ipv6:\n    enabled: false", "ipv6: {enabled: true, dhcp: true, autoconf: true}")
    failed = stage(reloaded(node, automatic[: automatic.index("routes:")]), "nmstate")
    said = f"worker-0.yml: the node has no IPv4 default route any more, and the gateway 10.88.0.1 {WITHOUT}"
    assert (failed["status"], failed["detail"].startswith(said)) == ("failed", True), failed
    node.wait_until(both, timeout=30)
    for text in (automatic, STATIC):
        kept = stage(reloaded(node, text), "nmstate")
        assert kept["status"] == "done", kept


def test_the_network_of_another_nic_is_not_enough(product_node: NodeFactory, lab: Lab, lan: Lan) -> None:
    """eth0 gets no lease with the file, as in a wrong VLAN; eth1 has a default route too."""
    mac = "52:54:00:99:00:01"
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE, extra=(f"--dhcp-host={mac},ignore",)))
    other = lab.lan("other")
    other.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = product_node(files={SETTINGS: TARGETS, **NO_BRIDGE}, flavour=Flavour.OPENSHIFT, nics=[lan, other])
    node.boot()
    settle(node)
    node.wait_until(f"ip route | grep -q '^default via {other.gateway4}'", timeout=20)
    before = network(node)
    failed = stage(reloaded(node, (DHCP % 1500).replace("state: up", f'state: up, mac-address: "{mac}"')), "nmstate")
    said = f"worker-0.yml: eth0 got no IPv4 address, which the node file asks for, and the gateway 10.88.0.1 {WITHOUT}"
    assert (failed["status"], failed["detail"].startswith(said)) == ("failed", True), failed
    node.wait_until("ip route | grep -q '^default via 10.88.0.1'", timeout=30)
    assert network(node)["addresses"] == before["addresses"]


def test_an_ipv6_address_of_another_host(product_node: NodeFactory, lan: Lan) -> None:
    """NetworkManager does not wait for the kernel's check where it changes an active link."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    lan.run("ip", "address", "add", "fd88::77/64", "dev", "br0", "nodad")
    node = product_node(files={SETTINGS: TARGETS, **NO_BRIDGE}, flavour=Flavour.OPENSHIFT)
    node.boot()
    settle(node)
    taken = "ipv6: {enabled: true, dhcp: false, autoconf: false, address: [{ip: 'fd88::77', prefix-length: 64}]}"
    failed = stage(reloaded(node, (DHCP % 1500).replace("ipv6: {enabled: false}", taken)), "nmstate")
    said = "worker-0.yml: the address fd88::77 of eth0 is in use by another host"
    assert (failed["status"], failed["detail"].startswith(said)) == ("failed", True), failed


def test_a_file_is_applied_by_itself_once_the_other_host_has_left(product_node: NodeFactory, lan: Lan) -> None:
    """Its MAC is named, and kubelet waits."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    lan.run("ip", "address", "add", "10.88.0.50/24", "dev", "br0")
    files = {node_file("worker-0.yml"): STATIC, SETTINGS: 'on_failure = "wait"\n'}
    node = product_node(files=files, flavour=Flavour.OPENSHIFT)
    node.boot()
    mac = lan.run("ip", "-brief", "link", "show", "br0").split()[2]
    said = f"the address 10.88.0.50 of eth0 is in use by another host, {mac}"
    node.wait_until(f"nodenetctl status | grep -q '{said}'", timeout=30)
    time.sleep(20)
    assert not node.started("kubelet"), "kubelet does not start with an address that nobody asked for"
    assert len(causes(node)) == 1
    lan.run("ip", "address", "delete", "10.88.0.50/24", "dev", "br0")
    node.wait_until("nodenetctl status --json | grep -q '\"ready\": *true'", timeout=60)
    assert settle(node)["node_ips"] == ["10.88.0.50"]
    nothing_left(node)


def test_a_node_without_a_network_keeps_a_file_whose_gateway_is_silent(product_node: NodeFactory, lan: Lan) -> None:
    """Its router boots later. Kubelet starts at once, and nothing is rolled back."""
    lan.run("ip", "address", "delete", f"{lan.gateway4}/24", "dev", "br0")
    lan.start_dhcp(Dhcp(ipv4=False, ipv6=Ipv6.NONE))
    node = product_node(files={node_file("worker-0.yml"): STATIC}, flavour=Flavour.OPENSHIFT)
    node.boot()
    document = settle(node)
    assert (document["ready"], document["node_ips"]) == (True, ["10.88.0.50"])
    applied = stage(document, "nmstate")
    assert (applied["status"], applied["ended"] - applied["started"] < 10) == ("done", True)
    assert "After the apply the gateway 10.88.0.1 does not answer on eth0" in silent(node)


def test_a_cable_that_is_out_in_the_first_apply_refuses_no_file_for_good(product_node: NodeFactory, lan: Lan) -> None:
    """Nor does a router that is off in that moment. Kubelet waits, and nobody has to come."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    sooner = shorter({"nodenet/core/apply/new_file.py": ("PROBE: (60.0, 900.0)}", "PROBE: (10.0, 900.0)}")})
    files = {node_file("worker-0.yml"): STATIC, SETTINGS: 'on_failure = "auto"\n', **sooner}
    node = product_node(files=files, flavour=Flavour.OPENSHIFT)
    node.boot()
    node.wait_until("test -e /var/lib/nodenet/change.json", timeout=30)
    node.set_carrier("eth0", up=False)
    node.wait_until("nodenetctl status | grep -q 'eth0 has no carrier any more'", timeout=90)
    assert not node.started("kubelet")
    node.set_carrier("eth0", up=True)
    node.wait_until("nodenetctl status --json | grep -q '\"ready\": *true'", timeout=90)
    document = settle(node)
    assert (document["health"], document["node_ips"]) == ("ok", ["10.88.0.50"])
    nothing_left(node)
