"""Which nodenet-operator leads, and which nodes are alive? Both are Leases: only a change of one counts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field, replace
from enum import StrEnum
from typing import Any

from nodenet.core.value import frozen

# Which of several operators leads? The one that holds the Lease and renews it.
#
# Only the change of a Lease counts, on the reader's own clock, so that clocks which differ do no harm. Each write
# carries the version of the Lease that it replaces, so one of two that write together is refused.
# https://kubernetes.io/docs/concepts/architecture/leases/

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


# Which nodes are alive, by their Leases in ``kube-node-lease``?
#
# kubelet renews the Lease of its node every ten seconds. The time in it is that of the node's own clock, so only its
# change counts, on the clock of the reader: https://kubernetes.io/docs/concepts/architecture/leases/

NAMESPACE = "kube-node-lease"
USUAL_SECONDS, LONGEST_SECONDS = 40, 3600
LOOK_SECONDS = 15.0
"""How often the Leases are read; a change is seen that late."""


@frozen
class Beat:
    """The last renewal of a Lease: its *text*, the *seconds* for which it holds, and when it was first seen."""

    text: str
    seconds: int
    since: float


@frozen
class Heartbeats:
    """The last renewal of each node, and when the Leases were *read* last.

    *doubted*: nodes that were silent before this reader began.
    """

    beats: Mapping[str, Beat] = field(default_factory=dict)
    doubted: frozenset[str] = frozenset()
    read: float = 0.0

    def alive(self, name: str) -> bool:
        """Return whether the Lease of a node held when it was read last; a node without a Lease is not alive.

        While the Leases cannot be read, nothing is known about them, and what was known stays.
        """
        beat = self.beats.get(name)
        return beat is not None and name not in self.doubted and self.read - beat.since < beat.seconds + LOOK_SECONDS


def started(silent: Collection[str]) -> Heartbeats:
    """Return what a new reader knows; *silent* nodes are alive after their next renewal."""
    return Heartbeats(doubted=frozenset(silent))


def after(known: Heartbeats, leases: Iterable[object], now: float) -> Heartbeats:
    """Return what is known after the list of all *leases* was read; one of another shape is left out."""
    beats: dict[str, Beat] = {}
    doubted = set(known.doubted)
    for lease in leases:
        name, text, seconds = _read(lease)
        if not name:
            continue
        before = known.beats.get(name)
        if before is not None and before.text == text:
            beats[name] = replace(before, seconds=seconds)
            continue
        beats[name] = Beat(text, seconds, now)
        if before is not None:
            doubted.discard(name)
    return Heartbeats(beats, frozenset(doubted), now)


def _read(lease: object) -> tuple[str, str, int]:
    """Return the node, the renewal and its seconds; no node for a Lease without them."""
    name, spec = _mapping(lease, "metadata").get("name"), _mapping(lease, "spec")
    text, seconds = spec.get("renewTime"), spec.get("leaseDurationSeconds")
    if not isinstance(name, str) or not isinstance(text, str):
        return "", "", 0
    return name, text, seconds if isinstance(seconds, int) and 0 < seconds <= LONGEST_SECONDS else USUAL_SECONDS


def _mapping(parent: object, key: str) -> Mapping[str, object]:
    found = parent.get(key) if isinstance(parent, Mapping) else None
    return found if isinstance(found, Mapping) else {}
