"""Which figures of persistent IPs are there for a monitoring system? In Prometheus' text format, version 0.0.4.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

PREFIX = "nodenet_ipam"
COUNTERS = {
    **{verb.lower(): f"Calls of the CNI verb {verb}." for verb in ("ADD", "DEL", "CHECK", "GC", "STATUS")},
    "allocated": "Calls of ADD that made an attachment.",
    "refused": "Calls of ADD that got an error.",
}
"""Counter → what it counts, since the service started."""


def text(document: Mapping[str, Any], counters: Mapping[str, int]) -> str:
    """Return the text of a claims *document* and of the service's *counters*, by the names of ``COUNTERS``."""
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
    for name, summary in COUNTERS.items():
        lines += [*_head(f"{name}_total", "counter", summary), f"{PREFIX}_{name}_total {counters.get(name, 0)}"]
    return "\n".join(lines) + "\n"


def _head(name: str, kind: str, summary: str) -> Iterable[str]:
    return f"# HELP {PREFIX}_{name} {summary}", f"# TYPE {PREFIX}_{name} {kind}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
