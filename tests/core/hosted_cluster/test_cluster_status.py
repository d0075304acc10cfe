"""The status of the object: owners and nodes. A right status is not written again, and each one fits the schema."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from core.hosted_cluster.test_conditions import API, GOOD, INGRESS, OPTIONS, member, with_members
from nodenet.core.hosted_cluster.cluster_status import claims, silent, status, unheard
from nodenet.core.hosted_cluster.node_report import Stack
from nodenet.core.hosted_services.migration import Migration, Outcome, Phase
from nodenet.core.hosted_services.model import Role, Service
from nodenet.core.hosted_services.nodes import of_status
from nodenet.core.hosted_services.resource import GROUP, KIND

CRD = Path(__file__).parents[3] / "packaging" / "cluster" / "crd-hostednetservices.yaml"


def test_owners_and_nodes() -> None:
    found = status(GOOD, {}, "T1")
    assert (found["apiServerInternalIpOwner"], found["ingressIpOwner"], found["observedGeneration"]) == ("m0", "w2", 2)
    assert found["nodes"][0] == {
        "name": "m0",
        "role": "control-plane",
        "addresses": ["192.0.2.10"],
        "vips": ["192.0.2.2"],
        "services": [],
        "healthy": "True",
        "stack": "nodenet",
    }


def test_nodes_that_were_never_heard_change_the_condition_alone() -> None:
    before = status(GOOD, {}, "T1")
    found = unheard("refused", before, 2, "T2")
    (degraded,) = [one for one in found["conditions"] if one["type"] == "Degraded"]
    assert (degraded["status"], degraded["reason"], degraded["lastTransitionTime"]) == ("True", "NodesUnheard", "T2")
    assert {**found, "conditions": []} == {**before, "conditions": []}
    assert [one for one in found["conditions"] if one is not degraded] == [
        one for one in before["conditions"] if one["type"] != "Degraded"
    ]
    assert unheard("refused", found, 2, "T3") == found
    assert [one["type"] for one in unheard("refused", {}, 1, "T1")["conditions"]] == ["Degraded"]


def test_a_right_status_stays() -> None:
    before = status(GOOD, {}, "T1")
    assert status(GOOD, before, "T2") == before


def test_an_owner_is_empty_when_no_node_holds_the_vip() -> None:
    assert (
        status(with_members(member("m0"), member("m1", vips=(API,), alive=False)), {}, "T")["apiServerInternalIpOwner"]
        == ""
    )
    claimed = with_members(member("w2", Role.WORKER, vips=(API,)))
    assert status(claimed, {}, "T")["apiServerInternalIpOwner"] == "", "a worker cannot claim the API VIP"
    assert status(claimed, {}, "T")["nodes"][0]["vips"] == []
    disabled = replace(GOOD, options=replace(OPTIONS, platform="aws"))
    assert status(disabled, {}, "T")["ingressIpOwner"] == ""


def test_after_a_takeover_the_new_holder_is_the_owner_although_the_old_one_has_not_reported_yet() -> None:
    first = with_members(member("m0", vips=(API,)), member("m1"), now=1.0)
    since = claims({}, first)
    both = with_members(member("m0", vips=(API,)), member("m1", vips=(API,)), now=2.0)
    both = replace(both, claims=claims(since, both))
    found = status(replace(first, claims=since), {}, "T")
    for _ in range(3):  # and it stays so, however often this is looked at
        found = status(both, found, "T")
        assert found["apiServerInternalIpOwner"] == "m1"
    unknown = replace(both, claims={})
    assert status(unknown, {"apiServerInternalIpOwner": "m0"}, "T")["apiServerInternalIpOwner"] == "m0"
    assert status(unknown, {"apiServerInternalIpOwner": "m1"}, "T")["apiServerInternalIpOwner"] == "m1"
    assert claims(both.claims, first) == since


def test_a_silent_node_is_unknown_and_remembered() -> None:
    seen = with_members(member("m0", alive=False, vips=(API,)), member("m1"))
    found = status(seen, {}, "T")
    assert found["nodes"][0] | {"addresses": []} == {
        "name": "m0",
        "role": "control-plane",
        "addresses": [],
        "vips": [],
        "services": [],
        "healthy": "Unknown",
        "stack": "unknown",
    }
    assert silent(found) == {"m0"}
    assert silent({}) == silent({"nodes": 5}) == silent({"nodes": [5]}) == frozenset()


def test_nodes_read_their_peers_from_it() -> None:
    assert of_status(status(GOOD, {}, "T")["nodes"]).nodes == tuple(one.node for one in GOOD.members)


def schema() -> dict[str, Any]:
    (document,) = YAML(typ="safe").load_all(CRD)
    assert document["metadata"]["name"] == f"{KIND.lower()}.{GROUP}"
    found: dict[str, Any] = document["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return found


def undescribed(place: str, node: dict[str, Any]) -> list[str]:
    """Return the fields without a sentence for ``kubectl explain``."""
    below = [found for name, one in node.get("properties", {}).items() for found in undescribed(f"{place}.{name}", one)]
    below += undescribed(f"{place}[]", node["items"] | {"description": "-."}) if "items" in node else []
    return below if node.get("description", "").endswith(".") else [place, *below]


def test_every_field_of_the_schema_has_a_sentence() -> None:
    properties = schema()["properties"]
    assert undescribed("spec", properties["spec"]) + undescribed("status", properties["status"]) == []


def test_the_schema_knows_what_is_written() -> None:
    known = schema()["properties"]["status"]["properties"]
    found = status(with_members(member("m0", vips=(API, INGRESS), services=tuple(Service))), {}, "T")
    assert set(found) == set(known)
    moved = status(replace(with_members(), migration=Migration(Phase.EXTERNAL)), {}, "T")["migration"]
    assert set(moved) == set(known["migration"]["properties"])
    assert set(known["migration"]["properties"]["phase"]["enum"]) == set(Phase)
    assert set(known["migration"]["properties"]["outcome"]["enum"]) == set(Outcome)
    node = known["nodes"]["items"]["properties"]
    assert set(found["nodes"][0]) == set(node)
    assert set(node["stack"]["enum"]) == {*Stack, "unknown"}
    assert set(node["role"]["enum"]) == set(Role)
    assert set(found["conditions"][0]) == set(known["conditions"]["items"]["properties"])
    assert node["services"]["maxItems"] >= len(Service)
