"""The document: health, phase, holders and problems."""

from dataclasses import replace
from ipaddress import ip_address

import pytest

from hosted_services_cases import CASES, read_inputs
from nodenet.core.hosted_services.model import Service
from nodenet.core.hosted_services.plan import plan
from nodenet.core.hosted_services.report import HostedHealth, Report, ServiceState, document
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


def test_a_vip_that_was_not_seen_yet_is_progressing() -> None:
    assert replace(GOOD, sightings={}).health is HostedHealth.PROGRESSING


def test_two_holders_are_degraded_and_named() -> None:
    vip = PLAN.vips[0].address
    split = SEEN | {vip: Sighting(vip, here=True, others=frozenset({MAC}))}
    found = replace(GOOD, sightings=split)
    assert found.health is HostedHealth.DEGRADED
    assert found.all_problems == (f"The VIP {vip} has 2 holders, master-0 and master-1 ({MAC}): {REMEDY}",)


def test_an_api_that_does_not_answer_through_the_vip_is_degraded() -> None:
    assert replace(GOOD, reachable=False).all_problems == (
        "The API does not answer through its VIP: see `nodenetctl explain vip`",
    )
    assert replace(GOOD, reachable=None).health is HostedHealth.OK


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


def test_an_external_load_balancer_is_a_phase_of_its_own() -> None:
    assert Report(plan(read_inputs(CASES / "api-int-is-external")), "n").phase == "External"
