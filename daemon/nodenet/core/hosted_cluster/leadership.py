"""Which of several operators leads? The one that holds the Lease and renews it.

Only the change of a Lease counts, on the reader's own clock, so that clocks which differ do no harm. Each write carries
the version of the Lease that it replaces, so one of two that write together is refused.
https://kubernetes.io/docs/concepts/architecture/leases/
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from nodenet.core.value import frozen

NAME = "nodenet-operator"
LEASE_SECONDS = 60
RENEW_SECONDS = 10.0
DEADLINE_SECONDS = 45.0
"""A leader that could not renew for so long stops, so that it has stopped when another one begins."""


class Step(StrEnum):
    """What an operator does about the Lease now."""

    CREATE = "create"
    RENEW = "renew"
    TAKE = "take"
    WAIT = "wait"


@frozen
class Watched:
    """The Lease as it was seen last: its version, and since when."""

    version: str = ""
    since: float = 0.0


def seen(before: Watched, lease: Mapping[str, Any] | None, now: float) -> Watched:
    """Return what is known after a look at the Lease."""
    version = str(lease["metadata"]["resourceVersion"]) if lease else ""
    return before if before.version == version else Watched(version, now)


def step(me: str, lease: Mapping[str, Any] | None, watched: Watched, now: float) -> Step:
    """Return what *me* does. A Lease without a holder was given back."""
    if lease is None:
        return Step.CREATE
    holder = (lease.get("spec") or {}).get("holderIdentity")
    if holder == me:
        return Step.RENEW
    if not holder or now - watched.since >= _seconds(lease):
        return Step.TAKE
    return Step.WAIT


def spec(me: str, lease: Mapping[str, Any] | None, what: Step, now: str) -> dict[str, Any]:
    """Return the Lease's spec after *what*; *now* is a time as the API writes it, with microseconds."""
    old = (lease or {}).get("spec") or {}
    if what is Step.RENEW:
        return {**old, "renewTime": now, "leaseDurationSeconds": LEASE_SECONDS}
    count = old.get("leaseTransitions")
    return {
        "holderIdentity": me,
        "leaseDurationSeconds": LEASE_SECONDS,
        "acquireTime": now,
        "renewTime": now,
        "leaseTransitions": count + 1 if isinstance(count, int) else 0,
    }


def _seconds(lease: Mapping[str, Any]) -> float:
    found = (lease.get("spec") or {}).get("leaseDurationSeconds")
    return float(found) if isinstance(found, int) and 0 < found <= 3600 else float(LEASE_SECONDS)
