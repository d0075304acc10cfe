"""The document: health, phase, holders and problems."""

from dataclasses import replace
from ipaddress import ip_address
from typing import Any

import pytest

from hosted_services_cases import CASES, read_inputs
from nodenet.core.hosted_services.migration import Migration, Phase
from nodenet.core.hosted_services.model import Service, Spec
from nodenet.core.hosted_services.plan import plan
from nodenet.core.hosted_services.report import (
    TOPICS,
    WITHOUT_SOURCE,
    HostedHealth,
    Report,
    ServiceState,
    document,
    explain,
    lines,
)
from nodenet.core.hosted_services.vips import REMEDY, Sighting, Stance

PLAN = plan(read_inputs(CASES / "control-plane"))
MAC = "02:00:00:00:00:02"
SEEN = {duty.address: Sighting(duty.address, here=False, others=frozenset({MAC})) for duty in PLAN.vips}
GOOD = Report(
    PLAN,
    "master-0",
    "baremetal",
    {duty.service: ServiceState(duty.wanted, running=True, reason=duty.reason) for duty in PLAN.duties},
    dict.fromkeys(map(ip_address, ("192.0.2.2", "192.0.2.3")), Stance.CANDIDATE),
    SEEN,
    {MAC: "master-1"},
    reachable=True,
)


def test_every_vip_seen_once_and_no_problem_is_ok() -> None:
    found = document(GOOD)
    assert (found["health"], found["phase"], found["mode"], found["problems"]) == (
        "ok",
        "SelfHosted",
        "self-hosted",
        [],
    )
    assert found["vips"][0]["holders"] == ["master-1"]
    assert (found["vips"][0]["here"], found["vips"][0]["stance"]) == (False, "candidate")


def test_two_holders_are_degraded_and_named() -> None:
    vip = PLAN.vips[0].address
    split = SEEN | {vip: Sighting(vip, here=True, others=frozenset({MAC}))}
    found = replace(GOOD, sightings=split)
    assert found.health is HostedHealth.DEGRADED
    assert found.all_problems == (f"The VIP {vip} has 2 holders, master-0 and master-1 ({MAC}): {REMEDY}",)


@pytest.mark.parametrize(
    ("stance", "phase"),
    [
        (Stance.DRAINING, "Draining"),
        (Stance.STAYING_OUT, "StayingOut"),
        (Stance.PROBING, "Probing"),
    ],
)
def test_the_phase_follows_the_stance(stance: Stance, phase: str) -> None:
    assert replace(GOOD, stances={ip_address("192.0.2.2"): stance}).phase == phase


def test_a_service_that_waits_for_another_stack_says_so() -> None:
    waits = ServiceState(wanted=True, running=False, problem="waits: another program listens on port 9445")
    found = replace(GOOD, services={Service.HAPROXY: waits})
    assert found.phase == "WaitingForPeerStack"
    assert found.all_problems == ("haproxy: waits: another program listens on port 9445",)


def test_a_platform_without_hosted_services_is_disabled_whatever_else_is() -> None:
    made = plan(read_inputs(CASES / "platform-aws"))
    found = Report(made, "n", problems=("x",))
    assert (found.health, found.phase) == (HostedHealth.DISABLED, "Disabled")


VIP, LB = PLAN.vips[0].address, ip_address("192.0.2.200")


def test_a_good_node() -> None:
    assert lines(document(GOOD)) == (
        "ok: self-hosted, SelfHosted (master-0, control-plane)",
        "api-int   192.0.2.2 (from the API VIP), the API answers there",
        "VIP       192.0.2.2       api      held by master-1",
        "VIP       192.0.2.3       ingress  held by master-1",
        "service   dnsmasq         runs",
        "service   keepalived      runs",
        "service   haproxy         runs",
        "service   redirect        runs",
    )


def test_a_split_and_what_is_not_seen() -> None:
    vip = PLAN.vips[0].address
    split: Report = replace(GOOD, sightings={vip: Sighting(vip, here=True, others=frozenset({MAC}))}, reachable=False)
    found = lines(document(split))
    assert "VIP       192.0.2.2       api      held by master-0, master-1 (this node)" in found
    assert "VIP       192.0.2.3       ingress  not seen on the wire" in found
    assert found[-2:] == (
        f"problem   The VIP 192.0.2.2 has 2 holders, master-0 and master-1 ({MAC}): {REMEDY}",
        "problem   The API does not answer through its VIP: see `nodenetctl explain vip`",
    )


def test_an_api_that_cannot_be_read() -> None:
    """The document had it, and the screen did not: a node that lives from its cache looked like any other."""
    cause = "The API cannot be verified: its certificate has expired on Nov 20 12:00:00 2026 GMT"
    assert lines(document(GOOD) | {"cluster": cause})[-1] == f"cluster   {cause}"
    assert lines(document(GOOD) | {"cluster": None}) == lines(document(GOOD))


def test_a_service_that_is_switched_off_is_shown() -> None:
    found = lines(document(replace(GOOD, spec=Spec(ingress_ha=False))))
    assert found[-1] == "switch    spec.ingressHa is Disabled"


def migrating(**changes: Any) -> list[str]:
    """Return the line of a migration."""
    asked = changes.pop("asked", ())
    record = replace(Migration(Phase.SELF_HOSTED, (VIP,), (VIP,)), **changes)
    shown = document(replace(GOOD, spec=Spec(api_int_addresses=asked, migration=record)))
    return [line for line in lines(shown) if line.startswith("migration")]


def test_a_migration_is_shown_while_it_moves_waits_or_has_failed() -> None:
    assert migrating() == migrating(asked=(VIP,)) == []
    (waits,) = migrating(asked=(LB,))
    assert waits == (
        f"migration the object asks for {LB}, and nodenet-operator has not begun: "
        "see `kubectl -n kube-system logs deployment/nodenet-operator`"
    )
    assert migrating(phase=Phase.EXTERNAL, target=(LB,))[0].startswith(f"migration the object asks for {VIP}, and")
    assert migrating(phase=Phase.VERIFY, target=(LB,), message="They check") == [
        f"migration Verify, {VIP} to {LB}: They check"
    ]
    assert migrating(asked=(LB,), failed=3, message="Rolled back") == ["migration Rolled back"]


VIPS = (ip_address("192.0.2.2"), ip_address("192.0.2.3"))


def test_a_vip_that_is_not_taken_because_keepalived_cannot_use_the_node_ip() -> None:
    found = document(replace(GOOD, muted=frozenset(VIPS[1:])))
    assert (explain("vip", found) or ())[2:] == (
        "  It takes part in VRRP",
        "The ingress VIP 192.0.2.3 is held by master-1",
        f"  This node may not hold it: {WITHOUT_SOURCE}",
    )
    assert (found["vips"][1]["candidate"], found["vips"][1]["stance"]) == (False, None)


def test_api_int_of_the_settings_and_of_an_external_load_balancer() -> None:
    assert explain("api-int", document(GOOD)) == (
        "api-int is 192.0.2.2",
        "No HostedNetServices object names another address: it is the API VIP of the settings",
        "The API answers there, verified by the cluster's CA",
    )
    external = document(Report(plan(read_inputs(CASES / "api-int-is-external")), "master-0"))
    assert (explain("api-int", external) or ())[2] == (
        "It is not a VIP of the cluster: an external load balancer serves the API, and haproxy does not run"
    )


def test_api_int_of_an_address_that_takes_the_place_of_a_dead_one() -> None:
    """It was said that no object names another address."""
    inputs = read_inputs(CASES / "api-int-is-external")
    (balancer,) = inputs.spec.api_int_addresses
    dead = document(Report(plan(replace(inputs, dead=frozenset({balancer}))), "master-0"))
    why = (
        f"The external load balancer {balancer} does not answer, and api-int is the API VIP until it does: see to the "
        "load balancer, or remove apiintIpAddress"
    )
    assert explain("api-int", dead) == ("api-int is 192.0.2.2", why)


def test_services() -> None:
    assert (explain("hosted", document(GOOD)) or ())[0] == "dnsmasq runs: every node answers the cluster's names itself"


@pytest.mark.parametrize("stance", Stance)
def test_every_stance_is_explained(stance: Stance) -> None:
    found = explain("vip", document(replace(GOOD, stances=dict.fromkeys(VIPS, stance))))
    assert found is not None
    assert len(found) == 6


def test_every_topic_is_explained_in_every_case() -> None:
    for directory in CASES.iterdir():
        shown = document(Report(plan(read_inputs(directory)), "master-0"))
        assert all(explain(topic, shown) is not None for topic in TOPICS), directory.name
    assert explain("weather", document(GOOD)) is None
