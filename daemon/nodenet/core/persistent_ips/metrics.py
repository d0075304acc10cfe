"""Which metrics do persistent IPs give to a monitoring system?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from nodenet import __version__
from nodenet.core import metrics
from nodenet.core.metrics import Family, Histogram, Kind, Program, ProgramMetrics
from nodenet.core.persistent_ips.cni import Verb
from nodenet.core.persistent_ips.effects import (
    CreateLease,
    DeleteLease,
    Effect,
    ListLeases,
    MoveLease,
    ReadClaim,
    ReadDefinition,
    ReadLease,
    ReadPod,
    WriteStatus,
)

PREFIX = "nodenet_ipam"
ADDRESSES = Family(
    f"{PREFIX}_addresses", Kind.GAUGE, "Addresses that this node knows, by network and state.", ("network", "state")
)
PROBLEMS = Family(f"{PREFIX}_problems", Kind.GAUGE, "Problems that `nodenetctl claims` shows.")
COUNTED = {
    **{verb.lower(): f"Calls of the CNI verb {verb}." for verb in Verb},
    "allocated": "Calls of ADD that made an attachment.",
    "refused": "Calls of ADD that got an error.",
}
"""Counter → what it counts, since the service started."""
COUNTERS = {name: Family(f"{PREFIX}_{name}_total", Kind.COUNTER, summary) for name, summary in COUNTED.items()}
CALLS = Family(
    f"{PREFIX}_cni_duration_seconds",
    Kind.HISTOGRAM,
    "Time from a request of the plugin to its answer, by CNI verb.",
    ("verb",),
)
API_CALLS = Family(
    f"{PREFIX}_api_duration_seconds",
    Kind.HISTOGRAM,
    "Time of the requests to the Kubernetes API, failed ones included.",
    ("verb", "resource"),
)
FAMILIES = (ADDRESSES, PROBLEMS, *COUNTERS.values(), CALLS, API_CALLS)
REQUESTS: Mapping[type[Effect], tuple[str, str]] = {
    ReadPod: ("get", "pods"),
    ReadDefinition: ("get", "network-attachment-definitions"),
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
        self.program = ProgramMetrics(Program.IPAM, __version__, 0.0)
        """What every program counts."""
        self._requests = {label: Histogram() for label in REQUESTS.values()}

    def request(self, effect: Effect, seconds: float) -> None:
        """Note how long a request to the API took."""
        self._requests[REQUESTS[type(effect)]].observe(seconds)

    def lines(self) -> Iterator[str]:
        """Yield every line."""
        for name, counter in COUNTERS.items():
            yield from counter.lines([(self.counts[name], ())])
        yield from CALLS.head()
        for verb, histogram in self.verbs.items():
            yield from histogram.lines(CALLS, verb)
        yield from API_CALLS.head()
        for labels, histogram in self._requests.items():
            yield from histogram.lines(API_CALLS, *labels)
        yield from self.program.lines()


def text(document: Mapping[str, Any], figures: Figures) -> str:
    """Return the text of a claims *document* and of the service's *figures*."""
    states = Counter((entry["network"], entry["state"]) for entry in document["addresses"])
    return metrics.text(
        [
            *ADDRESSES.lines((number, labels) for labels, number in sorted(states.items())),
            *PROBLEMS.lines([(len(document["problems"]), ())]),
            *figures.lines(),
        ]
    )
