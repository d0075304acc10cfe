"""What is the status of the node? One document for the state file, the bus and ``nodenetctl status``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from nodenet.core.boot.outcome import Facts, Problem
from nodenet.core.boot.stage_state import SETTLED, Inhibitors, StageState, Status
from nodenet.core.boot.stages import Boot, Health, new_boot
from nodenet.core.ip import Family
from nodenet.core.messages import Message
from nodenet.core.node_ip.select import Selection
from nodenet.core.stage_name import StageName
from nodenet.core.trial import drift
from nodenet.core.trial.trial import Trial, described
from nodenet.core.value import frozen

if TYPE_CHECKING:
    from nodenet.core.boot.outcome import Problem

# What is known about the node while nodenetd is not running?
#
# The state file stays when nodenetd ends. Its content was true when it was written and may not be true any more.

REMEDY = "See `systemctl status nodenetd`"


def last_known(document: Mapping[str, Any], age: float | None) -> dict[str, Any]:
    """Return the status document of a daemon that is not running: failed, not ready, with that problem first.

    *age*: seconds since *document* was written, None where the clock does not say. A daemon that exited because of
    an error that only an administrator can correct has left that error in the document, and it stays first.
    """
    problem = {
        "message_id": Message.STOPPED.value,
        "stage": None,
        "cause": "nodenetd is not running, so nothing of this may be true any more",
        "remedy": REMEDY,
    }
    found = list(problems(document))
    found = [*found, problem] if document["health"] == "failed" else [problem, *found]
    return {
        **document,
        "health": "failed",
        "ready": False,
        "last_error": found[0],
        "problems": found,
        "running": {"now": False, "age": age},
    }


def error(stage: str | None, problem: Problem) -> dict[str, str | None]:
    """Return *problem* as the document has it; *stage* is the one that has it."""
    return {
        "message_id": problem.message.value,
        "stage": stage and str(stage),
        "cause": problem.cause,
        "remedy": problem.remedy,
    }


def with_problem(document: dict[str, Any], problem: Problem | None) -> dict[str, Any]:
    """Return *document* with one more problem; health and the last error stay, which are those of nodenetd."""
    return {**document, "problems": [*problems(document), error(None, problem)]} if problem else document


def problems(document: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Return every problem of the document; one of an older daemon has the first problem only."""
    error = document["last_error"]
    return tuple(document.get("problems", (error,) if error else ()))


def has_vanished(document: Mapping[str, Any]) -> bool:
    """Return whether the daemon of *document* is not running and left no error that says why."""
    return "running" in document and document["last_error"]["message_id"] == Message.STOPPED.value


# What does the status document say?

SCHEMA_VERSION = 1


@frozen
class Refusal:
    """Why a reload was refused: for the node file, or (no stage) for the settings."""

    problem: Problem
    stage: StageName | None = None


@frozen
class BootStatus:
    """Everything the daemon reports: the boot, the facts, whether READY=1 was sent, and what was lost since."""

    boot: Boot
    facts: Facts = field(default_factory=Facts)
    boot_id: str = ""
    ready: bool = False
    confirmed: float | None = None
    """When the publication was confirmed last, for READY=1 (seconds of CLOCK_BOOTTIME)."""
    losses: tuple[Problem, ...] = ()
    """What the node has lost since READY: NetworkManager, node IPs, or programs that run with them."""
    inhibitors: Inhibitors = ()
    refused: Refusal | None = None
    """Why the settings or the node file on the disk were refused; the next boot will read them."""
    uplink: Problem | None = None
    """Why the node IPs cannot be reached: the carrier of the uplink or a gateway is lost."""
    records: Problem | None = None
    """Why the disk does not take the records of nodenet."""
    uplink_notes: tuple[str, ...] = ()
    """What an administrator should know of an uplink that works."""
    trial: Trial | None = None
    """The node file that is on trial, or was last."""

    @property
    def drift(self) -> Problem | None:
        """The problem of published node IPs that are gone."""
        return next((loss for loss in self.losses if loss.message is Message.NODE_IP_DRIFT), None)

    @property
    def health(self) -> Health:
        """The node's network in one word."""
        beside = self.losses or self.refused or self.uplink or self.records
        return Health.DEGRADED if beside and self.boot.health is Health.OK else self.boot.health

    @property
    def problems(self) -> tuple[tuple[StageName | None, Problem], ...]:
        """Every present problem with its stage; a cause comes before what follows from it."""
        causes = [loss for loss in self.losses if loss.message in _CAUSES]
        uplink = [self.uplink] if self.uplink else []
        causes += [lost for lost in uplink if lost.message in _CAUSES]
        found: list[tuple[StageName | None, Problem]] = [(None, cause) for cause in causes]
        if self.refused:
            found.append((self.refused.stage, self.refused.problem))
        of_stages = [(stage.name, stage.problem) for stage in self.boot.stages if stage.problem]
        found += [each for each in of_stages if each[0] in _MAKE_NETWORK]
        lost = [(StageName.NODEIP, loss) for loss in self.losses if loss.message not in _CAUSES]
        disk = [self.records] if self.records else []
        found += [*lost[:1], *((None, each) for each in (*uplink, *disk)), *of_stages, *lost]
        return tuple(dict.fromkeys(found)) if found else ()

    @property
    def problem(self) -> tuple[StageName | None, Problem] | None:
        """The first of the problems."""
        return next(iter(self.problems), None)


_CAUSES = (Message.MANAGER_AWAY, Message.UPLINK_LOST, Message.NODE_IP_CLAIMED)
"""What takes node IPs, gateways and DNS servers away: named first. Then comes what makes the network."""
_MAKE_NETWORK = (StageName.HOSTNAME, StageName.NMSTATE)


def document(status: BootStatus) -> dict[str, Any]:
    """Return the status document, as JSON-ready values; times in seconds of CLOCK_BOOTTIME."""
    boot, facts = status.boot, status.facts
    selection = facts.selection
    current = boot.current
    problems = [error(stage, problem) for stage, problem in status.problems]
    return {
        "schema_version": SCHEMA_VERSION,
        "boot_id": status.boot_id,
        "health": status.health.value,
        "ready": status.ready,
        "stage": current.value if current else None,
        "hostname": facts.hostname,
        "hostname_source": facts.hostname_source,
        "node_file": facts.node_file,
        "digest": facts.digest,
        "applied_digest": facts.applied_digest,
        "node_file_families": [family.value for family in Family if family in facts.file_families],
        "node_file_addresses": sorted(map(str, facts.file_addresses)),
        "node_ips": [str(address) for address in selection.node_ips] if selection else [],
        "node_ip_places": _places(facts),
        "node_ips_missing": status.drift is not None,
        "link": selection.link if selection else None,
        "notes": [*(selection.notes if selection else ()), *status.uplink_notes, *_changed(facts)],
        "changed": list(facts.changed),
        "compared": facts.compared if boot[StageName.NMSTATE].status in SETTLED else None,
        "left_over": list(facts.left_over),
        "renamed": [{"name": name, "link": link, "mac": mac} for name, link, mac in facts.renamed],
        "bridge": facts.bridge or ("br-ex" if facts.brings_bridge else None),
        "uplink": facts.uplink,
        "trial": described(status.trial),
        "last_error": problems[0].copy() if problems else None,
        "problems": problems,
        "stages": [_stage(stage, status.inhibitors) for stage in boot.stages],
    }


def _changed(facts: Facts) -> tuple[str, ...]:
    """Return the note about what another program has changed of the network."""
    return (drift.sentence(facts.node_file or "the node file", facts.changed),) if facts.changed else ()


def line(status: BootStatus) -> str:
    """Return the one line for systemd's STATUS=: the stage and what it waits for, or the node's health."""
    if status.trial and status.trial.runs:
        return f"{status.health}, node file {status.trial.name} is on trial"
    name = status.boot.current
    for stage in status.boot.stages:
        if stage.name is name and stage.status in (Status.WAITING, Status.RUNNING):
            beside = f" (reload refused: {status.refused.problem.cause})" if status.refused else ""
            shown = stage.detail if stage.status is Status.WAITING else _running(stage, status.facts)
            return f"{stage.name}: {shown}{beside}"
    if problem := status.problem:
        name, what = problem
        return ": ".join(filter(None, (status.health, name, what.cause)))
    return "ready" if status.ready else "starting"


def _running(stage: StageState, facts: Facts) -> str:
    """Return what a stage does while its outcome is not known: an apply may take minutes."""
    file = facts.node_file if stage.name is StageName.NMSTATE else None
    return ", ".join(filter(None, (stage.status, file and f"node file {file}")))


def ended(before: Mapping[str, Any] | None, boot_id: str, problem: Problem) -> dict[str, Any]:
    """Return the document of a daemon that exits because of *problem* and is not restarted.

    *before* is the document that the state file has. Where it is not a document of this boot it is ignored.
    """
    nothing = document(BootStatus(new_boot({}, degrade=True), boot_id=boot_id))
    try:
        return _ended(before if before and before["boot_id"] == boot_id else nothing, problem)
    except (AttributeError, KeyError, TypeError):
        return _ended(nothing, problem)


def _ended(known: Mapping[str, Any], problem: Problem) -> dict[str, Any]:
    stages = [
        stage | {"status": Status.FAILED.value, "detail": problem.cause} if stage["status"] == Status.RUNNING else stage
        for stage in known["stages"]
    ]
    name = next((stage["name"] for stage in known["stages"] if stage["status"] == Status.RUNNING), None)
    return {
        **known,
        "health": Health.FAILED.value,
        "stage": None,
        "last_error": error(name, problem),
        "problems": [error(name, problem)],
        "stages": stages,
    }


def _stage(stage: StageState, inhibitors: Inhibitors) -> dict[str, Any]:
    return {
        "name": str(stage.name),
        "provider": stage.provider,
        "status": str(stage.status),
        "detail": stage.detail,
        "started": stage.started,
        "ended": stage.ended,
        "waited": round(stage.waited, 6),
        "next_try": next_try(stage),
        "failures": stage.pace.failures,
        "held": _held(stage, inhibitors) if inhibitors else [],
    }


def _held(stage: StageState, inhibitors: Inhibitors) -> list[dict[str, str]]:
    return [{"who": inhibitor.who, "why": inhibitor.why} for inhibitor in inhibitors if inhibitor.stage is stage.name]


def next_try(stage: StageState) -> float | None:
    """Return when a stage that waits or failed is tried again at the latest; seconds of CLOCK_BOOTTIME."""
    return stage.due if stage.status in (Status.WAITING, Status.FAILED) else None


def _places(facts: Facts) -> list[dict[str, str]]:
    """Return for each node IP the link that has it, and who gave it where that is known."""
    selection = facts.selection or Selection()
    sources = {item.address: item.source for item in selection.selected}
    return [
        {"address": str(address), "link": link or "", "source": sources.get(address, "")}
        for address, link in zip(selection.node_ips, facts.node_ip_links, strict=True)
    ]
