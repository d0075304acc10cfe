"""The status of the object: owners and nodes. A right status is not written again, and each one fits the schema."""

from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from nodenet.core.hosted_cluster.cluster_status import (
    Seen,
    claims,
    conditions,
    lonely,
    operator_status,
    remembered,
    silent,
    status,
    unheard,
    with_times,
)
from nodenet.core.hosted_cluster.node_report import Member, NodeReport, Stack
from nodenet.core.hosted_services.migration import Migration, Outcome, Phase
from nodenet.core.hosted_services.model import ClusterNode, Mode, Options, Role, Service, Spec
from nodenet.core.hosted_services.report import HostedHealth
from nodenet.core.hosted_services.resource import GROUP, KIND
from nodenet.core.hosted_services.vips import REMEDY

API, INGRESS, LB = map(ip_address, ("192.0.2.2", "192.0.2.3", "192.0.2.9"))
OPTIONS = Options("baremetal", "c1.example.com", (API,), (INGRESS,))
WELL = NodeReport(Mode.SELF_HOSTED, HostedHealth.OK, Stack.NODENET, api=True, generation=2)


def member(name: str, role: Role = Role.CONTROL_PLANE, *, alive: bool = True, **report: Any) -> Member:
    address = ip_address(f"192.0.2.{10 + int(name[1:])}")
    return Member(ClusterNode(name, (address,), role), replace(WELL, **report), alive)


GOOD = Seen(
    OPTIONS, generation=2, members=(member("m0", vips=(API,)), member("m1"), member("w2", Role.WORKER, vips=(INGRESS,)))
)


def states(seen: Seen) -> dict[str, tuple[str, str]]:
    return {one.type: (one.status, one.reason) for one in conditions(seen)}


def message(seen: Seen, kind: str) -> str:
    return next(one.message for one in conditions(seen) if one.type == kind)


def with_members(*found: Member, **changes: Any) -> Seen:
    return replace(GOOD, members=found, **changes)


def test_a_migration_that_the_settings_stop_is_degraded_with_the_cause() -> None:
    moving = Migration(Phase.SWITCH_DNS, (API,), (LB,), 1, vips=(API,))
    seen = replace(GOOD, options=replace(OPTIONS, api_vips=()), migration=moving)
    assert states(seen)["Degraded"] == ("True", "MigrationWaits")
    assert message(seen, "Degraded") == (
        "The migration of the API waits in SwitchDNS: no API VIP is configured (`api_vips`). Correct the ConfigMap "
        "nodenet-operator, then run `kubectl -n kube-system rollout restart deployment/nodenet-operator`"
    )
    assert states(seen)["Disabled"] == ("True", "Disabled")
    rests = replace(seen, migration=replace(moving, phase=Phase.EXTERNAL))
    assert states(rests)["Degraded"] == ("False", "Disabled")


def test_an_api_that_answers_nowhere_is_not_available() -> None:
    seen = with_members(member("m0", api=False), member("m1", api=None), member("w2", Role.WORKER, api=True))
    assert states(seen)["Available"] == ("False", "ApiDoesNotAnswer")
    assert states(seen)["Degraded"] == ("True", "ApiDoesNotAnswer")
    assert message(seen, "Available") == (
        "The API does not answer at its VIP (reported by m0): see `nodenetctl hosted` there"
    )
    external = replace(seen, spec=Spec(api_int_addresses=(LB,)))
    assert message(external, "Available").startswith("The API does not answer at its external load balancer")


def test_two_holders_are_degraded_when_a_node_sees_them_on_the_wire() -> None:
    lagging = with_members(member("m0", vips=(API,)), member("m1", vips=(API,)))
    assert states(lagging)["Degraded"][0] == "False", "the report of before, after a takeover"
    split = with_members(member("m0", vips=(API,), split=(API,)), member("m1", vips=(API,)))
    assert states(split)["Degraded"] == ("True", "TwoHolders")
    assert message(split, "Degraded") == (f"The api VIP 192.0.2.2 has more than one holder: {REMEDY}")
    claimed = with_members(member("m0", vips=(API,)), member("w2", Role.WORKER, split=(API,)))
    assert states(claimed)["Degraded"][0] == "False", "a worker has no say about the API VIP"


def test_a_restart_does_not_make_a_degraded_cluster_well() -> None:
    seen = with_members(member("m0", vips=(INGRESS,)), now=1000.0)
    before = {"conditions": [{"type": "Degraded", "status": "True"}]}
    again = replace(seen, lonely=lonely(remembered(before, seen), seen))
    assert states(again)["Degraded"] == ("True", "NoHolder")
    assert remembered({}, seen) == {}
    held = with_members(member("m0", vips=(API, INGRESS)), now=1000.0)
    assert lonely(remembered(before, held), held) == {}


def test_switched_off_and_external_ask_for_no_holder() -> None:
    late = {"lonely": {API: 0.0, INGRESS: 0.0}, "now": 1000.0}
    assert states(with_members(member("m0"), **late))["Degraded"] == ("True", "NoHolder")
    off = with_members(member("m0", vips=(API,)), spec=Spec(ingress_ha=False), now=1000.0)
    assert lonely({INGRESS: 0.0}, off) == {}
    external = with_members(member("m0", vips=(INGRESS,)), spec=Spec(api_int_addresses=(LB,)), now=1000.0)
    assert states(replace(external, lonely={API: 0.0}))["Degraded"][0] == "False"
    ingress = with_members(member("m0"), spec=Spec(api_int_addresses=(LB,)), **late)
    assert states(ingress)["Degraded"] == ("True", "NoHolder"), "the ingress VIP is still the nodes'"
    managed = replace(OPTIONS, user_managed_lb=True)
    assert states(with_members(member("m0"), options=managed, **late))["Degraded"][0] == "False"


def test_every_problem_is_named_with_its_remedy() -> None:
    bad = [member(f"m{n}", vips=(API,), health=HostedHealth.DEGRADED, problems=(f"p{n}",)) for n in range(7)]
    wrong = replace(member("m8"), report=None, problem="it is not JSON")
    seen = with_members(*bad, wrong, problem="spec.ingressHa is 'x'; expected Enabled or Disabled")
    assert states(seen)["Degraded"] == ("True", "ResourceInvalid")
    assert message(seen, "Degraded") == (
        "The object is not used, and the nodes keep the last good one: spec.ingressHa is 'x'; expected Enabled or "
        "Disabled. The reports of m8 cannot be read (it is not JSON): update nodenet there. Degraded nodes: "
        "m0: p0; m1: p1; m2: p2; m3: p3; m4: p4 and 2 more"
    )


def test_a_condition_keeps_its_time_while_its_status_stays() -> None:
    first = with_times(conditions(GOOD), None, 2, "T1")
    assert {one["lastTransitionTime"] for one in first} == {"T1"}
    assert {one["observedGeneration"] for one in first} == {2}
    second = {one["type"]: one["lastTransitionTime"] for one in with_times(conditions(with_members()), first, 2, "T2")}
    assert second == {"Available": "T2", **dict.fromkeys(("Progressing", "Degraded", "Disabled", "VerifyFailed"), "T1")}
    assert with_times(conditions(GOOD), [7, {"type": "Available"}], 2, "T3")[0]["lastTransitionTime"] == "T3"


CRD = Path(__file__).parents[3] / "packaging" / "cluster" / "crd-hostednetservices.yaml"


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


def test_the_conditions_of_the_object_and_the_version() -> None:
    found = operator_status(with_times(conditions(GOOD), None, 2, "T"), "1.2.3")
    assert found["conditions"][0] == {
        "type": "Available",
        "status": "True",
        "reason": "ApiAnswers",
        "message": "The API answers at its VIP",
        "lastTransitionTime": "T",
    }
    assert [one["type"] for one in found["conditions"]] == [
        *("Available", "Progressing", "Degraded", "Disabled", "VerifyFailed")
    ]
    assert found["versions"] == [{"name": "operator", "version": "1.2.3"}]
    assert [one["resource"] for one in found["relatedObjects"]] == ["hostednetservices", "namespaces"]
