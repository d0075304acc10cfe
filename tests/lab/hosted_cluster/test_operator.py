"""nodenet-operator and a real API: what it may do, what it writes, and two of them of which one stops."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness import eventually
from harness.kube import Cluster
from harness.kube_client import ApiError, Client
from hosted_cluster_objects import FOLDER, RESOURCE, RESOURCES, resource
from ipam_site import manifest
from kube_nodes import add_node
from nodenet.core.hosted_cluster.node_report import ANNOTATION, NodeReport, Stack, render
from nodenet.core.hosted_cluster.openshift import OPERATOR, PATH
from nodenet.core.hosted_services.model import Mode
from nodenet.core.hosted_services.report import HostedHealth
from nodenet.core.ip import IPAddress

DAEMON = Path(__file__).resolve().parents[3] / "daemon"
SETTINGS = """platform = "baremetal"
cluster_domain = "c1.example.com"
api_vips = ["10.88.0.5"]
ingress_vips = ["10.88.0.6"]
hosted.enabled = "auto"
"""
ACCOUNT = "system:serviceaccount:kube-system:nodenet-operator"
FORBIDDEN = 403
ONE = {"fieldSelector": "metadata.name=cluster"}
LEASES = "/apis/coordination.k8s.io/v1/namespaces/{}/leases"
OWN = f"{LEASES.format('kube-system')}/nodenet-operator"
ROLES = "/apis/rbac.authorization.k8s.io/v1"
PATIENCE = 60.0


@pytest.fixture(scope="module")
def operated(cluster: Cluster) -> Cluster:
    """A cluster with the operator's manifest; no program that runs pods is there."""
    cluster.kubectl("create", "namespace", "kube-node-lease", check=False)
    cluster.kubectl("apply", "-f", str(FOLDER / "operator.yaml"))
    return cluster


class Operators:
    """Operators beside the API, with the rights of the ServiceAccount."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.directory = cluster.directory
        (self.directory / "nodenet.toml").write_text(SETTINGS)
        (self.directory / "operator.kubeconfig").write_text(cluster.client(ACCOUNT).kubeconfig())
        (self.directory / "operator.kubeconfig").chmod(0o600)
        self.names: list[str] = []

    def start(self, name: str) -> None:
        options = ["--settings", str(self.directory), "--kubeconfig", str(self.directory / "operator.kubeconfig")]
        python = ["env", f"PYTHONPATH={DAEMON}", sys.executable, "-m", "nodenet.cluster_operator.process"]
        self.cluster.run(name, *python, *options, "--name", name)
        self.names.append(name)

    def end(self, name: str, number: signal.Signals = signal.SIGKILL) -> None:
        self.names.remove(name)
        process = self.cluster._running.pop(name)
        os.kill(process.pid, number)
        process.wait(30)
        print(self.cluster.log(name))  # noqa: T201  (shown where the test fails)

    def leader(self) -> str:
        lease = self.cluster.admin.find(OWN)
        return str((lease or {"spec": {}})["spec"].get("holderIdentity") or "").rpartition("_")[0]


@pytest.fixture
def operators(operated: Cluster) -> Iterator[Operators]:
    made = Operators(operated)
    yield made
    for name in list(made.names):
        made.end(name)
    if operated.admin.find(RESOURCE):
        operated.admin.delete(RESOURCE)
    if operated.admin.find(OWN):
        operated.admin.delete(OWN)


def report(cluster: Cluster, name: str, *vips: IPAddress | str) -> None:
    made = NodeReport(Mode.SELF_HOSTED, HostedHealth.OK, Stack.NODENET, api=True, generation=1)
    text = json.dumps({**json.loads(render(made)), "vips": [str(vip) for vip in vips]})
    cluster.admin.patch(f"/api/v1/nodes/{name}", {"metadata": {"annotations": {ANNOTATION: text}}})


def beat(cluster: Cluster, *names: str) -> None:
    for name in names:
        spec = {"holderIdentity": name, "renewTime": f"2026-01-01T00:00:00.{time.monotonic_ns() % 10**6:06}Z"}
        cluster.admin.apply(
            {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": name, "namespace": "kube-node-lease"},
                "spec": {**spec, "leaseDurationSeconds": 40},
            }
        )


def status(cluster: Cluster) -> dict[str, Any]:
    return dict((cluster.admin.find(RESOURCE) or {}).get("status") or {})


def test_two_operators_keep_one_status_and_one_follows_when_the_other_stops(operators: Operators) -> None:
    cluster = operators.cluster
    for number in range(2):
        add_node(cluster, f"master-{number}", number)
    beat(cluster, "master-0", "master-1")
    report(cluster, "master-0", "10.88.0.5", "10.88.0.6")
    report(cluster, "master-1")
    operators.start("first")
    eventually(lambda: operators.leader() == "first", "the first one to lead", timeout=PATIENCE)
    operators.start("second")
    eventually(lambda: status(cluster).get("apiServerInternalIpOwner") == "master-0", "the owner", timeout=PATIENCE)
    found = status(cluster)
    assert found["ingressIpOwner"] == "master-0"
    assert [(one["name"], one["role"], one["vips"]) for one in found["nodes"]] == [
        ("master-0", "control-plane", ["10.88.0.5", "10.88.0.6"]),
        ("master-1", "control-plane", []),
    ]
    assert {one["type"]: one["status"] for one in found["conditions"]}["Available"] == "True"
    # A second object is refused.
    with pytest.raises(ApiError, match="there is one object"):
        cluster.admin.create(RESOURCES, resource({}, "mine"))
    # Stopped: the other one leads at once, and writes what has changed since.
    operators.end("first", signal.SIGTERM)
    report(cluster, "master-1", "10.88.0.5")
    report(cluster, "master-0", "10.88.0.6")
    eventually(lambda: operators.leader() == "second", "the second one to lead", timeout=PATIENCE)
    eventually(lambda: status(cluster).get("apiServerInternalIpOwner") == "master-1", "the new owner", timeout=PATIENCE)
    assert "cannot read or write" not in cluster.log("second")


def requests(client: Client) -> dict[tuple[str, str, str], Callable[[], Any]]:
    """Return what the operator asks for, by the role, the resource and the verb that allow it."""
    cluster_role, own, nodes = "clusterroles", "namespaces/kube-system/roles", "namespaces/kube-node-lease/roles"
    watch = "watch=true&timeoutSeconds=1"
    leases, other = LEASES.format("kube-system"), LEASES.format("kube-node-lease")
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "nodenet-operator"}}
    return {
        (cluster_role, "nodes", "list"): lambda: client.get("/api/v1/nodes"),
        (cluster_role, "nodes", "watch"): lambda: client.raw(f"/api/v1/nodes?{watch}"),
        (cluster_role, "hostednetservices", "list"): lambda: client.get(RESOURCES, **ONE),
        (cluster_role, "hostednetservices", "watch"): lambda: client.raw(
            f"{RESOURCES}?fieldSelector=metadata.name%3Dcluster&{watch}"
        ),
        (cluster_role, "hostednetservices", "create"): lambda: client.create(f"{RESOURCES}?dryRun=All", resource()),
        (cluster_role, "hostednetservices/status", "patch"): lambda: client.patch(
            f"{RESOURCE}/status?dryRun=All", {"status": {"ingressIpOwner": ""}}
        ),
        (own, "leases", "get"): lambda: client.get(OWN),
        (own, "leases", "patch"): lambda: client.patch(f"{OWN}?dryRun=All", {"spec": {"leaseTransitions": 1}}),
        (own, "leases", "create"): lambda: client.create(f"{leases}?dryRun=All", lease),
        (nodes, "leases", "list"): lambda: client.get(other),
    }


def allowed(request: Callable[[], Any]) -> bool:
    try:
        request()
    except ApiError as error:
        return error.status != FORBIDDEN  # not found, or there already: it was allowed to ask
    return True


def without(rules: list[dict[str, Any]], kind: str, verb: str) -> list[dict[str, Any]]:
    return [
        {**rule, "verbs": [one for one in rule["verbs"] if one != verb or kind not in rule["resources"]]}
        for rule in rules
    ]


def test_each_verb_of_its_roles_is_needed_and_no_other_one_is_there(operated: Cluster) -> None:
    client = operated.client(ACCOUNT)
    found = requests(client)
    granted = {
        (place_of(document), kind, verb)
        for document in manifest(str(FOLDER / "operator.yaml"))
        if document["kind"] in ("Role", "ClusterRole")
        for rule in document["rules"]
        for kind in rule["resources"]
        for verb in rule["verbs"]
    }
    assert granted == set(found)
    eventually(lambda: all(map(allowed, found.values())), "every right", timeout=PATIENCE)
    for place in sorted({place for place, _, _ in found}):
        path = f"{ROLES}/{place}/nodenet-operator"
        rules = operated.admin.get(path)["rules"]
        for kind, verb in sorted((kind, verb) for where, kind, verb in found if where == place):
            operated.admin.patch(path, {"rules": [rule for rule in without(rules, kind, verb) if rule["verbs"]]})
            request = found[place, kind, verb]
            eventually(lambda: not allowed(request), f"no right to {verb} {kind}", timeout=PATIENCE, pause=0.05)  # noqa: B023
        operated.admin.patch(path, {"rules": rules})


def place_of(document: dict[str, Any]) -> str:
    if document["kind"] == "ClusterRole":
        return "clusterroles"
    return f"namespaces/{document['metadata']['namespace']}/roles"


def test_a_cluster_with_cluster_operators_gets_one(operators: Operators) -> None:
    """A stand-in for the kind of OpenShift, with its status; the role comes from a manifest of its own."""
    cluster = operators.cluster
    kind = {"kind": "ClusterOperator", "listKind": "ClusterOperatorList"}
    names = {**kind, "plural": "clusteroperators", "singular": "clusteroperator"}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    cluster.admin.apply(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "clusteroperators.config.openshift.io"},
            "spec": {
                "group": "config.openshift.io",
                "scope": "Cluster",
                "names": names,
                "versions": [{**version, "subresources": {"status": {}}}],
            },
        }
    )
    cluster.kubectl("apply", "-f", str(FOLDER / "operator-openshift.yaml"))
    eventually(lambda: cluster.admin.find(PATH), "the kind", timeout=PATIENCE)
    operators.start("third")

    def found() -> dict[str, Any]:
        return dict((cluster.admin.find(f"{PATH}/{OPERATOR}") or {}).get("status") or {})

    eventually(found, "the ClusterOperator", timeout=PATIENCE)
    assert {one["type"] for one in found()["conditions"]} == {"Available", "Progressing", "Degraded", "Disabled"}


def test_it_may_not_edit_the_spec_nor_speak_for_a_node(operated: Cluster) -> None:
    client = operated.client(ACCOUNT)
    operated.admin.create(RESOURCES, resource())
    try:
        assert not allowed(lambda: client.patch(RESOURCE, {"spec": {"ingressHa": "Disabled"}}))
        assert not allowed(lambda: client.delete(RESOURCE))
        assert not allowed(lambda: client.patch("/api/v1/nodes/master-0", {"metadata": {"annotations": {"a": "b"}}}))
        assert not allowed(lambda: client.get("/api/v1/secrets"))
    finally:
        operated.admin.delete(RESOURCE)
