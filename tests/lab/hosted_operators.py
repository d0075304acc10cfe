"""nodenet-operator beside a real API: its process with the token of its ServiceAccount, and the nodes that report."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness import LabError, eventually
from harness.kube import Cluster
from harness.kube_bulk import Request, send_all
from harness.kube_client import connect
from hosted_cluster_objects import FOLDER, RESOURCE
from ipam_site import manifest
from nodenet.core.hosted_cluster.node_report import ANNOTATION, NodeReport, Stack, render
from nodenet.core.hosted_services.model import Mode
from nodenet.core.hosted_services.report import HostedHealth
from nodenet.core.ip import IPAddress

MANIFEST = FOLDER / "operator.yaml"
API_OF_PODS = "https://kubernetes.default.svc"
DAEMON = Path(__file__).resolve().parents[2] / "daemon"
SETTINGS = """platform = "baremetal"
cluster_domain = "c1.example.com"
api_vips = ["10.88.0.5"]
ingress_vips = ["10.88.0.6"]
hosted.enabled = "auto"
"""
ACCOUNT = "system:serviceaccount:kube-system:nodenet-operator"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/{}/leases"
OWN = f"{LEASES.format('kube-system')}/nodenet-operator"
NODE_LEASES = LEASES.format("kube-node-lease")
TOKENS = "/api/v1/namespaces/kube-system/serviceaccounts/nodenet-operator/token"
PATIENCE = 60.0


def kubeconfig(places: Mapping[str, str]) -> str:
    """Return the kubeconfig of the manifest, in which each key of *places* has become its value."""
    (text,) = (found["data"]["kubeconfig"] for found in manifest(str(MANIFEST)) if found["kind"] == "ConfigMap")
    for place, here in places.items():
        assert place in text
        text = text.replace(place, here)
    return str(text)


def operated(cluster: Cluster) -> Cluster:
    """Return a cluster with the operator's manifest; no program that runs pods is there."""
    cluster.kubectl("create", "namespace", "kube-node-lease", check=False)
    cluster.kubectl("apply", "-f", str(MANIFEST))
    return cluster


class Operators:
    """Operators beside the API: the kubeconfig of the manifest, with the token of the ServiceAccount."""

    def __init__(self, cluster: Cluster, settings: str = SETTINGS) -> None:
        self.cluster = cluster
        self.directory = cluster.directory
        (self.directory / "nodenet.toml").write_text(settings)
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        self.token = self.directory / "operator.token"
        self.token.touch(0o600)
        self.token.write_text(cluster.admin.create(TOKENS, asked)["status"]["token"])
        self.names: list[str] = []

    def start(self, name: str, *options: str, url: str = "", stopped: bool = False) -> int:
        """Start one whose API is at *url*; return its process. *stopped*: it waits for SIGCONT before it begins."""
        config = self.directory / f"{name}.kubeconfig"
        account = "/var/run/secrets/kubernetes.io/serviceaccount"
        places = {
            API_OF_PODS: url or self.cluster.server.url,
            f"{account}/ca.crt": str(self.cluster.server.authority),
            f"{account}/token": str(self.token),
        }
        config.write_text(kubeconfig(places))
        words = [sys.executable, "-m", "nodenet.cluster_operator.process", "--settings", str(self.directory)]
        words += ["--kubeconfig", str(config), "--name", name, *options]
        before = ["sh", "-c", 'kill -STOP $$; exec "$@"', "sh"] if stopped else []
        self.cluster.run(name, "env", f"PYTHONPATH={DAEMON}", *before, *words)
        self.names.append(name)
        pid = self.cluster.processes()[name]
        if stopped:
            state = Path(f"/proc/{pid}/stat")
            eventually(lambda: state.read_text().rpartition(")")[2].split()[0] == "T" or None, "it to stop", timeout=30)
        return pid

    def end(self, name: str, number: signal.Signals = signal.SIGKILL) -> None:
        """Signal one, and wait for its end."""
        self.wait(name, self.cluster.processes()[name], number)

    def wait(self, name: str, pid: int = 0, number: signal.Signals = signal.SIGKILL) -> None:
        """Wait for the end of one; signal its process *pid* before."""
        self.names.remove(name)
        process = self.cluster._running.pop(name)
        if pid:
            os.kill(pid, number)
        process.wait(PATIENCE)
        print(self.cluster.log(name))  # noqa: T201  (shown where the test fails)

    def leader(self) -> str:
        """Return the name of the operator that has the Lease."""
        lease = self.cluster.admin.find(OWN)
        return str((lease or {"spec": {}})["spec"].get("holderIdentity") or "").rpartition("_")[0]

    def forget(self) -> None:
        """End every operator, and remove the object and the Lease."""
        for name in list(self.names):
            self.end(name)
        for path in (RESOURCE, OWN):
            if self.cluster.admin.find(path):
                self.cluster.admin.delete(path)


def shows(cluster: Cluster, port: int, *lines: str) -> None:
    """Wait until an operator has each of *lines* at /metrics."""

    def found() -> bool:
        connection = http.client.HTTPConnection(cluster.server.address, port)
        try:
            connection.sock = connect(cluster.server.netns, cluster.server.address, port)
        except LabError:  # it begins
            return False
        with contextlib.closing(connection):
            connection.request("GET", "/metrics")
            return set(lines) <= set(connection.getresponse().read().decode().splitlines())

    eventually(lambda: found() or None, f"{lines} at /metrics", timeout=PATIENCE)


def report_of(*vips: IPAddress | str, generation: int = 1) -> str:
    """Return the report of a healthy node that holds *vips*."""
    made = NodeReport(Mode.SELF_HOSTED, HostedHealth.OK, Stack.NODENET, api=True, generation=generation)
    return json.dumps({**json.loads(render(made)), "vips": [str(vip) for vip in vips]})


def report(cluster: Cluster, name: str, *vips: IPAddress | str) -> None:
    """Let a node report that it holds *vips*."""
    cluster.admin.patch(f"/api/v1/nodes/{name}", {"metadata": {"annotations": {ANNOTATION: report_of(*vips)}}})


def lease_of(name: str, seconds: int = 40) -> dict[str, Any]:
    """Return the Lease of a node as it is renewed now."""
    renewed = f"2026-01-01T00:00:00.{time.monotonic_ns() % 10**6:06}Z"
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "namespace": "kube-node-lease"},
        "spec": {"holderIdentity": name, "renewTime": renewed, "leaseDurationSeconds": seconds},
    }


def beat(cluster: Cluster, *names: str) -> None:
    """Renew the Leases of nodes."""
    for name in names:
        cluster.admin.apply(lease_of(name))


def many(cluster: Cluster, names: list[str], seconds: int = 40) -> None:
    """Make workers that report and whose Leases hold for *seconds*: some hundred of them in a few seconds."""
    made: list[Request] = []
    for number, name in enumerate(names):
        labels = {"node-role.kubernetes.io/worker": ""}
        metadata = {"name": name, "labels": labels, "annotations": {ANNOTATION: report_of()}}
        made.append(("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": metadata}))
        made.append(("POST", NODE_LEASES, lease_of(name, seconds)))
        address = {"type": "InternalIP", "address": f"10.89.{number // 250}.{1 + number % 250}"}
        made.append(("PATCH", f"/api/v1/nodes/{name}/status", {"status": {"addresses": [address]}}))
    # By kind: a Node's status is changed after the Node is there.
    for kind in range(3):
        send_all(cluster.admin, made[kind::3])


def status(cluster: Cluster) -> dict[str, Any]:
    """Return the status of the object, empty without one."""
    return dict((cluster.admin.find(RESOURCE) or {}).get("status") or {})
