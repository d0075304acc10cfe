"""Has the service's account exactly the rights that it needs?

Each verb of the manifest is taken away once. The proxy then sees a request that the API refuses; with all of them it
sees none.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

import pytest

from harness import eventually
from harness.kube_client import Document
from ipam_node import IpamNode, NodeMaker
from ipam_site import ACCOUNT, ACCOUNT_SPACE, PATIENCE, Site, Space, element, manifest

USER = f"system:serviceaccount:{ACCOUNT_SPACE}:{ACCOUNT}"
REVIEW = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
FORBIDDEN = 403
ROLES = [document for document in manifest("rbac.yaml") if document["kind"] in ("Role", "ClusterRole")]


def rights(*roles: Document) -> list[Any]:
    """Return each verb of the roles."""
    return [
        pytest.param(role, number, verb, id=f"{verb} {rule['resources'][0]}")
        for role in roles
        for number, rule in enumerate(role["rules"])
        for verb in rule["verbs"]
    ]


@contextlib.contextmanager
def without(site: Site, role: Document, number: int, verb: str) -> Iterator[str]:
    """Take one verb away; yield its resource."""
    less = copy.deepcopy(role)
    less["rules"][number]["verbs"].remove(verb)
    less["rules"] = [rule for rule in less["rules"] if rule["verbs"]]
    rule = role["rules"][number]
    site.admin.apply(less)
    try:
        eventually(lambda: not may(site, rule, verb), "the right to be gone", timeout=PATIENCE)
        yield rule["resources"][0].partition("/")[0]
    finally:
        site.admin.apply(role)
    eventually(lambda: may(site, rule, verb), "the right to be back", timeout=PATIENCE)


def may(site: Site, rule: Document, verb: str) -> bool:
    """Return whether the account may do something, in the opinion of the API."""
    resource, _, part = rule["resources"][0].partition("/")
    asked = {"verb": verb, "group": rule["apiGroups"][0], "resource": resource, "subresource": part}
    review = {"spec": {"user": USER, "resourceAttributes": {**asked, "namespace": ACCOUNT_SPACE}}}
    return bool(site.admin.create(REVIEW, review)["status"]["allowed"])


def life(site: Site, space: Space, node: NodeMaker) -> list[Document]:
    """Let two nodes do everything once; return what the API refused to them."""
    since = len(site.proxy.requests())
    network, small = site.network(), site.network("10.69.0.0/30")
    first, second = node(wired=False), node(wired=False)
    labels = {"vm.kubevirt.io/name": "vm"}
    names = [f"{network.name}-{name}" for name in ("source", "target", "rival", "a", "b", "c")]
    space.claim(names[0], network)
    source, target = (space.pod(name, element(network, names[0]), labels=labels) for name in names[:2])
    site.proxy.rule("status", method="PATCH", path="/ipamclaims/", status=409, times=1)  # the claim is read again
    given = first.ask("ADD", network, source).document.get("ips", [])
    second.ask("ADD", network, target)
    space.claim(names[2], network)  # it reports an address of another claim: whose Lease is that?
    space.admin.patch(f"{space.claim_path(names[2])}/status", {"status": {"ips": [one["address"] for one in given]}})
    first.ask("ADD", network, space.pod(names[2], element(network, names[2])))
    full = [space.pod(name, element(small)) for name in names[3:]]
    for pod in full:  # the last one finds the subnet full: an Event, and a list of the Leases
        first.ask("ADD", small, pod)
    for worker, place, pod in ((first, network, source), (second, network, target), (first, small, full[0])):
        worker.ask("DEL", place, pod)
    for name in (names[2], names[0]):
        space.admin.delete(space.claim_path(name))

    def refused() -> list[Document]:
        return [one for one in site.proxy.requests(since=since) if one["status"] == FORBIDDEN]

    eventually(lambda: refused() or site.leases(network) == [], "the release or a refusal", timeout=PATIENCE)
    return refused()


def test_all_rights_are_enough(site: Site, space: Space, node: NodeMaker) -> None:
    """Nothing is refused."""
    assert life(site, space, node) == []


@pytest.mark.parametrize(("role", "number", "verb"), rights(*ROLES))
def test_each_right_is_needed(  # noqa: PLR0913 -- three fixtures, three parameters
    site: Site, space: Space, node: NodeMaker, role: Document, number: int, verb: str
) -> None:
    """Without it the API refuses something; the service says so and goes on."""
    made: list[IpamNode] = []

    def noted(**options: bool) -> IpamNode:
        made.append(node(**options))
        return made[-1]

    with without(site, role, number, verb) as resource:
        refused = life(site, space, noted)
    assert refused, f"{verb} of {resource} is not used"
    assert all(worker.runs for worker in made)
    assert all(f"/{resource}" in entry["path"] for entry in refused)
