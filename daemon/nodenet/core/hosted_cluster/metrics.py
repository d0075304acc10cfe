"""Which metrics does nodenet-operator give to a monitoring system?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from nodenet.core import metrics
from nodenet.core.hosted_cluster.cluster_status import FALSE, OWNERS, TRUE, UNKNOWN
from nodenet.core.hosted_cluster.node_report import Stack
from nodenet.core.metrics import Family, Histogram, Kind

STATES = (TRUE, FALSE, UNKNOWN)
STACKS = (*(stack.value for stack in Stack), "unknown")
INFO = Family("nodenet_operator_info", Kind.GAUGE, "1, with the version of this operator.", ("version",))
LEADER = Family("nodenet_operator_leader", Kind.GAUGE, "1 when this operator leads.")
REQUESTS = Family(
    "nodenet_operator_api_requests_total", Kind.COUNTER, "Requests that this operator has sent to the API."
)
API_FAILURES = Family(
    "nodenet_operator_api_failures_total", Kind.COUNTER, "Requests, lists and watches of this operator that failed."
)
STATUSES = Family(
    "nodenet_operator_status_seconds",
    Kind.HISTOGRAM,
    "From the first change that a status has to show until it was written.",
    ("object",),
)
CONDITION = Family(
    "nodenet_hosted_condition",
    Kind.GAUGE,
    "The conditions of HostedNetServices: 1 for the present status, 0 else. This and the next: of the leader only.",
    ("type", "status"),
)
NODES = Family("nodenet_hosted_nodes", Kind.GAUGE, "Nodes by their health.", ("healthy",))
STACK_NODES = Family("nodenet_hosted_stack_nodes", Kind.GAUGE, "Nodes by their stack.", ("stack",))
OWNER = Family(
    "nodenet_hosted_vip_owner",
    Kind.GAUGE,
    "1, with the node that holds the VIP of a purpose; absent while no node has it.",
    ("purpose", "node"),
)
MIGRATION = Family(
    "nodenet_hosted_migration",
    Kind.GAUGE,
    "1, with the phase of the API's migration and the outcome of the last one; absent before the first.",
    ("phase", "outcome"),
)
FAMILIES = (INFO, LEADER, REQUESTS, API_FAILURES, STATUSES, CONDITION, NODES, STACK_NODES, OWNER, MIGRATION)


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
    lines = _of_the_operator(version, figures, requests, leads=status is not None)
    # What an operator that waits knows of the status would be old.
    return metrics.text([*lines, *(_of_status(status) if status is not None else ())])


def _of_the_operator(version: str, figures: Figures, requests: int, *, leads: bool) -> Iterator[str]:
    yield from INFO.lines([(1, (version,))])
    yield from LEADER.lines([(leads, ())])
    yield from REQUESTS.lines([(requests, ())])
    yield from API_FAILURES.lines([(figures.failures, ())])
    yield from STATUSES.head()
    yield from figures.statuses.lines(STATUSES, "cluster")


def _of_status(status: Mapping[str, Any]) -> Iterator[str]:
    conditions = {one["type"]: one["status"] for one in status.get("conditions") or ()}
    yield from CONDITION.lines(
        one for kind, found in conditions.items() for one in CONDITION.one_of(found, STATES, kind)
    )
    nodes = list(status.get("nodes") or ())
    health = Counter(node.get("healthy", UNKNOWN) for node in nodes)
    stacks = Counter(node.get("stack", "unknown") for node in nodes)
    yield from NODES.lines((health[one], (one,)) for one in STATES)
    yield from STACK_NODES.lines((stacks[one], (one,)) for one in STACKS)
    owners = [(purpose, status[field]) for field, purpose in OWNERS.items() if status.get(field)]
    yield from OWNER.lines((1, (str(purpose), node)) for purpose, node in owners)
    moved = status.get("migration")
    record = moved if isinstance(moved, Mapping) else {}
    yield from MIGRATION.lines(
        [(1, (str(record["phase"]), str(record.get("outcome", ""))))] if "phase" in record else []
    )
