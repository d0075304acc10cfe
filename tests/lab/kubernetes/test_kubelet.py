"""Does a real kubelet register in a real API server with exactly the node IPs that nodenetd published?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chain import DROP_IN, NETDEV
from factories import NodeFactory
from harness import Dhcp, Ipv6, Lan, Node, Suite, eventually
from harness.kube import Cluster
from harness.kube_client import ApiError
from harness.kubelet import KUBELET_UNITS, kubeadm_files, kubelet_files, kubelet_layers
from story import node_file, settle, told_of_cycles

NAME = "worker-0"
NODE = f"/api/v1/nodes/{NAME}"
SETTINGS = "/etc/nodenet/nodenet.toml"
DUAL_STACK = 'families = ["ipv4", "ipv6"]\n'
STATIC = """interfaces:
- name: eth0
  type: ethernet
  state: up
  ipv4:
    enabled: true
    dhcp: false
    address: [{ip: 10.88.0.50, prefix-length: 24}]
  ipv6:
    enabled: true
    dhcp: false
    autoconf: false
    address: [{ip: "fd88::50", prefix-length: 64}]
routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-address: 10.88.0.1, next-hop-interface: eth0}
  - {destination: "::/0", next-hop-address: "fd88::1", next-hop-interface: eth0}
"""
CASES: dict[str, tuple[Suite, Dhcp, dict[str, str]]] = {
    # name → what the node boots, how the LAN gives addresses, the node's files
    "static": (Suite.FORKY, Dhcp(), {node_file(f"{NAME}.yml"): STATIC}),
    "dhcp": (Suite.FORKY, Dhcp(ipv6=Ipv6.DHCP), {}),
    "dhcp-slaac": (Suite.FORKY, Dhcp(ipv6=Ipv6.SLAAC), {}),
    "br-ex": (Suite.FORKY, Dhcp(ipv6=Ipv6.SLAAC), {DROP_IN: NETDEV}),
    "trixie": (Suite.TRIXIE, Dhcp(ipv6=Ipv6.SLAAC), {}),
}


def registered(cluster: Cluster, node: Node) -> list[str]:
    """Wait until the node's kubelet has registered; return its internal addresses, the primary one first."""

    def look() -> dict[str, Any] | None:
        found = cluster.admin.find(NODE)
        return found if found and found["status"].get("addresses") else None

    try:
        found = eventually(look, "kubelet to register", timeout=60)
    except Exception as error:
        error.add_note(node.run("journalctl -u kubelet --no-pager -n 20").stdout)
        raise
    return [entry["address"] for entry in found["status"]["addresses"] if entry["type"] == "InternalIP"]


@pytest.mark.parametrize("case", CASES)
def test_kubelet_registers_with_the_published_node_ips(
    product_node: NodeFactory, products: Callable[[Suite], Path], lan: Lan, case: str
) -> None:
    """Dual stack, in the first boot and after a reboot; the Node object is deleted in between."""
    suite, dhcp, files = CASES[case]
    lan.start_dhcp(dhcp)
    with Cluster(lan) as cluster:
        files = {SETTINGS: DUAL_STACK, **files, **kubelet_files(cluster, NAME)}
        layers = [products(suite), *kubelet_layers(suite)]
        node = product_node(NAME, suite=suite, layers=layers, files=files)
        node.enable(*KUBELET_UNITS)
        boots = []
        for _ in range(2):
            node.boot()
            document = settle(node)
            assert (document["health"], len(document["node_ips"])) == ("ok", 2)
            assert registered(cluster, node) == document["node_ips"]
            assert told_of_cycles(node) == []
            boots.append(document["node_ips"])
            node.off()
            cluster.admin.delete(NODE)
        assert boots[0] == boots[1]
        if case == "static":
            assert boots[0] == ["10.88.0.50", "fd88::50"]


def test_kubeadms_kubelet_registers_with_the_published_node_ips(
    product_node: NodeFactory, products: Callable[[Suite], Path], lan: Lan
) -> None:
    """eth0 has a second address, which kubelet would choose from as well; boot-report ends with kubelet's start.

    An administrator's own `--node-ip` counts for kubelet, and is a problem with a remedy.
    """
    lan.start_dhcp(Dhcp(ipv6=Ipv6.SLAAC))
    with Cluster(lan) as cluster:
        files = {SETTINGS: DUAL_STACK, node_file(f"{NAME}.yml"): STATIC, **kubeadm_files(cluster, NAME)}
        node = product_node(NAME, layers=[products(Suite.FORKY), *kubelet_layers()], files=files)
        node.enable(*KUBELET_UNITS)
        node.boot()
        document = settle(node)
        assert (document["health"], document["node_ips"]) == ("ok", ["10.88.0.50", "fd88::50"])
        assert registered(cluster, node) == document["node_ips"]
        words = node.run("tr '\\0' ' ' < /proc/$(systemctl show -P MainPID kubelet)/cmdline").stdout
        assert words.count("--node-ip=") == 1
        assert "--node-ip=10.88.0.50,fd88::50 --config=" in words
        assert "kubelet" in node.run("nodenetctl boot-report | tail -3").stdout
        node.write("/etc/default/kubelet", "KUBELET_EXTRA_ARGS=--node-ip=10.88.0.50,fd88::5\n")
        node.run("ip address add fd88::5/64 dev eth0; systemctl restart kubelet")
        wrong = "kubelet runs with --node-ip=10.88.0.50,fd88::5; published is 10.88.0.50,fd88::50"
        eventually(lambda: wrong in _status(node), "the problem", timeout=90)
        node.write("/etc/default/kubelet", "KUBELET_EXTRA_ARGS=\n")
        node.run("systemctl restart kubelet")
        eventually(lambda: _status(node).startswith("ok "), "the node to be ok again", timeout=90)


def _status(node: Node) -> str:
    return node.run("nodenetctl status", check=False).stdout


def test_the_api_of_the_lab(lan: Lan) -> None:
    """What other tests build on: users and their rights, apply, patch, kubectl, the controller manager."""
    with Cluster(lan) as cluster:
        first = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "first"}, "data": {"a": "1"}}
        (made,) = cluster.admin.apply(first)
        assert made["metadata"]["namespace"] == "default"
        cluster.admin.patch(cluster.admin.path_of(first), {"data": {"b": "2"}})
        assert cluster.admin.get("/api/v1/namespaces/default/configmaps/first")["data"] == {"a": "1", "b": "2"}
        assert cluster.kubectl("get", "configmap", "first", "-o", "jsonpath={.data.b}").stdout == "2"
        with pytest.raises(ApiError, match='"alice" cannot list resource "nodes"') as refused:
            cluster.client("alice").get("/api/v1/nodes")
        assert refused.value.status == 403
        node = cluster.node_client("worker-1")
        node.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "worker-1"}})
        with pytest.raises(ApiError, match='node "worker-1" is not allowed to modify node "worker-2"'):
            node.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "worker-2"}})
        assert cluster.admin.find("/api/v1/nodes/worker-2") is None
        cluster.start_controller_manager()
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        eventually(lambda: cluster.admin.find(account), "the default service account", timeout=30)
