"""Which values do the properties and signals on the bus have for a status?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nodenet.core.boot.stage_state import StageState, Status
from nodenet.core.messages import Message
from nodenet.core.stage_name import StageName
from nodenet.core.status.document import BootStatus, document, next_try


def of_manager(status: BootStatus, version: str, sequence: int) -> dict[str, Any]:
    """Return the plain value of every property of /org/nodenet1."""
    shown = document(status)
    addresses = status.facts.selection.node_ips if status.facts.selection else ()
    by_family = {address.version: str(address) for address in reversed(addresses)}
    error = shown["last_error"] or {}
    return {
        "Version": version,
        "BootId": shown["boot_id"],
        "Hostname": shown["hostname"] or "",
        "NodeFile": shown["node_file"] or "",
        "NodeFileDigest": shown["digest"] or "",
        "AppliedDigest": shown["applied_digest"] or "",
        "Health": shown["health"],
        "Ready": shown["ready"],
        "Stage": shown["stage"] or "",
        "Stages": [[stage["name"], stage["provider"], stage["status"], stage["detail"]] for stage in shown["stages"]],
        "PrimaryIP": str(addresses[0]) if addresses else "",
        "IPv4": by_family.get(4, ""),
        "IPv6": by_family.get(6, ""),
        "Link": shown["link"] or "",
        "Bridge": shown["bridge"] or "",
        "LastError": [error.get(key) or "" for key in ("message_id", "stage", "cause", "remedy")],
        "Sequence": sequence,
    }


def of_stage(status: BootStatus, name: StageName) -> dict[str, Any]:
    """Return the plain value of every property of a stage's object; times in µs of CLOCK_BOOTTIME, 0: not yet."""
    stage = status.boot[name]
    return {
        "Name": name.value,
        "Provider": stage.provider,
        "Status": stage.status.value,
        "Detail": stage.detail,
        "Started": _microseconds(stage.started),
        "Ended": _microseconds(stage.ended),
        "NextTry": _microseconds(next_try(stage)),
        "Held": [[hold.who, hold.why] for hold in status.inhibitors if hold.stage is name],
    }


def _microseconds(seconds: float | None) -> int:
    return round((seconds or 0.0) * 1e6)


def changed_stages(before: BootStatus, after: BootStatus) -> list[StageState]:
    """Return the stages of *after* that have another status or detail than in *before*."""
    pairs = zip(before.boot.stages, after.boot.stages, strict=True)
    return [new for old, new in pairs if (old.status, old.detail) != (new.status, new.detail)]


def signals(before: BootStatus, after: BootStatus) -> Mapping[str, list[Any]]:
    """Return the signals, name and body, for the change from *before* to *after*, beside StageChanged."""
    found: dict[str, list[Any]] = {}
    facts = after.facts
    if facts.node_file and facts.applied_digest and facts.applied_digest != before.facts.applied_digest:
        found["NetworkApplied"] = [facts.node_file or "", facts.applied_digest]
    nmstate = after.boot[StageName.NMSTATE]
    failed = nmstate.status is Status.FAILED and before.boot[StageName.NMSTATE].status is not Status.FAILED
    if failed and nmstate.problem and nmstate.problem.message is Message.APPLY_FAILED:
        found["RolledBack"] = [facts.digest or "", nmstate.problem.cause]
    if facts.selection and facts.selection != before.facts.selection:
        found["NodeIPChanged"] = [[str(ip) for ip in facts.selection.node_ips], facts.selection.link or ""]
    if after.drift and not before.drift:
        found["NodeIPDrift"] = [after.drift.cause]
    return found
