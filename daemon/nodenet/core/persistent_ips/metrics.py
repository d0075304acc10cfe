"""Which figures of persistent IPs are there for a monitoring system? In Prometheus' text format, version 0.0.4.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from nodenet.core.persistent_ips.cni import Verb
from nodenet.core.persistent_ips.effects import (
    CreateLease,
    DeleteLease,
    Effect,
    ListLeases,
    MoveLease,
    ReadClaim,
    ReadLease,
    ReadPod,
    WriteStatus,
)
from nodenet.core.persistent_ips.histogram import Histogram

PREFIX = "nodenet_ipam"
COUNTERS = {
    **{verb.lower(): f"Calls of the CNI verb {verb}." for verb in Verb},
    "allocated": "Calls of ADD that made an attachment.",
    "refused": "Calls of ADD that got an error.",
}
"""Counter → what it counts, since the service started."""
REQUESTS: Mapping[type[Effect], tuple[str, str]] = {
    ReadPod: ("get", "pods"),
    ReadClaim: ("get", "ipamclaims"),
    WriteStatus: ("patch", "ipamclaims/status"),
    CreateLease: ("create", "leases"),
    ReadLease: ("get", "leases"),
    ListLeases: ("list", "leases"),
    MoveLease: ("patch", "leases"),
    DeleteLease: ("delete", "leases"),
}
"""Request to the API → its verb and resource, as in the roles of the ServiceAccount."""


class Figures:
    """What is counted and measured since the service started."""

    def __init__(self) -> None:
        """Begin with zeros."""
        self.counts: Counter[str] = Counter()
        """By the names of ``COUNTERS``."""
        self.verbs = {verb: Histogram() for verb in Verb}
        """From the plugin's request to the answer."""
        self._requests = {label: Histogram() for label in REQUESTS.values()}

    def request(self, effect: Effect, seconds: float) -> None:
        """Note how long a request to the API took."""
        self._requests[REQUESTS[type(effect)]].observe(seconds)

    def lines(self) -> Iterator[str]:
        """Yield every line."""
        for name, summary in COUNTERS.items():
            yield from _head(f"{name}_total", "counter", summary)
            yield f"{PREFIX}_{name}_total {self.counts[name]}"
        name = "cni_duration_seconds"
        yield from _head(name, "histogram", "Time from a request of the plugin to its answer, by CNI verb.")
        for cni_verb, histogram in self.verbs.items():
            yield from histogram.lines(f"{PREFIX}_{name}", f'verb="{cni_verb}"')
        name = "api_duration_seconds"
        yield from _head(name, "histogram", "Time of the requests to the Kubernetes API, failed ones included.")
        for (verb, resource), histogram in self._requests.items():
            yield from histogram.lines(f"{PREFIX}_{name}", f'verb="{verb}",resource="{resource}"')


def text(document: Mapping[str, Any], figures: Figures) -> str:
    """Return the text of a claims *document* and of the service's *figures*."""
    states = Counter((entry["network"], entry["state"]) for entry in document["addresses"])
    lines = [
        *_head("addresses", "gauge", "Addresses that this node knows, by network and state."),
        *(
            f'{PREFIX}_addresses{{network="{_escaped(network)}",state="{_escaped(state)}"}} {number}'
            for (network, state), number in sorted(states.items())
        ),
        *_head("problems", "gauge", "Problems that `nodenetctl claims` shows."),
        f"{PREFIX}_problems {len(document['problems'])}",
    ]
    return "\n".join([*lines, *figures.lines()]) + "\n"


def _head(name: str, kind: str, summary: str) -> Iterable[str]:
    return f"# HELP {PREFIX}_{name} {summary}", f"# TYPE {PREFIX}_{name} {kind}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
