"""Has the service's account exactly the rights that it needs?

Each verb of the manifest is taken away once. The proxy then sees a request that the API refuses; with all of them it
sees none.
"""

from __future__ import annotations

import contextlib
import copy
import http.client
import json
import ssl
from collections.abc import Iterator
from typing import Any

import pytest

from harness import eventually
from harness.kube_client import Document, connect
from ipam_node import IpamNode, NodeMaker
from ipam_site import (
    ACCOUNT,
    ACCOUNT_SPACE,
    INSTALLED,
    LEASES,
    MANIFESTS,
    PATIENCE,
    Site,
    Space,
    claim_document,
    element,
    manifest,
)

USER = f"system:serviceaccount:{ACCOUNT_SPACE}:{ACCOUNT}"
REVIEW = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
FORBIDDEN = 403
ROLES = [document for document in manifest("persistent-ips/rbac.yaml") if document["kind"] in ("Role", "ClusterRole")]


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
    listed = site.network(persistent=False)  # a list of plugins that allows claims at its top level
    config = json.dumps({"name": listed.name, "plugins": [listed.plugin_config()], "allowPersistentIPs": True})
    site.admin.apply(
        {
            "apiVersion": "k8s.cni.cncf.io/v1",
            "kind": "NetworkAttachmentDefinition",
            "metadata": {"name": listed.name, "namespace": "default"},
            "spec": {"config": config},
        }
    )
    space.claim(listed.name, listed)
    first.ask("ADD", listed, space.pod(listed.name, element(listed, listed.name)))
    space.claim(names[2], network)  # it reports an address of another claim: whose Lease is that?
    space.admin.patch(f"{space.claim_path(names[2])}/status", {"status": {"ips": [one["address"] for one in given]}})
    first.ask("ADD", network, space.pod(names[2], element(network, names[2])))
    full = [space.pod(name, element(small)) for name in names[3:]]
    for pod in full:  # the last one finds the subnet full: an Event, and a list of the Leases
        first.ask("ADD", small, pod)
    for worker, place, pod in ((first, network, source), (second, network, target), (first, small, full[0])):
        worker.ask("DEL", place, pod)
    for name in (names[2], names[0], listed.name):
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


def status_of(  # noqa: PLR0913 -- a request
    site: Site, token: str, method: str, path: str, body: object = None, kind: str = "application/json"
) -> int:
    """Return the status code of a request with a token."""
    server = site.cluster.server
    context = ssl.create_default_context(cafile=str(server.authority))
    line = http.client.HTTPConnection(server.address, server.port)
    with contextlib.closing(line):
        plain = connect(server.netns, server.address, server.port)
        line.sock = context.wrap_socket(plain, server_hostname=server.address)
        headers = {"Authorization": f"Bearer {token}", "Content-Type": kind}
        line.request(method, path, None if body is None else json.dumps(body), headers)
        return line.getresponse().status


MERGE = "application/merge-patch+json"
NODE_KEY, OWNER_KEY = "ipam.nodenet.org/node", "ipam.nodenet.org/owner-uid"


def lease_named(site: Site, network: Any, node: str) -> Document:
    """Return the Lease of an address of *network*, which a node has made."""
    (lease,) = site.leases(network)
    assert lease["metadata"]["annotations"][NODE_KEY] == node
    return lease


def test_a_node_cannot_touch_the_lease_of_another_nodes_pod(site: Site, space: Space, node: NodeMaker) -> None:
    """Verb by verb, with the token of one node and the Lease of another; with the other's own token each works."""
    owner, stranger = node(wired=False), node(wired=False)
    network = site.network()
    owner.ask("ADD", network, space.pod(space.site.unique(), element(network)))
    lease = lease_named(site, network, owner.node_name)
    path, uid = f"{LEASES}/{lease['metadata']['name']}", {"preconditions": {"uid": lease["metadata"]["uid"]}}
    own, foreign, unbound = site.token(owner.node_name), site.token(stranger.node_name), site.token("")
    another = {**lease, "metadata": {"name": "another", "annotations": lease["metadata"]["annotations"]}}
    renamed = {"metadata": {"annotations": {NODE_KEY: stranger.node_name}}}
    given = {"metadata": {"annotations": {OWNER_KEY: "x"}}}
    touched = {"metadata": {"annotations": {"x": "y"}}}
    for token in (foreign, unbound):
        assert status_of(site, token, "POST", LEASES, another) == FORBIDDEN
        for change in (renamed, given, touched, {"spec": {"holderIdentity": "x"}}):
            assert status_of(site, token, "PATCH", path, change, MERGE) == FORBIDDEN
        assert status_of(site, token, "DELETE", path, uid) == FORBIDDEN
        assert status_of(site, token, "DELETE", LEASES) == FORBIDDEN
        assert status_of(site, token, "PUT", path, lease) == FORBIDDEN
    assert site.leases(network) == [lease]
    assert status_of(site, own, "POST", LEASES, another) == http.client.CREATED
    assert status_of(site, own, "DELETE", f"{LEASES}/another", {}) == http.client.OK
    assert status_of(site, own, "PATCH", path, given, MERGE) == FORBIDDEN  # no address goes to another owner
    assert status_of(site, own, "PATCH", path, renamed, MERGE) == FORBIDDEN  # nor to another node
    assert status_of(site, own, "PATCH", path, touched, MERGE) == http.client.OK
    assert status_of(site, own, "DELETE", path, uid) == http.client.OK


def test_a_node_may_take_over_a_claim_and_nothing_more_of_it(site: Site, space: Space, node: NodeMaker) -> None:
    """A migration needs it. The claim's addresses stay as they are."""
    owner, stranger = node(wired=False), node(wired=False)
    network = site.network()
    space.claim("vm", network)
    owner.ask("ADD", network, space.pod("vm-1", element(network, "vm")))
    lease = lease_named(site, network, owner.node_name)
    path = f"{LEASES}/{lease['metadata']['name']}"
    token = site.token(stranger.node_name)
    assert status_of(site, token, "DELETE", path, {}) == FORBIDDEN
    both = {NODE_KEY: stranger.node_name, OWNER_KEY: "x"}
    assert status_of(site, token, "PATCH", path, {"metadata": {"annotations": both}}, MERGE) == FORBIDDEN
    claim = f"{space.claim_path('vm')}/status"
    assert status_of(site, token, "PATCH", claim, {"status": {"ips": ["10.0.0.1/24"]}}, MERGE) == FORBIDDEN
    assert status_of(site, token, "PATCH", claim, {"status": {"ownerPod": {"name": "x"}}}, MERGE) == http.client.OK
    both.pop(OWNER_KEY)
    assert status_of(site, token, "PATCH", path, {"metadata": {"annotations": both}}, MERGE) == http.client.OK


def test_no_node_reaches_the_leases_of_the_control_plane(site: Site, node: NodeMaker) -> None:
    """Who may change these stops the controllers of the cluster."""
    token = site.token(node(wired=False).node_name)
    for namespace, name in (("kube-system", "kube-controller-manager"), ("kube-node-lease", "worker-0")):
        space = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}}
        for method, path, content, kind in (
            ("GET", f"{space}/{name}", None, MERGE),
            ("GET", space, None, MERGE),
            ("POST", space, body, "application/json"),
            ("PATCH", f"{space}/{name}", {"spec": {"holderIdentity": "x"}}, MERGE),
            ("DELETE", f"{space}/{name}", None, MERGE),
        ):
            assert status_of(site, token, method, path, content, kind) == FORBIDDEN, (method, path)


def test_one_command_installs_and_removes_it(site: Site) -> None:
    """The directory is what kubectl takes, and has nothing that is not in it."""
    directory = str(MANIFESTS / "persistent-ips")
    applied = site.cluster.kubectl("apply", "--server-side", "--force-conflicts", "-k", directory).stdout
    (kustomization,) = manifest("persistent-ips/kustomization.yaml")
    listed = {f"persistent-ips/{name}" for name in kustomization["resources"]}
    assert listed == set(INSTALLED)
    assert len(applied.splitlines()) == sum(len(manifest(name)) for name in INSTALLED)
    removed = site.cluster.kubectl("delete", "--dry-run=server", "-k", directory).stdout
    assert len(removed.splitlines()) == len(applied.splitlines())


def test_the_commands_of_the_page(site: Site, space: Space, node: NodeMaker) -> None:
    """A token that is bound to a node, a claim that is not needed any more, and what a node has left that is gone."""
    network, worker = site.network(), node(wired=False)
    words = ["-n", ACCOUNT_SPACE, "create", "token", ACCOUNT, "--duration=8760h", "--bound-object-kind=Node"]
    token = site.cluster.kubectl(*words, f"--bound-object-name={worker.node_name}").stdout.strip()
    space.admin.create(space.claim_path(), claim_document("vm", network, finalizers=["kubevirt.io/persistent-ipam"]))
    pod = space.pod("vm", element(network, "vm"))
    worker.ask("ADD", network, pod)
    lease = lease_named(site, network, worker.node_name)
    path = f"{LEASES}/{lease['metadata']['name']}"
    assert status_of(site, token, "PATCH", path, {"metadata": {"annotations": {"x": "y"}}}, MERGE) == http.client.OK
    worker.ask("DEL", network, pod)
    finalizers = '{"metadata": {"finalizers": null}}'
    site.cluster.kubectl("-n", space.name, "patch", "ipamclaim", "vm", "--type=merge", "-p", finalizers)
    site.cluster.kubectl("-n", space.name, "delete", "ipamclaim", "vm")
    eventually(lambda: site.leases(network) == [], "the release", timeout=PATIENCE)
    worker.ask("ADD", network, space.pod("left", element(network)))
    label = f"ipam.nodenet.org/network={network.name}"
    listed = site.cluster.kubectl(*words[:2], "get", "leases", "-l", label, "-o", "name").stdout
    assert len(listed.split()) == 1
    worker.kill()
    site.cluster.kubectl(*words[:2], "delete", "leases", "-l", f"ipam.nodenet.org/node={worker.node_name}")
    assert site.leases(network) == []
