"""Which nodes are alive, by their Leases in ``kube-node-lease``?

kubelet renews the Lease of its node every ten seconds. The time in it is that of the node's own clock, so only its
change counts, on the clock of the reader: https://kubernetes.io/docs/concepts/architecture/leases/
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field, replace

from nodenet.core.value import frozen

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
