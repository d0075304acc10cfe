"""nodenet-operator and a real API: what it may do, what it writes, two of them of which one stops, and its kills."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harness import eventually
from harness.api_proxy import ApiProxy
from harness.kube import Cluster
from harness.kube_client import ApiError, Client
from hosted_cluster_objects import FOLDER, RESOURCE, RESOURCES, resource
from hosted_operators import (
    ACCOUNT,
    LEASES,
    NODE_LEASES,
    OWN,
    PATIENCE,
    Operators,
    beat,
    operated,
    report,
    shows,
    status,
)
from ipam_site import manifest
from kube_nodes import add_node
from nodenet import __version__
from nodenet.core.hosted_cluster.cluster_status import EVENTS, OPERATOR, PATH, News, event

FORBIDDEN, CONFLICT = 403, 409
ONE = {"fieldSelector": "metadata.name=cluster"}
ROLES = "/apis/rbac.authorization.k8s.io/v1"
METRICS = 9400
REQUESTS = {
    "read the Lease": ("GET", "/leases/nodenet-operator$"),
    "create the Lease": ("POST", "/namespaces/kube-system/leases$"),
    "list Nodes": ("GET", r"/api/v1/nodes\?limit"),
    "watch Nodes": ("GET", r"/api/v1/nodes\?.*watch=true"),
    "list the object": ("GET", r"/hostednetservices\?limit"),
    "watch the object": ("GET", r"/hostednetservices\?.*watch=true"),
    "list the Leases of nodes": ("GET", "/kube-node-lease/leases"),
    "create the object": ("POST", "/hostednetservices$"),
    "create an Event": ("POST", "/api/v1/namespaces/default/events$"),
    "write the status": ("PATCH", "/hostednetservices/cluster/status$"),
    "renew the Lease": ("PATCH", "/leases/nodenet-operator$"),
}
"""Everything that an operator asks for, with the request."""
KILLS = [
    *(("kill", name) for name in REQUESTS),
    *(("kill-after", name) for name, (method, _) in REQUESTS.items() if method == "POST" or "status" in name),
]
"""Before the server has the request; writes also when it has answered and the operator does not know it."""


@pytest.fixture(scope="module")
def with_operator(cluster: Cluster) -> Cluster:
    """A cluster with the operator's manifest."""
    return operated(cluster)


@pytest.fixture
def operators(with_operator: Cluster) -> Iterator[Operators]:
    made = Operators(with_operator)
    yield made
    made.forget()


def two_masters(cluster: Cluster) -> None:
    """Let two nodes report: the first one holds both VIPs."""
    for number in range(2):
        add_node(cluster, f"master-{number}", number)
    beat(cluster, "master-0", "master-1")
    report(cluster, "master-0", "10.88.0.5", "10.88.0.6")
    report(cluster, "master-1")


def test_two_operators_keep_one_status_and_one_follows_when_the_other_stops(operators: Operators) -> None:
    cluster = operators.cluster
    two_masters(cluster)
    operators.start("first", f"--metrics-port={METRICS}")
    eventually(lambda: operators.leader() == "first", "the first one to lead", timeout=PATIENCE)
    operators.start("second", f"--metrics-port={METRICS + 1}")
    eventually(lambda: status(cluster).get("apiServerInternalIpOwner") == "master-0", "the owner", timeout=PATIENCE)
    found = status(cluster)
    assert found["ingressIpOwner"] == "master-0"
    assert [(one["name"], one["role"], one["vips"]) for one in found["nodes"]] == [
        ("master-0", "control-plane", ["10.88.0.5", "10.88.0.6"]),
        ("master-1", "control-plane", []),
    ]
    assert {one["type"]: one["status"] for one in found["conditions"]}["Available"] == "True"
    owner = 'nodenet_hosted_vip_owner{purpose="api",node="master-0"} 1'
    shows(cluster, METRICS, "nodenet_operator_leader 1", owner)
    shows(cluster, METRICS + 1, "nodenet_operator_leader 0")
    # A second object is refused.
    with pytest.raises(ApiError, match="there is one object"):
        cluster.admin.create(RESOURCES, resource({}, "mine"))
    old = cluster.admin.get(RESOURCE)
    # Stopped: the other one leads at once, and writes what has changed since.
    operators.end("first", signal.SIGTERM)
    report(cluster, "master-1", "10.88.0.5")
    report(cluster, "master-0", "10.88.0.6")
    eventually(lambda: operators.leader() == "second", "the second one to lead", timeout=PATIENCE)
    eventually(lambda: status(cluster).get("apiServerInternalIpOwner") == "master-1", "the new owner", timeout=PATIENCE)
    assert "cannot read or write" not in cluster.log("second")
    moved = {"reason": "VipMoved", "message": "master-1 holds the API VIP; master-0 held it before", "type": "Normal"}

    def said() -> bool:
        listed = cluster.admin.get(EVENTS)["items"]
        mine = [one for one in listed if one["involvedObject"].get("uid") == old["metadata"]["uid"]]
        return any(moved.items() <= one.items() for one in mine)

    eventually(lambda: said() or None, "the Event of the move", timeout=PATIENCE)
    # The object of a backup: refused where it is as it was saved, and a status that comes back with it does not stay.
    for document in (
        old,
        {"status": old["status"], "metadata": {"resourceVersion": old["metadata"]["resourceVersion"]}},
    ):
        with pytest.raises(ApiError) as caught:
            cluster.admin.patch(f"{RESOURCE}/status", document)
        assert caught.value.status == CONFLICT
    cluster.admin.patch(f"{RESOURCE}/status", {"status": old["status"]})
    eventually(
        lambda: status(cluster).get("apiServerInternalIpOwner") == "master-1", "the owner again", timeout=PATIENCE
    )
    shows(cluster, METRICS + 1, "nodenet_operator_leader 1", owner.replace("master-0", "master-1"))


def test_killed_at_each_of_its_requests_the_next_one_continues(operators: Operators) -> None:
    """SIGKILL before the API has the request, and after a write whose answer never came; the next one goes on there."""
    cluster = operators.cluster
    two_masters(cluster)
    proxy = ApiProxy(cluster)
    for number, (action, what) in enumerate(KILLS):
        for path in (OWN, *([RESOURCE] if "object" in what or "status" in what else [])):
            if cluster.admin.find(path):  # the Lease of a killed one holds for a minute, which election tests wait for
                cluster.admin.delete(path)
        name, (method, path) = f"killed-{number}", REQUESTS[what]
        pid = operators.start(name, url=proxy.url, stopped=True)
        proxy.rule(action, method=method, path=path, pid=pid, times=1)
        operators.wait(name, pid, signal.SIGCONT)
        assert proxy.requests(method, path)[-1]["fault"] == action, f"{action} at: {what}"
        proxy.clear()
    if cluster.admin.find(OWN):
        cluster.admin.delete(OWN)
    operators.start("last")
    eventually(lambda: status(cluster).get("apiServerInternalIpOwner") == "master-0", "the owner", timeout=PATIENCE)
    assert [one["name"] for one in status(cluster)["nodes"]] == ["master-0", "master-1"]
    assert [item["metadata"]["name"] for item in cluster.admin.get(RESOURCES)["items"]] == ["cluster"]


def requests(client: Client) -> dict[tuple[str, str, str], Callable[[], Any]]:
    """Return what the operator asks for, by the role, the resource and the verb that allow it."""
    cluster_role, own, nodes = "clusterroles", "namespaces/kube-system/roles", "namespaces/kube-node-lease/roles"
    watch = "watch=true&timeoutSeconds=1"
    leases, happened = LEASES.format("kube-system"), event(News("VipMoved", "It moved."), "", "2030-01-01T00:00:00Z")
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
        ("namespaces/default/roles", "events", "create"): lambda: client.create(f"{EVENTS}?dryRun=All", happened),
        (own, "leases", "get"): lambda: client.get(OWN),
        (own, "leases", "patch"): lambda: client.patch(f"{OWN}?dryRun=All", {"spec": {"leaseTransitions": 1}}),
        (own, "leases", "create"): lambda: client.create(f"{leases}?dryRun=All", lease),
        (nodes, "leases", "list"): lambda: client.get(NODE_LEASES),
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


def test_each_verb_of_its_roles_is_needed_and_no_other_one_is_there(with_operator: Cluster) -> None:
    client = with_operator.client(ACCOUNT)
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
        rules = with_operator.admin.get(path)["rules"]
        for kind, verb in sorted((kind, verb) for where, kind, verb in found if where == place):
            with_operator.admin.patch(path, {"rules": [rule for rule in without(rules, kind, verb) if rule["verbs"]]})
            request = found[place, kind, verb]
            eventually(lambda: not allowed(request), f"no right to {verb} {kind}", timeout=PATIENCE, pause=0.05)  # noqa: B023
        with_operator.admin.patch(path, {"rules": rules})


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
    fields = ("type", "status", "reason", "message", "lastTransitionTime")

    def of_object() -> list[dict[str, Any]]:
        return [{field: one[field] for field in fields} for one in status(cluster)["conditions"]]

    types = ["Available", "Progressing", "Degraded", "Disabled", "VerifyFailed"]
    assert [one["type"] for one in of_object()] == types
    eventually(lambda: found()["conditions"] == of_object() or None, "the same conditions", timeout=PATIENCE)
    assert found()["versions"] == [{"name": "operator", "version": __version__}]
    assert found()["relatedObjects"] == [
        {"group": RESOURCES.split("/")[2], "resource": "hostednetservices", "name": "cluster"},
        {"group": "", "resource": "namespaces", "name": "kube-system"},
    ]


def test_it_may_not_edit_the_spec_nor_speak_for_a_node(with_operator: Cluster) -> None:
    client = with_operator.client(ACCOUNT)
    with_operator.admin.create(RESOURCES, resource())
    try:
        assert not allowed(lambda: client.patch(RESOURCE, {"spec": {"ingressHa": "Disabled"}}))
        assert not allowed(lambda: client.delete(RESOURCE))
        assert not allowed(lambda: client.patch("/api/v1/nodes/master-0", {"metadata": {"annotations": {"a": "b"}}}))
        assert not allowed(lambda: client.get("/api/v1/secrets"))
    finally:
        with_operator.admin.delete(RESOURCE)
