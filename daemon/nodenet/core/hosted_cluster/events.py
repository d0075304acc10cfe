"""What does a new status of the object HostedNetServices report: in the log, and as Events of the object?

``kubectl describe hostednetservices cluster`` prints the Events: each VIP that moves, each phase of a migration, and
each condition that changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nodenet.core.hosted_cluster.cluster_status import FAILURES, OWNERS
from nodenet.core.hosted_services.model import Purpose
from nodenet.core.hosted_services.resource import GROUP, KIND, NAME, VERSION
from nodenet.core.messages import Message
from nodenet.core.value import frozen

EVENTS = "/api/v1/namespaces/default/events"
"""Events of an object without a namespace are in this one."""
REPORTER = "nodenet-operator"
MOST_MESSAGE = 1024
"""Characters of a message that the API takes (validation of Event)."""


@frozen
class News:
    """One change: a *reason* in CamelCase, a sentence, and whether it is a problem."""

    reason: str
    text: str
    message: Message = Message.OPERATOR_WROTE
    failed: bool = False


def news(before: Mapping[str, Any], wanted: Mapping[str, Any]) -> tuple[News, ...]:
    """Return what *wanted* reports that the status *before* did not."""
    return (*_moves(before, wanted), *_phase(before, wanted), *_conditions(before, wanted))


def begins_phase(before: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Return whether a status begins another phase of a migration; the first record of a cluster begins none."""
    old, new = before.get("migration") or {}, wanted.get("migration") or {}
    return bool(old) and any(old.get(key) != new.get(key) for key in ("phase", "attempt"))


def event(one: News, uid: str, now: str) -> dict[str, Any]:
    """Return the Event (core/v1) of the object with *uid*; *now* is a time as the API writes it (RFC 3339)."""
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"generateName": f"{NAME}.", "namespace": "default"},
        "involvedObject": {"apiVersion": f"{GROUP}/{VERSION}", "kind": KIND, "name": NAME, "uid": uid},
        "type": "Warning" if one.failed else "Normal",
        "reason": one.reason,
        "message": one.text[:MOST_MESSAGE],
        "source": {"component": REPORTER},
        "reportingComponent": REPORTER,
        "reportingInstance": REPORTER,
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }


def _moves(before: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[News]:
    for field, purpose in OWNERS.items():
        old, new = before.get(field) or "", wanted[field]
        if old == new:
            continue
        vip = f"the {'API' if purpose is Purpose.API else purpose} VIP"
        if not new:
            yield News("VipWithoutHolder", f"No node holds {vip}; {old} held it", failed=True)
        else:
            yield News("VipMoved", f"{new} holds {vip}" + (f"; {old} held it before" if old else ""))


def _phase(before: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[News]:
    if begins_phase(before, wanted):
        new = wanted["migration"]
        text = f"Migration {new['attempt']}: {new['phase']}. {new['message']}"
        failed = new["outcome"] in FAILURES
        yield News("Migration", text, Message.MIGRATION_FAILED if failed else Message.MIGRATION, failed)


def _conditions(before: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[News]:
    known = {one.get("type"): one.get("status") for one in before.get("conditions") or ()}
    for one in wanted["conditions"]:
        if known.get(one["type"]) != one["status"]:
            text = f"{one['type']} is {one['status']} ({one['reason']}): {one['message']}"
            yield News(f"{one['type']}{one['status']}", text, failed=(one["type"], one["status"]) in _BAD)


_BAD = frozenset({("Degraded", "True"), ("Available", "False"), ("VerifyFailed", "True")})
