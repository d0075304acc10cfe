"""Which node does what one node only does? The holder of a Lease (coordination.k8s.io/v1).

Whether the holder is still there is decided by this node's own clock: its Lease has not changed for as long as it says.
So clocks that differ do no harm.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nodenet.core.persistent_ips import moment

NAME = "nodenet-ipam-unplug-reaper"
SECONDS = 1800
"""A holder renews it at each look, long before."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The Lease as it was seen first in its present state."""

    version: str
    uptime: float


def new(node: str, now: float) -> dict[str, Any]:
    """Return the Lease to create."""
    spec = {**_spec(node, now), "acquireTime": moment.text(now, micro=True), "leaseTransitions": 0}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": NAME}, "spec": spec}


def version_of(lease: Mapping[str, Any]) -> str:
    """Return the resourceVersion of an object."""
    return str(lease["metadata"]["resourceVersion"])


def may_take(lease: Mapping[str, Any], node: str, seen: Seen | None, uptime: float) -> bool:
    """Return whether *node* holds the Lease, or its holder is gone."""
    spec = lease.get("spec")
    holder = spec.get("holderIdentity") if isinstance(spec, Mapping) else None
    if not holder or holder == node:
        return True
    return seen is not None and seen.version == version_of(lease) and uptime - seen.uptime >= SECONDS


def take(lease: Mapping[str, Any], node: str, now: float) -> list[dict[str, Any]]:
    """Return the JSON patch that makes *node* the holder, if the Lease is still as it was read."""
    test = {"op": "test", "path": "/metadata/resourceVersion", "value": version_of(lease)}
    if not isinstance(lease.get("spec"), Mapping):
        return [test, {"op": "add", "path": "/spec", "value": _spec(node, now)}]
    return [test, *({"op": "add", "path": f"/spec/{key}", "value": value} for key, value in _spec(node, now).items())]


def _spec(node: str, now: float) -> dict[str, Any]:
    return {"holderIdentity": node, "leaseDurationSeconds": SECONDS, "renewTime": moment.text(now, micro=True)}
