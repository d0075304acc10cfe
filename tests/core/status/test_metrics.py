"""The metrics of a status document."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from metrics_text import Sample, parsed
from nodenet.core.boot.outcome import Problem
from nodenet.core.boot.stages import new_boot
from nodenet.core.messages import Message
from nodenet.core.metrics import text
from nodenet.core.status.document import BootStatus, Refusal, document
from nodenet.core.status.metrics import FAMILIES, lines
from status_cases import DEGRADED, GOOD, PROBLEM, WAITING

NEW = document(BootStatus(new_boot({}, degrade=True)))


def metrics(of: dict[str, Any]) -> list[Sample]:
    return parsed(text(lines(of)), FAMILIES)


def value(of: dict[str, Any], family: str, **labels: str) -> float | None:
    """Return the value of one sample, None where there is none."""
    found = [one.value for one in metrics(of) if one.family == family and dict(one.labels) == labels]
    return found[0] if found else None


def test_a_good_node() -> None:
    assert value(GOOD, "nodenet_health", health="ok") == 1
    assert value(GOOD, "nodenet_health", health="degraded") == 0
    assert value(GOOD, "nodenet_ready") == 1
    assert value(GOOD, "nodenet_node_file_applied") == 1
    assert value(GOOD, "nodenet_stage_duration_seconds", stage="nodeip") == 1.5
    assert [one for one in metrics(GOOD) if one.family == "nodenet_problem"] == []


def test_a_degraded_node_names_its_problem() -> None:
    assert value(DEGRADED, "nodenet_health", health="degraded") == 1
    assert value(DEGRADED, "nodenet_problem", problem="apply_failed", stage="nmstate") == 1
    assert value(DEGRADED, "nodenet_node_file_applied") == 0
    assert value(DEGRADED, "nodenet_stage_status", stage="nmstate", status="failed") == 1


def test_a_node_that_waits() -> None:
    assert value(WAITING, "nodenet_ready") == 0
    assert value(WAITING, "nodenet_stage_status", stage="nmstate", status="waiting") == 1
    assert value(WAITING, "nodenet_stage_duration_seconds", stage="nmstate") is None


def test_a_node_that_has_not_begun() -> None:
    assert value(NEW, "nodenet_health", health="waiting") == 1
    assert value(NEW, "nodenet_node_file_applied") is None


def test_lost_node_ips_are_drift() -> None:
    lost = Problem(Message.NODE_IP_DRIFT, "Node IP 192.0.2.7 is missing", "See to it")
    drifted = document(BootStatus(new_boot({}, degrade=True), losses=(lost,)))
    assert (value(GOOD, "nodenet_node_ips_missing"), value(drifted, "nodenet_node_ips_missing")) == (0, 1)
    assert value(drifted, "nodenet_problem", problem="node_ip_drift", stage="nodeip") == 1


def test_two_problems_with_one_name_are_one_sample() -> None:
    """A sample that comes twice makes node_exporter refuse the whole file."""
    status = BootStatus(new_boot({}, degrade=True), losses=(), refused=Refusal(PROBLEM))
    twice = document(replace(status, uplink=replace(PROBLEM, cause="another one")))
    assert len(twice["problems"]) == 2
    assert value(twice, "nodenet_problem", problem="apply_failed", stage="") == 1


@pytest.mark.parametrize("of", [GOOD, DEGRADED, WAITING, NEW], ids=["good", "degraded", "waiting", "new"])
def test_causes_stay_out(of: dict[str, Any]) -> None:
    """They name hosts and values; the journal and `nodenetctl status` have them."""
    assert PROBLEM.cause not in text(lines(of))
    assert "worker-0" not in text(lines(of))


def test_every_metric_has_a_value_somewhere() -> None:
    seen = {one.family for of in (GOOD, DEGRADED) for one in metrics(of)}
    assert seen == {family.name for family in FAMILIES}
