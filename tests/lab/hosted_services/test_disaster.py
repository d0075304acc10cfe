"""The whole cluster loses its power, and comes back from its disks alone: real etcd, kube-apiserver and kubelets."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from harness import Lab, Lan, Node, host
from harness.kube_programs import Program, etcd
from harness.kubelet import CONFIGURATION, KUBELET_UNITS, PREPARE, kubelet_layers
from harness.kubelet import UNIT as KUBELET_UNIT
from vip_rig import API, FILED, FIRST, Options, Rig, has, until

MEMBERS = ",".join(f"master-{number}=http://10.88.0.{FIRST + number}:2380" for number in range(3))
ETCD = f"""#!/bin/sh
name=$(cat /proc/sys/kernel/hostname)
ip=10.88.0.$(({FIRST} + ${{name#master-}}))
exec /usr/bin/etcd --name $name --data-dir /var/lib/lab-etcd --initial-cluster {MEMBERS} \\
    --listen-peer-urls http://$ip:2380 --initial-advertise-peer-urls http://$ip:2380 \\
    --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379
"""
APISERVER = f"""#!/bin/sh
name=$(cat /proc/sys/kernel/hostname)
ip=10.88.0.$(({FIRST} + ${{name#master-}}))
exec /usr/local/bin/kube-apiserver --etcd-servers=http://127.0.0.1:2379 --secure-port=6443 --advertise-address=$ip \\
    --tls-cert-file=/etc/kubernetes/api.crt --tls-private-key-file=/etc/kubernetes/api.key \\
    --token-auth-file=/etc/kubernetes/tokens --authorization-mode=RBAC --service-cluster-ip-range=10.96.0.0/16 \\
    --service-account-issuer=https://kubernetes.default.svc --service-account-key-file=/etc/kubernetes/sa.pub \\
    --service-account-signing-key-file=/etc/kubernetes/sa.key --disable-admission-plugins=ServiceAccount
"""
UNIT = """[Unit]
After=nodenetd.service
[Service]
ExecStart=/bin/sh /usr/local/lib/{script}
Restart=always
RestartSec=1
[Install]
WantedBy=multi-user.target
"""
KUBECONFIG = """apiVersion: v1
kind: Config
clusters:
- {name: c, cluster: {server: "https://api-int.c1.example.com:6443", certificate-authority: ca.crt}}
users:
- {name: u, user: {token: lab-token}}
contexts:
- {name: x, context: {cluster: c, user: u}}
current-context: x
"""
CREDENTIALS = ("/etc/kubernetes/kubeconfig", "/etc/kubernetes/kubelet.conf")
ASK = r"""
import json, ssl, sys, urllib.request
tls = ssl.create_default_context(cafile="/etc/kubernetes/ca.crt")
tls.verify_flags &= ~ssl.VERIFY_X509_STRICT
def ask(path, body=None, method="GET", kind="application/json"):
    headers = {"Authorization": "Bearer lab-token", "Content-Type": kind}
    data = None if body is None else json.dumps(body).encode()
    url = "https://api-int.c1.example.com:6443" + path
    request = urllib.request.Request(url, data, headers, method=method)
    return urllib.request.urlopen(request, context=tls, timeout=5).read().decode()
"""
ADD = (
    ASK
    + r"""
for number, name in enumerate(sys.argv[1:]):
    role = "control-plane" if name.startswith("master") else "worker"
    labels = {f"node-role.kubernetes.io/{role}": ""}
    meta = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
    try:
        ask("/api/v1/nodes", meta, "POST")
    except urllib.error.HTTPError as error:
        if error.code != 409:  # made by an attempt whose answer was lost
            raise
    addresses = {"status": {"addresses": [{"type": "InternalIP", "address": f"10.88.0.{20 + number}"}]}}
    ask(f"/api/v1/nodes/{name}/status", addresses, "PATCH", "application/merge-patch+json")
print("made")
"""
)
READY = ASK + 'print(ask("/readyz"))\n'
COUNT = ASK + 'print(len(json.loads(ask("/api/v1/nodes"))["items"]))\n'
KUBELETS = (
    ASK
    + r"""
leases = json.loads(ask("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"))["items"]
print(*sorted(one["metadata"]["name"] for one in leases if one["spec"]["renewTime"] > sys.argv[1]))
"""
)
"""Prints the nodes whose kubelet has renewed its lease since a time."""


def answers(node: Node, program: str, expected: str, *words: str) -> bool:
    """Return whether a program of the node, which finds the API by the node's own DNS, prints what is expected."""
    return node.run(["python3", "-c", program, *words], check=False).stdout.strip() == expected


def comes_back(rig: Rig, since: str) -> None:
    """Boot all nodes at once; wait until every one of them reaches the API, and the workers' kubelets work."""
    rig.boot()
    holder = rig.one_holder(timeout=120)
    assert holder.startswith("master")
    workers = [node for name, node in rig.nodes.items() if name.startswith("worker")]
    for node in workers:
        until(partial(answers, node, COUNT, "5"), f"the API for {node.name}", 180)
        assert not has(node, API)
    until(partial(answers, workers[0], KUBELETS, "worker-0 worker-1", since), "the kubelets", 180)
    rig.quiet(timeout=120)
    until(lambda: rig.document(holder)["health"] in ("ok", "degraded"), "the report")
    assert rig.document(holder)["cluster"] is None


def now() -> str:
    return datetime.now(UTC).isoformat()


def has_cached(node: Node, name: str) -> bool:
    """Return whether the node has the other node's name on its disk."""
    return name in node.run("cat /var/lib/nodenet/hosted/nodes.json", check=False).stdout


def signing_keys(directory: Path) -> dict[str, str]:
    private, public = directory / "sa.key", directory / "sa.pub"
    host.call(["openssl", "genrsa", "-out", private, "2048"])
    host.call(["openssl", "rsa", "-in", private, "-pubout", "-out", public])
    return {f"/etc/kubernetes/{path.name}": path.read_text() for path in (private, public)}


def test_five_nodes_come_back_from_their_disks(lab: Lab, lan: Lan, product: Path) -> None:
    """Cut at once, and shut down at once; booted with no API until the VIP is there: api-int leads all to the API."""
    files = {
        "/usr/local/lib/lab-etcd": ETCD,
        "/usr/local/lib/lab-kube": APISERVER,
        "/etc/systemd/system/lab-etcd.service": UNIT.format(script="lab-etcd"),
        "/etc/systemd/system/lab-apiserver.service": UNIT.format(script="lab-kube"),
        "/etc/kubernetes/tokens": 'lab-token,admin,1,"system:masters"\n',
        "/etc/kubernetes/kubelet.yaml": json.dumps(CONFIGURATION),
        "/usr/lib/systemd/system/kubelet.service": KUBELET_UNIT,
        "/usr/local/lib/lab/prepare-kubelet": PREPARE,
        **signing_keys(lan.state),
    }
    layers = (etcd().parents[2], Program.APISERVER.layer)
    options = Options(
        nodes=5,
        workers=2,
        files=files,
        layers=layers,
        enable=("lab-etcd.service",),
        worker_layers=kubelet_layers(),
        worker_enable=KUBELET_UNITS,
    )
    rig = Rig(lab, lan, product, options)
    for node in rig.nodes.values():
        for path in CREDENTIALS:
            node.write(path, KUBECONFIG, 0o600)
    worker = rig.nodes["worker-0"]
    rig.boot()
    rig.one_holder(timeout=120)
    until(lambda: answers(worker, READY, "ok"), "the API through api-int", 180)
    # The VIP may move until all nodes are known. The kubelets register the workers.
    until(lambda: answers(worker, ADD, "made", *rig.names[:3]), "the control-plane nodes", 60)
    for node in rig.nodes.values():
        until(partial(has_cached, node, "worker-1"), "the cache", 120)
        node.path(FILED).unlink()  # from here on, only what the API said

    for node in rig.nodes.values():
        node.power_cut()
    comes_back(rig, now())

    with ThreadPoolExecutor(len(rig.nodes)) as all_at_once:
        list(all_at_once.map(lambda node: node.off(timeout=120), rig.nodes.values()))
    comes_back(rig, now())
