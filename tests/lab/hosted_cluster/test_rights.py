"""What a node may do in a real API with kubelet's credentials: read the one object, and speak for itself alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from harness import eventually
from harness.kube import Cluster
from harness.kube_client import ApiError, Client
from hosted_cluster_objects import FOLDER, RESOURCE, RESOURCES, resource
from ipam_site import manifest
from kube_nodes import add_node
from nodenet.core.hosted_cluster.node_report import ANNOTATION

FORBIDDEN = 403
ONE = {"fieldSelector": "metadata.name=cluster"}
ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/nodenet-hosted"


@pytest.fixture(scope="module")
def node(cluster: Cluster) -> Client:
    """The credentials of master-0's kubelet, beside another node and the object."""
    for number in range(2):
        add_node(cluster, f"master-{number}", number)
    cluster.admin.create(RESOURCES, resource())
    return cluster.node_client("master-0")


def may(request: Callable[[], Any]) -> bool:
    try:
        request()
    except ApiError as error:
        if error.status != FORBIDDEN:
            raise
        return False
    return True


def list_it(node: Client) -> Any:
    return node.get(RESOURCES, **ONE)


def watch_it(node: Client) -> Any:
    return node.raw(f"{RESOURCES}?fieldSelector=metadata.name%3Dcluster&watch=true&timeoutSeconds=1")


def test_a_node_reads_the_object_and_annotates_its_own_node(node: Client) -> None:
    assert [item["metadata"]["name"] for item in list_it(node)["items"]] == ["cluster"]
    watch_it(node)
    own = "/api/v1/nodes/master-0"
    node.patch(own, {"metadata": {"annotations": {ANNOTATION: "{}"}}})
    assert node.get(own)["metadata"]["annotations"][ANNOTATION] == "{}"


@pytest.mark.parametrize(
    "request_of",
    [
        lambda node: node.patch("/api/v1/nodes/master-1", {"metadata": {"annotations": {ANNOTATION: "{}"}}}),
        lambda node: node.get("/api/v1/nodes/master-1"),
        lambda node: node.get(RESOURCES),
        lambda node: node.patch(RESOURCE, {"spec": {"ingressHa": "Disabled"}}),
        lambda node: node.patch(f"{RESOURCE}/status", {"status": {"apiServerInternalIpOwner": "master-0"}}),
        lambda node: node.create(RESOURCES, resource()),
        lambda node: node.delete(RESOURCE),
        lambda node: node.patch("/api/v1/nodes/master-0", {"metadata": {"labels": {"node-role.kubernetes.io/x": ""}}}),
    ],
    ids=["speak for another", "read another", "list all", "edit", "status", "create", "delete", "make itself a master"],
)
def test_a_node_may_do_nothing_else(node: Client, request_of: Callable[[Client], Any]) -> None:
    assert not may(lambda: request_of(node))


@pytest.mark.parametrize(("verb", "request_of"), [("list", list_it), ("watch", watch_it)], ids=["list", "watch"])
def test_each_verb_of_the_role_is_needed(
    cluster: Cluster, node: Client, verb: str, request_of: Callable[[Client], Any]
) -> None:
    role = manifest(str(FOLDER / "rbac-hosted-nodes.yaml"))[0]
    (rule,) = role["rules"]
    assert sorted(rule["verbs"]) == ["list", "watch"]
    cluster.admin.patch(ROLE, {"rules": [{**rule, "verbs": [one for one in rule["verbs"] if one != verb]}]})
    eventually(lambda: not may(lambda: request_of(node)), f"no right to {verb}", timeout=60, pause=0.1)
    cluster.admin.patch(ROLE, {"rules": [rule]})
    eventually(lambda: may(lambda: request_of(node)), f"the right to {verb}", timeout=60, pause=0.1)
