"""The metrics of hosted services."""

from __future__ import annotations

from dataclasses import replace

from core.hosted_services.test_report import GOOD, MAC, PLAN
from metrics_text import Sample, parsed
from nodenet.core.hosted_services.metrics import FAMILIES, lines
from nodenet.core.hosted_services.model import Service
from nodenet.core.hosted_services.report import Report, ServiceState, document
from nodenet.core.hosted_services.vips import Sighting
from nodenet.core.metrics import text

VIP = PLAN.vips[0]


def metrics(of: Report) -> list[Sample]:
    return parsed(text(lines(document(of))), FAMILIES)


def value(of: Report, family: str, **labels: str) -> float | None:
    """Return the value of one sample, None where there is none."""
    found = [one.value for one in metrics(of) if one.family == family and dict(one.labels) == labels]
    return found[0] if found else None


def test_a_good_node() -> None:
    labels = {"address": str(VIP.address), "purpose": VIP.purpose.value}
    assert value(GOOD, "nodenet_hosted_health", health="ok") == 1
    assert value(GOOD, "nodenet_hosted_phase", mode="self-hosted", phase="SelfHosted") == 1
    assert value(GOOD, "nodenet_hosted_api_reachable") == 1
    assert value(GOOD, "nodenet_hosted_vip_holders", **labels) == 1
    assert value(GOOD, "nodenet_hosted_vip_here", **labels) == 0
    assert value(GOOD, "nodenet_hosted_service_running", service="keepalived") == 1


def test_two_holders_are_counted() -> None:
    split = Sighting(VIP.address, here=True, others=frozenset({MAC}))
    found = replace(GOOD, sightings={**GOOD.sightings, VIP.address: split})
    labels = {"address": str(VIP.address), "purpose": VIP.purpose.value}
    assert value(found, "nodenet_hosted_vip_holders", **labels) == 2
    assert value(found, "nodenet_hosted_vip_here", **labels) == 1
    assert value(found, "nodenet_hosted_problems") == 1


def test_every_metric_has_a_value_somewhere() -> None:
    haproxy = ServiceState(wanted=True, running=True, healthy=False)
    found = replace(GOOD, services={**GOOD.services, Service.HAPROXY: haproxy})
    assert value(found, "nodenet_hosted_service_healthy", service="haproxy") == 0
    assert {one.family for one in metrics(found)} == {family.name for family in FAMILIES}
