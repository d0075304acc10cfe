"""The companion and a real kube-apiserver: what it may read, what changes with a Node, and what is left without it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness import Lab, Lan, Node
from harness.kube import Cluster
from kube_nodes import BINDING, ROLE, add_node
from tls_certificates import certificate, end_of
from vip_rig import Options, Rig, until

EXPIRED = """
import socket, ssl, sys
tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
tls.load_cert_chain(sys.argv[2], sys.argv[3])
with socket.create_server((sys.argv[1], 6443)) as line:
    while True:
        plain, _ = line.accept()
        print("asked", flush=True)
        plain.settimeout(5)
        try:
            tls.wrap_socket(plain, server_side=True).close()
        except OSError:
            plain.close()
"""
KUBECONFIG = """apiVersion: v1
kind: Config
clusters:
- name: c
  cluster: {{server: "https://{address}:6443", tls-server-name: api-int.c, certificate-authority: ca-of-the-api.crt}}
users:
- {{name: u, user: {{token: lab}}}}
contexts:
- {{name: x, context: {{cluster: c, user: u}}}}
current-context: x
"""
HAPROXY = "/run/nodenet/hosted/haproxy.cfg"


def servers(node: Node) -> list[str]:
    text = node.run(f"cat {HAPROXY}", check=False).stdout
    return list(dict.fromkeys(line.split()[1] for line in text.splitlines() if line.strip().startswith("server ")))


def cached(node: Node) -> str:
    return node.run("cat /var/lib/nodenet/hosted/nodes.json", check=False).stdout


def an_expired_certificate(rig: Rig, lan: Lan) -> None:
    """Let a server with an expired certificate take the API's place: named with its date, once; the cache stays."""
    node, directory = rig.nodes["master-0"], lan.state / "expired"
    directory.mkdir()
    ca, ca_key = certificate(directory, "ca", expired=False)
    made, key = certificate(directory, "api-int.c", expired=True, signed=("-CA", ca, "-CAkey", ca_key))
    server = lan.start("python3", "-c", EXPIRED, lan.gateway4.exploded, made, key, output=directory / "log")
    node.write("/etc/kubernetes/ca-of-the-api.crt", ca.read_text())
    node.write("/etc/kubernetes/kubeconfig", KUBECONFIG.format(address=lan.gateway4), 0o600)
    cause = f"The API cannot be verified: its certificate has expired on {end_of(made)}. Renew it"
    until(lambda: str(rig.document("master-0").get("cluster")).startswith(cause), "the certificate")
    tries = (directory / "log").read_text().count("asked")
    until(lambda: (directory / "log").read_text().count("asked") > tries + 2, "more tries")
    said = [entry for entry in node.journal() if str(entry["MESSAGE"]).startswith(cause)]
    assert len(said) == 1
    assert cause in node.run("nodenetctl hosted", check=False).stdout
    assert servers(node) == ["master-0", "master-2"]
    server.terminate()
    server.wait()


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
    an_expired_certificate(rig, lan)
    node.reboot()
    rig.settle("master-0")
    until(lambda: servers(node) == ["master-0", "master-2"], "the servers of the cache")
    assert rig.document("master-0")["cluster"]
