"""How long did something take, each time since the start? As a histogram of Prometheus.

https://prometheus.io/docs/concepts/metric_types/#histogram
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate

from nodenet.core.metrics.family import Family

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Seconds: from an answer out of the memory to one that an ADD waits for at most."""


class Histogram:
    """Durations, counted by their length."""

    def __init__(self) -> None:
        """Begin with none."""
        self._counts = [0] * (len(BOUNDS) + 1)
        self._sum = 0.0

    def observe(self, seconds: float) -> None:
        """Count one duration."""
        self._counts[bisect_left(BOUNDS, seconds)] += 1
        self._sum += seconds

    def lines(self, family: Family, *labels: str) -> Iterator[str]:
        """Yield the samples of the metric *family* for these values of its labels."""
        own = family.set_of(*labels)
        counts = accumulate(self._counts)
        for bound, count in zip((*map(str, BOUNDS), "+Inf"), counts, strict=True):
            yield f'{family.name}_bucket{own[:-1]},le="{bound}"}} {count}'
        yield f"{family.name}_sum{own} {self._sum:.6f}"
        yield f"{family.name}_count{own} {sum(self._counts)}"
