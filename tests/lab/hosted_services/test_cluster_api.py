"""The companion and a real kube-apiserver: what it may read, what changes with a Node, and what is left without it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness import Lab, Lan, Node
from harness.kube import Cluster
from kube_nodes import BINDING, ROLE, add_node
from vip_rig import Options, Rig, until

HAPROXY = "/run/nodenet/hosted/haproxy.cfg"


def servers(node: Node) -> list[str]:
    text = node.run(f"cat {HAPROXY}", check=False).stdout
    return [line.split()[1] for line in text.splitlines() if line.strip().startswith("server ")]


def cached(node: Node) -> str:
    return node.run("cat /var/lib/nodenet/hosted/nodes.json", check=False).stdout


def test_nodes_of_the_api_its_own_node_only_and_the_cache(lab: Lab, lan: Lan, product: Path) -> None:
    """Listing forbidden: the file names the peers. Allowed: a Node more is a server more. API gone: the cache does."""
    rig = Rig(lab, lan, product, Options(nodes=1))
    node = rig.nodes["master-0"]
    with Cluster(lan) as cluster:
        add_node(cluster, "master-0", 0)
        node.write("/etc/kubernetes/kubeconfig", cluster.node_client("master-0").kubeconfig(), 0o600)
        rig.boot()
        until(lambda: servers(node) == ["master-0"], "the file's node")
        assert cached(node) == "", "its own Node is no list"

        cluster.admin.apply(ROLE)
        cluster.admin.apply(BINDING)
        node.run("systemctl restart nodenet-hosted")
        until(lambda: '"master-0"' in cached(node), "the cache")
        add_node(cluster, "master-1", 1)
        until(lambda: servers(node) == ["master-0", "master-1"], "the second server")
        until(lambda: "master-1.c1.example.com" in node.run("cat /run/nodenet/hosted/hosts").stdout, "its name")
        hostile: dict[str, Any] = {"status": {"addresses": [{"type": "InternalIP", "address": "10.88.0.9\n server x"}]}}
        cluster.admin.patch("/api/v1/nodes/master-1/status", hostile)
        until(lambda: servers(node) == ["master-0"], "the Node without a usable address to be left out")
        add_node(cluster, "master-2", 2)
        until(lambda: servers(node) == ["master-0", "master-2"], "the third server")
        warned = [str(entry["MESSAGE"]) for entry in node.journal() if "kubeconfig" in str(entry.get("MESSAGE"))]
        assert not any("insecure" in line for line in warned)
    node.reboot()
    rig.settle("master-0")
    until(lambda: servers(node) == ["master-0", "master-2"], "the servers of the cache")
    assert rig.document("master-0")["cluster"]
