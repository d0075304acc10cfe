"""The alerting rules and the dashboard: Prometheus accepts them, and they ask for metrics that there are."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from core.hosted_cluster.test_cluster_status import GOOD as CLUSTER
from core.hosted_services.test_report import GOOD as HOSTED
from core.persistent_ips.test_bus import DOCUMENT as CLAIMS
from make_metrics import FAMILIES
from metrics_text import SUFFIXES
from nodenet.core.boot.stage_state import Status
from nodenet.core.boot.stages import Health
from nodenet.core.hosted_cluster import metrics as operator
from nodenet.core.hosted_cluster.cluster_status import status as cluster_status
from nodenet.core.hosted_services import metrics as hosted
from nodenet.core.hosted_services import report
from nodenet.core.hosted_services.migration import Outcome, Phase
from nodenet.core.messages import Message
from nodenet.core.metrics import COUNTED, Kind, Program, ProgramMetrics, text
from nodenet.core.persistent_ips import metrics as ipam
from nodenet.core.persistent_ips.cni import Verb
from nodenet.core.status import metrics as status
from promtool import promtool
from status_cases import DEGRADED

MONITORING = Path(__file__).parents[2] / "packaging" / "monitoring"
RULES, TESTS, DASHBOARD = (MONITORING / name for name in ("alerts.yaml", "alerts_test.yaml", "dashboard.json"))
KNOWN = {family.name: family for families in FAMILIES.values() for family in families}
EVERYWHERE = {"instance", "job"}
"""Labels that Prometheus adds."""
_SELECTOR = re.compile(r"\b(nodenet_[a-z_]+)\b(?:\{([^}]*)\})?")
_MATCHER = re.compile(r'([a-z_]+)(=~|!~|!=|=)"([^"]*)"')
_BY = re.compile(r"\bby \(([^)]*)\)")


def alerts() -> dict[str, Any]:
    """Return the rules by the name of the alert."""
    (group,) = YAML(typ="safe").load(RULES)["groups"]
    return {rule["alert"]: rule for rule in group["rules"]}


def panels() -> Iterator[dict[str, Any]]:
    yield from (panel for panel in json.loads(DASHBOARD.read_text())["panels"] if panel["type"] != "row")


def expressions() -> dict[str, str]:
    """Return every expression by the name of its alert or panel."""
    found = {name: rule["expr"] for name, rule in alerts().items()}
    for panel in panels():
        found |= {f"{panel['title']} {target['refId']}": target["expr"] for target in panel["targets"]}
    return found


def wrong(expression: str) -> list[str]:
    """Return what *expression* names that there is not."""
    complaints: list[str] = []
    labels = set(EVERYWHERE)
    for name, inner in _SELECTOR.findall(expression):
        base = next((name.removesuffix(one) for one in SUFFIXES if name.removesuffix(one) in KNOWN), name)
        if base not in KNOWN or (base != name) != (KNOWN[base].kind is Kind.HISTOGRAM):
            complaints.append(name)
            continue
        own = {*KNOWN[base].labels, *EVERYWHERE, *(["le"] if base != name else [])}
        labels |= own
        for label, sign, value in _MATCHER.findall(inner):
            if label not in own or not all(_is_value(base, label, one) for one in value.split("|")):
                complaints.append(f"{name}: {label}{sign}{value}")
    grouped = {label.strip() for inner in _BY.findall(expression) for label in inner.split(",")}
    return complaints + sorted(grouped - labels)


def _is_value(metric: str, label: str, value: str) -> bool:
    """Return whether a label can have *value*; those that come from a cluster can have any."""
    counted = {event.name.lower() for events in COUNTED.values() for event in events}
    closed: dict[str, set[str]] = {
        "program": set(Program),
        "event": counted,
        "problem": {message.name.lower() for message in Message},
        "status": {"True", "False", "Unknown"} if "condition" in metric else set(Status),
        "health": {"ok", "degraded", "progressing", "disabled"} if "hosted" in metric else set(Health),
        "phase": set(Phase) if "migration" in metric else PHASES,
        "outcome": set(Outcome),
        "type": {"Available", "Progressing", "Degraded", "Disabled"},
    }
    return label not in closed or value in closed[label]


PHASES = set(re.findall(r'"([A-Z][A-Za-z]+)"', Path(report.__file__).read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", expressions())
def test_an_expression_asks_for_what_there_is(name: str) -> None:
    assert wrong(expressions()[name]) == []


@pytest.mark.parametrize(
    "expression",
    [
        "nodenet_redy == 0",
        "sum by (node) (nodenet_ready)",
        'nodenet_health{health="bad"}',
        'nodenet_health{stage="nodeip"}',
        'nodenet_events_total{event="rolled_bak"}',
        "nodenet_ipam_cni_duration_seconds",
        "nodenet_ready_bucket",
    ],
)
def test_a_slip_is_seen(expression: str) -> None:
    assert wrong(expression)


def test_every_metric_is_on_the_dashboard_or_in_a_rule() -> None:
    """What is collected and shown nowhere costs every node."""
    used = {name for one in expressions().values() for name, _ in _SELECTOR.findall(one)}
    used |= {name.removesuffix(suffix) for name in used for suffix in SUFFIXES}
    calls = {counter.name for name, counter in ipam.COUNTERS.items() if name in {verb.lower() for verb in Verb}}
    elsewhere = {"nodenet_node_ips", "nodenet_stage_inhibitors", "nodenet_hosted_vip_candidate", *calls}
    elsewhere.add("nodenet_hosted_service_healthy")
    assert set(KNOWN) - used == elsewhere


def test_every_alert_says_what_to_do_and_is_on_the_page() -> None:
    page = (MONITORING.parents[1] / "docs" / "metrics.md").read_text(encoding="utf-8")
    for name, rule in alerts().items():
        assert f"`{name}`" in page
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert re.search(r"`(nodenetctl|systemctl|journalctl) ", rule["annotations"]["description"]), name
    assert set(re.findall(r"`(Nodenet\w+)`", page)) == set(alerts())


def test_every_alert_is_tested_firing_and_silent() -> None:
    tests = [one for case in YAML(typ="safe").load(TESTS)["tests"] for one in case["alert_rule_test"]]
    firing = {one["alertname"] for one in tests if one.get("exp_alerts")}
    silent = {one["alertname"] for one in tests if not one.get("exp_alerts")}
    assert firing == silent == set(alerts())


def test_the_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        place = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells


def ran(*words: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [promtool(), *words]
    return subprocess.run(
        command, cwd=MONITORING, input=given, capture_output=True, text=True, check=False, timeout=120
    )


def test_prometheus_accepts_the_rules() -> None:
    done = ran("check", "rules", RULES.name)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{len(alerts())} rules found" in done.stdout


def test_the_rules_fire_when_they_should() -> None:
    done = ran("test", "rules", TESTS.name)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "written",
    [
        text([*status.lines(DEGRADED), *ProgramMetrics(Program.NODENETD, "1", 1.5).lines()]),
        text([*hosted.lines(report.document(HOSTED)), *ProgramMetrics(Program.HOSTED, "1", 1.5).lines()]),
        ipam.text(CLAIMS, ipam.Figures()),
        operator.text("1", operator.Figures(), 7, cluster_status(CLUSTER, {}, "T")),
    ],
    ids=[*Program, "nodenet-operator"],
)
def test_prometheus_accepts_the_metrics(written: str) -> None:
    done = ran("check", "metrics", given=written)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
