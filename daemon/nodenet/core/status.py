"""What does the daemon say of itself? One document for the state file, the bus and ``nodenetctl status``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from nodenet.core.boot import Boot, Health, StageName, StageState, Status
from nodenet.core.facts import Facts
from nodenet.core.holds import Holds
from nodenet.core.outcome import Problem

SCHEMA_VERSION = 1
EXIT_CODES = {Health.OK: 0, Health.DEGRADED: 2, Health.FAILED: 1, Health.WAITING: 1}
"""Exit codes of ``nodenetctl status``; part of the contract."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Everything the daemon shows: the boot, the facts, whether READY=1 was sent, and what was lost since."""

    boot: Boot
    facts: Facts = field(default_factory=Facts)
    boot_id: str = ""
    ready: bool = False
    drift: Problem | None = None
    holds: Holds = ()

    @property
    def health(self) -> Health:
        """The node's network in one word."""
        return Health.DEGRADED if self.drift and self.boot.health is Health.OK else self.boot.health

    @property
    def problem(self) -> tuple[StageName, Problem] | None:
        """What is wrong, with its stage: a node IP that was lost, or the first problem of the boot."""
        return (StageName.NODEIP, self.drift) if self.drift else self.boot.problem


def document(standing: Standing) -> dict[str, Any]:
    """Return the status document, as JSON-ready values; times in seconds of CLOCK_BOOTTIME."""
    boot, facts = standing.boot, standing.facts
    selection = facts.selection
    current = boot.current
    return {
        "schema_version": SCHEMA_VERSION,
        "boot_id": standing.boot_id,
        "health": standing.health.value,
        "ready": standing.ready,
        "stage": current.value if current else None,
        "hostname": facts.hostname,
        "node_file": facts.node_file,
        "digest": facts.digest,
        "applied_digest": facts.applied_digest,
        "node_ips": [str(address) for address in selection.node_ips] if selection else [],
        "link": selection.link if selection else None,
        "notes": list(selection.notes) if selection else [],
        "bridge": facts.bridge or ("br-ex" if facts.brings_bridge else None),
        "uplink": facts.uplink,
        "last_error": _last_error(standing),
        "stages": [_stage(stage, standing.holds) for stage in boot.stages],
    }


def line(standing: Standing) -> str:
    """Return the one line for systemd's STATUS=: the stage and what it waits for, or the node's health."""
    for stage in standing.boot.stages:
        if stage.status in (Status.WAITING, Status.RUNNING):
            return f"{stage.name}: {stage.detail}" if stage.detail else f"{stage.name}: {stage.status}"
    if problem := standing.problem:
        name, what = problem
        return f"{standing.health}: {name}: {what.cause}"
    return "ready" if standing.ready else "starting"


def _stage(stage: StageState, holds: Holds) -> dict[str, Any]:
    return {
        "name": stage.name.value,
        "provider": stage.provider,
        "status": stage.status.value,
        "detail": stage.detail,
        "started": stage.started,
        "ended": stage.ended,
        "waited": round(stage.waited, 6),
        "next_try": next_try(stage),
        "held": [{"who": hold.who, "why": hold.why} for hold in holds if hold.stage is stage.name],
    }


def next_try(stage: StageState) -> float | None:
    """Return when a stage that waits or failed is tried again at the latest; seconds of CLOCK_BOOTTIME."""
    return stage.due if stage.status in (Status.WAITING, Status.FAILED) else None


def _last_error(standing: Standing) -> dict[str, str] | None:
    if standing.problem is None:
        return None
    name, problem = standing.problem
    return {
        "message_id": problem.message.value,
        "stage": name.value,
        "cause": problem.cause,
        "remedy": problem.remedy,
    }
