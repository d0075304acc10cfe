"""Which figures of nodenet-operator are there for a monitoring system? In Prometheus' text format, version 0.0.4.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from nodenet.core.hosted_cluster.cluster_status import OWNERS
from nodenet.core.hosted_cluster.conditions import FALSE, TRUE, UNKNOWN
from nodenet.core.hosted_cluster.node_report import Stack
from nodenet.core.persistent_ips.histogram import Histogram

STATES = (TRUE, FALSE, UNKNOWN)
STACKS = (*(stack.value for stack in Stack), "unknown")


class Figures:
    """What is counted and measured since the operator started."""

    def __init__(self) -> None:
        """Begin with zeros."""
        self.failures = 0
        """Requests, lists and watches that failed."""
        self.statuses = Histogram()
        """From the first change that a status has to show until it was written."""


def text(version: str, figures: Figures, requests: int, status: Mapping[str, Any] | None) -> str:
    """Return the text. *requests*: how many were sent; *status*: the object's, None for an operator that waits."""
    return (
        "\n".join([*_of_the_operator(version, figures, requests, leads=status is not None), *_of_status(status)]) + "\n"
    )


def _of_the_operator(version: str, figures: Figures, requests: int, *, leads: bool) -> Iterator[str]:
    yield from _gauge("operator_info", "The version of this operator.", {f'version="{version}"': 1})
    yield from _gauge("operator_leader", "Whether this operator leads.", {"": int(leads)})
    for name, count, summary in (
        ("operator_api_requests_total", requests, "Requests that this operator has sent to the API."),
        ("operator_api_failures_total", figures.failures, "Requests, lists and watches that failed."),
    ):
        yield from _head(name, "counter", summary)
        yield f"nodenet_{name} {count}"
    name = "operator_status_seconds"
    yield from _head(name, "histogram", "From the first change that a status has to show until it was written.")
    yield from figures.statuses.lines(f"nodenet_{name}", 'object="cluster"')


def _of_status(status: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield what the status says; nothing for an operator that waits, whose figures would be old."""
    if status is None:
        return
    conditions = {one["type"]: one["status"] for one in status.get("conditions") or ()}
    samples = {
        f'type="{_escaped(kind)}",status="{state}"': int(found == state)
        for kind, found in conditions.items()
        for state in STATES
    }
    yield from _gauge("hosted_condition", "The conditions of HostedNetServices: 1 for the present status.", samples)
    nodes = list(status.get("nodes") or ())
    health = Counter(node.get("healthy", UNKNOWN) for node in nodes)
    stacks = Counter(node.get("stack", "unknown") for node in nodes)
    yield from _gauge("hosted_nodes", "Nodes by their health.", {f'healthy="{one}"': health[one] for one in STATES})
    yield from _gauge("hosted_stack_nodes", "Nodes by their stack.", {f'stack="{one}"': stacks[one] for one in STACKS})
    owners = {
        f'purpose="{purpose}",node="{_escaped(status[field])}"': 1
        for field, purpose in OWNERS.items()
        if status.get(field)
    }
    yield from _gauge(
        "hosted_vip_owner", "The node that holds the VIP of a purpose; none while no node has it.", owners
    )


def _gauge(name: str, summary: str, samples: Mapping[str, int]) -> Iterator[str]:
    yield from _head(name, "gauge", summary)
    for labels, value in samples.items():
        yield f"nodenet_{name}{{{labels}}} {value}" if labels else f"nodenet_{name} {value}"


def _head(name: str, kind: str, summary: str) -> Iterator[str]:
    yield f"# HELP nodenet_{name} {summary}"
    yield f"# TYPE nodenet_{name} {kind}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
