"""How is a metric described, and how is it written? In Prometheus' text format, version 0.0.4.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import accumulate

from nodenet.core.value import frozen


class Kind(StrEnum):
    """What the value of a metric means (https://prometheus.io/docs/concepts/metric_types/)."""

    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"


@frozen
class Family:
    """A metric: its name, what its value means, and the names of its labels."""

    name: str
    kind: Kind
    summary: str
    labels: tuple[str, ...] = ()

    def head(self) -> Iterator[str]:
        """Yield the lines before the samples. Files of one node may have the same family: it has the same head."""
        summary = self.summary.replace("\\", "\\\\").replace("\n", "\\n")
        yield f"# HELP {self.name} {summary}"
        yield f"# TYPE {self.name} {self.kind}"

    def sample(self, value: float, *labels: str) -> str:
        """Return the line of one *value*, with a value for each of the labels. Raises ValueError for another number."""
        return f"{self.name}{self.set_of(*labels)} {int(value) if value == int(value) else value}"

    def set_of(self, *values: str) -> str:
        """Return the labels in braces, empty without any. Raises ValueError as ``sample``."""
        pairs = ",".join(f'{name}="{_escaped(value)}"' for name, value in zip(self.labels, values, strict=True))
        return f"{{{pairs}}}" if pairs else ""

    def lines(self, samples: Iterable[tuple[float, tuple[str, ...]]]) -> Iterator[str]:
        """Yield the head and a line for each sample; nothing where there is no sample."""
        found = [self.sample(value, *labels) for value, labels in samples]
        if found:
            yield from self.head()
            yield from found

    def one_of(self, value: str, choices: Iterable[str], *labels: str) -> Iterator[tuple[float, tuple[str, ...]]]:
        """Yield a sample for each of *choices* in the last label: 1 for *value*, 0 for the others."""
        yield from ((float(choice == value), (*labels, choice)) for choice in choices)


def text(lines: Iterable[str]) -> str:
    """Return the content of a file with these lines."""
    return "\n".join([*lines, ""])


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


# How long did something take, each time since the start? As a histogram of Prometheus.
#
# https://prometheus.io/docs/concepts/metric_types/#histogram


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
