"""The kind HostedNetServices in a real API: each rule has objects that it takes and objects that it refuses.

What the API takes, a node can use; what a rule refuses, a node would refuse too.
"""

from __future__ import annotations

import json
from ipaddress import ip_address
from typing import Any

import pytest

from harness.kube import Cluster
from harness.kube_client import ApiError
from hosted_cluster_objects import FOLDER, MANIFESTS, RESOURCE, RESOURCES, resource
from ipam_site import manifest
from nodenet.core.hosted_services.migration import Migration, Phase, render
from nodenet.core.hosted_services.resource import ResourceInvalid, spec_of

TRIED = f"{RESOURCES}?dryRun=All&fieldValidation=Strict"
SWITCHES = ("nodesResolution", "appsResolution", "apiInt")
NO_ADDRESS, UNREACHABLE = "this is not an IP address", "this is not an address that other hosts can reach"
LB, OTHER, LB6 = "192.0.2.9", "192.0.2.8", "2001:db8::9"
TAKEN: list[dict[str, Any]] = [
    *({"dns": {switch: word}} for switch in SWITCHES for word in ("Enabled", "Disabled")),
    {"ingressHa": "Enabled"},
    {"ingressHa": "Disabled"},
    {"apiintIpAddress": LB},
    {"apiintIpAddress": LB6},
    {"apiintIpAddress": "10.0.0.1"},
    {"dns": {"apiintIpAddress": LB}},
    {"apiintIpAddress": LB6, "dns": {"apiintIpAddress": "2001:DB8:0:0::9"}},
    {"apiintIpAddresses": [LB]},
    {"apiintIpAddresses": [LB6, LB]},
    {"apiintIpAddresses": [LB6, LB], "apiintIpAddress": LB},
    {"apiintIpAddresses": [LB6, LB], "dns": {"apiintIpAddress": LB6}},
]
REFUSED: list[tuple[Any, str]] = [
    *(({"dns": {switch: "enabled"}}, f'spec.dns.{switch}: Unsupported value: "enabled"') for switch in SWITCHES),
    *(({"dns": {switch: True}}, f"spec.dns.{switch} in body must be of type string") for switch in SWITCHES),
    ({"ingressHa": "off"}, 'spec.ingressHa: Unsupported value: "off"'),
    ({"apiintIpAddress": 7}, "spec.apiintIpAddress in body must be of type string"),
    *(
        ({"apiintIpAddress": text}, NO_ADDRESS)
        for text in ("", "lb.example.com", f"{LB}/24", f"::ffff:{LB}", f"{LB6}%eth0", "192.0.2.09", " 192.0.2.9")
    ),
    *(
        ({"apiintIpAddress": text}, UNREACHABLE)
        for text in ("127.0.0.1", "0.1.2.3", "169.254.1.1", "224.0.0.1", "240.0.0.1", "255.255.255.255")
    ),
    *(({"apiintIpAddress": text}, UNREACHABLE) for text in ("::", "::1", "fe80::1", "ff02::1")),
    ({"apiintIpAddress": "1" * 46}, "spec.apiintIpAddress: Too long: may not be more than 45 bytes"),
    ({"dns": {"apiintIpAddress": "::1"}}, UNREACHABLE),
    ({"apiintIpAddresses": ["::1"]}, UNREACHABLE),
    (
        {"apiintIpAddress": LB, "dns": {"apiintIpAddress": OTHER}},
        "spec.apiintIpAddress and spec.dns.apiintIpAddress differ. Keep one of them",
    ),
    ({"apiintIpAddresses": []}, "spec.apiintIpAddresses in body should have at least 1 items"),
    ({"apiintIpAddresses": [LB, LB6, OTHER]}, "spec.apiintIpAddresses: Too many: 3: must have at most 2 items"),
    ({"apiintIpAddresses": [LB, OTHER]}, "there are two addresses of one family. Keep one a family"),
    (
        {"apiintIpAddresses": [LB], "apiintIpAddress": OTHER},
        "spec.apiintIpAddress is not in spec.apiintIpAddresses. Keep one of the two",
    ),
    (
        {"apiintIpAddresses": [LB], "dns": {"apiintIpAddress": OTHER}},
        "spec.dns.apiintIpAddress is not in spec.apiintIpAddresses. Keep one of the two",
    ),
    ({"colour": 1}, 'unknown field "spec.colour"'),
    ({"dns": {"nodeResolution": "Enabled"}}, 'unknown field "spec.dns.nodeResolution"'),
    ([], "spec in body must be of type object"),
]


@pytest.mark.parametrize("spec", TAKEN, ids=str)
def test_what_the_api_takes_a_node_can_use(cluster: Cluster, spec: dict[str, Any]) -> None:
    taken = cluster.admin.create(TRIED, resource(spec))
    assert spec_of(taken) == spec_of(resource(spec))


@pytest.mark.parametrize(("spec", "text"), REFUSED, ids=str)
def test_what_a_rule_refuses_a_node_refuses_too(cluster: Cluster, spec: Any, text: str) -> None:
    with pytest.raises(ApiError) as caught:
        cluster.admin.create(TRIED, resource(spec))
    assert caught.value.status in (400, 422)
    assert text in str(caught.value)
    if spec != []:  # an empty list is no spec for a node
        with pytest.raises(ResourceInvalid):
            spec_of(resource(spec))


def test_the_example_is_the_default(cluster: Cluster) -> None:
    example = manifest(str(FOLDER / "examples" / "hostednetservices.yaml"))[0]
    assert cluster.admin.create(TRIED, example)["spec"] == cluster.admin.create(TRIED, resource())["spec"]


def test_there_is_one_object(cluster: Cluster) -> None:
    with pytest.raises(ApiError, match='there is one object, and its name is "cluster"'):
        cluster.admin.create(TRIED, resource({}, "mine"))


def test_an_object_without_a_spec_gets_every_default_and_kubectl_shows_it(cluster: Cluster) -> None:
    made = cluster.admin.create(RESOURCES, resource())
    assert made["spec"] == {"dns": dict.fromkeys(SWITCHES, "Enabled"), "ingressHa": "Enabled"}
    condition = {"type": "Degraded", "reason": "AsExpected", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    node = {"name": "master-0", "role": "control-plane", "addresses": ["192.0.2.10"], "healthy": "True"}
    migration = render(Migration(Phase.SWITCH_DNS, (ip_address("192.0.2.2"),), (ip_address("192.0.2.9"),), 1))
    status = {
        "migration": migration,
        "apiServerInternalIpOwner": "master-0",
        "observedGeneration": 1,
        "conditions": [{**condition, "status": "False", "message": "All is well"}],
        "nodes": [{**node, "vips": ["192.0.2.2"], "services": ["dnsmasq"], "stack": "nodenet"}],
    }
    cluster.admin.patch(f"{RESOURCE}/status?fieldValidation=Strict", {"status": status})
    head, row = cluster.kubectl("get", "hns").stdout.splitlines()
    assert head.split("   ")[0] == "NAME"
    columns = ("API VIP ON", "INGRESS VIP ON", "PHASE", "AVAILABLE", "DEGRADED", "AGE")
    assert [word for word in columns if word not in head] == []
    assert row.split()[:4] == ["cluster", "master-0", "SwitchDNS", "False"]
    for wrong in (
        {"nodes": [{**node, "healthy": "yes"}]},
        {"migration": {**migration, "phase": "Fast"}},
        {"migration": {**migration, "outcome": "Great"}},
    ):
        with pytest.raises(ApiError, match="Unsupported value"):
            cluster.admin.patch(f"{RESOURCE}/status", {"status": wrong})
    cluster.admin.delete(RESOURCE)


def test_what_all_nodes_watch_is_a_quarter_of_a_kilobyte_for_each_node(cluster: Cluster) -> None:
    """Each change goes to all nodes: the record of who wrote which field made up more than half of the object."""
    cluster.admin.create(RESOURCES, resource())
    try:
        nodes = [
            {
                "name": f"worker-{number}.c1.example.com",
                "role": "worker",
                "addresses": [f"10.88.{number // 250}.{number % 250 + 1}"],
                "vips": [],
                "services": ["dnsmasq", "keepalived"],
                "healthy": "True",
                "stack": "nodenet",
            }
            for number in range(500)
        ]
        for _ in range(2):  # the first write and a change
            cluster.admin.patch(f"{RESOURCE}/status", {"status": {"nodes": nodes}})
            nodes[7]["healthy"] = "False"
        assert len(json.dumps(cluster.admin.get(RESOURCE), separators=(",", ":"))) < 500 * 256
    finally:
        cluster.admin.delete(RESOURCE)


@pytest.mark.parametrize(
    "field", ["spec", "spec.dns", "spec.apiintIpAddress", "status", "status.migration", "status.nodes"]
)
def test_explain_has_a_sentence_for_each_field(cluster: Cluster, field: str) -> None:
    shown = cluster.kubectl("explain", f"hostednetservices.{field}").stdout
    assert "<no description>" not in shown
    assert "DESCRIPTION:" in shown


def test_one_command_applies_everything(cluster: Cluster) -> None:
    """The API takes each object of the directory that kubectl takes."""
    applied = cluster.kubectl(
        "apply", "--server-side", "--force-conflicts", "--dry-run=server", "-k", str(FOLDER)
    ).stdout
    listed = manifest("kustomization.yaml")[0]["resources"]
    assert listed == [path.name for path in (*MANIFESTS, FOLDER / "operator.yaml")]
    assert len(applied.splitlines()) == sum(len(manifest(name)) for name in listed)
