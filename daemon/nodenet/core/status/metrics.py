"""Which metrics does the status of the node give to a monitoring system?

Times are durations and not moments: the clock of a node is often set during its boot. How long a state lasts is asked
for in the alert (``for:``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nodenet.core.boot.stage_state import Status
from nodenet.core.boot.stages import Health
from nodenet.core.messages import Message
from nodenet.core.metrics import Family, Kind

HEALTH = Family("nodenet_health", Kind.GAUGE, "1 for the present health of the node's network, 0 else.", ("health",))
READY = Family("nodenet_ready", Kind.GAUGE, "1 when kubelet and CRI-O may run.")
NODE_IPS = Family("nodenet_node_ips", Kind.GAUGE, "Number of published node IPs.")
DRIFT = Family("nodenet_node_ips_missing", Kind.GAUGE, "1 when a published node IP is no longer on the node.")
APPLIED = Family(
    "nodenet_node_file_applied", Kind.GAUGE, "1 when the node file is applied; absent without a node file."
)
PROBLEM = Family(
    "nodenet_problem",
    Kind.GAUGE,
    "1 for each present problem, by the name of its MESSAGE_ID and its stage; absent without a problem.",
    ("problem", "stage"),
)
STAGE = Family("nodenet_stage_status", Kind.GAUGE, "1 for the present status of a stage, 0 else.", ("stage", "status"))
DURATION = Family(
    "nodenet_stage_duration_seconds",
    Kind.GAUGE,
    "From the start of a stage to its end, its waits included; absent before its end.",
    ("stage",),
)
WAITED = Family("nodenet_stage_waited_seconds", Kind.GAUGE, "How long a stage has waited before its end.", ("stage",))
FAILURES = Family("nodenet_stage_failures", Kind.GAUGE, "Failed attempts of a stage in a row.", ("stage",))
INHIBITORS = Family("nodenet_stage_inhibitors", Kind.GAUGE, "Programs that keep a stage from starting.", ("stage",))
FAMILIES = (
    *(HEALTH, READY, NODE_IPS, DRIFT, APPLIED, PROBLEM),
    *(STAGE, DURATION, WAITED, FAILURES, INHIBITORS),
)


def lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the text for a status *document*. Causes are not in it: they may name anything."""
    stages = document["stages"]
    yield from HEALTH.lines(HEALTH.one_of(document["health"], Health))
    yield from READY.lines([(document["ready"], ())])
    yield from NODE_IPS.lines([(len(document["node_ips"]), ())])
    yield from DRIFT.lines([(document["node_ips_missing"], ())])
    digest = document["digest"]
    yield from APPLIED.lines([(document["applied_digest"] == digest, ())] if digest else [])
    problems = {(Message(one["message_id"]).name.lower(), one["stage"] or "") for one in document["problems"]}
    yield from PROBLEM.lines((1, labels) for labels in sorted(problems))
    yield from STAGE.lines(one for stage in stages for one in STAGE.one_of(stage["status"], Status, stage["name"]))
    yield from DURATION.lines(
        (round(stage["ended"] - stage["started"], 3), (stage["name"],))
        for stage in stages
        if stage["started"] is not None and stage["ended"] is not None
    )
    yield from WAITED.lines((round(stage["waited"], 3), (stage["name"],)) for stage in stages)
    yield from FAILURES.lines((stage["failures"], (stage["name"],)) for stage in stages)
    yield from INHIBITORS.lines((len(stage["held"]), (stage["name"],)) for stage in stages)
