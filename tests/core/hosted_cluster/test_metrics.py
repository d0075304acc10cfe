"""The text for a monitoring system."""

from __future__ import annotations

from core.hosted_cluster.test_cluster_status import GOOD
from nodenet.core.hosted_cluster import metrics
from nodenet.core.hosted_cluster.cluster_status import status
from nodenet.core.hosted_cluster.metrics import Figures


def lines(found: object = None) -> list[str]:
    return metrics.text("9.9", Figures(), 7, found).splitlines()  # type: ignore[arg-type]


def samples(found: object = None) -> list[str]:
    return [line for line in lines(found) if not line.startswith("#")]


def test_an_operator_that_waits_has_figures_of_itself_alone() -> None:
    figures = Figures()
    figures.failures = 3
    figures.statuses.observe(0.7)
    text = metrics.text("9.9", figures, 7, None)
    assert text.endswith("\n")
    shown = text.splitlines()
    assert shown[:3] == [
        "# HELP nodenet_operator_info 1, with the version of this operator.",
        "# TYPE nodenet_operator_info gauge",
        'nodenet_operator_info{version="9.9"} 1',
    ]
    for line in (
        "nodenet_operator_leader 0",
        "nodenet_operator_api_requests_total 7",
        "nodenet_operator_api_failures_total 3",
        'nodenet_operator_status_seconds_bucket{object="cluster",le="0.5"} 0',
        'nodenet_operator_status_seconds_bucket{object="cluster",le="1.0"} 1',
        'nodenet_operator_status_seconds_count{object="cluster"} 1',
    ):
        assert line in shown
    assert not any("nodenet_hosted" in line for line in shown)


def test_the_leader_shows_what_the_status_says() -> None:
    found = status(GOOD, {}, "T")
    shown = samples(found)
    assert "nodenet_operator_leader 1" in shown
    assert 'nodenet_hosted_condition{type="Available",status="True"} 1' in shown
    assert 'nodenet_hosted_condition{type="Available",status="Unknown"} 0' in shown
    assert f'nodenet_hosted_nodes{{healthy="True"}} {len(found["nodes"])}' in shown
    assert 'nodenet_hosted_nodes{healthy="Unknown"} 0' in shown
    assert f'nodenet_hosted_stack_nodes{{stack="nodenet"}} {len(found["nodes"])}' in shown
    owner = found["apiServerInternalIpOwner"]
    assert f'nodenet_hosted_vip_owner{{purpose="api",node="{owner}"}} 1' in shown
    nobody = samples({**found, "apiServerInternalIpOwner": ""})
    assert not any('purpose="api"' in line for line in nobody)


def test_a_status_that_is_empty_or_was_written_by_another_program_breaks_nothing() -> None:
    assert "nodenet_operator_leader 1" in samples({})
    assert "nodenet_operator_leader 1" in samples({"migration": ["x"]})
    strange = {"nodes": [{"name": "x"}], "apiServerInternalIpOwner": 'a"b\\c\nd'}
    shown = samples(strange)
    assert 'nodenet_hosted_nodes{healthy="Unknown"} 1' in shown
    assert 'nodenet_hosted_vip_owner{purpose="api",node="a\\"b\\\\c\\nd"} 1' in shown
