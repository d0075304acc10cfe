"""What is a metric of Prometheus, and which metrics has every program of ours?"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from itertools import accumulate

from nodenet.core.messages import Message
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


# Which metrics has each program: its version, whether it runs, and how often it logged which event?


class Program(StrEnum):
    """A program of a node that has metrics."""

    NODENETD = "nodenetd"
    HOSTED = "nodenet-hosted"
    IPAM = "nodenet-ipam"


INFO = Family("nodenet_info", Kind.GAUGE, "1, with the version of the program.", ("program", "version"))
RUNNING = Family("nodenet_running", Kind.GAUGE, "1 while the program runs, 0 after it has stopped.", ("program",))
STARTED = Family(
    "nodenet_start_time_seconds", Kind.GAUGE, "Unix time at which this run of the program started.", ("program",)
)
EVENTS = Family(
    "nodenet_events_total",
    Kind.COUNTER,
    "Events that the program has logged since it started, by the name of their MESSAGE_ID.",
    ("program", "event"),
)
FAMILIES = (INFO, RUNNING, STARTED, EVENTS)
COUNTED: Mapping[Program, tuple[Message, ...]] = {
    Program.NODENETD: (
        Message.NETWORK_APPLIED,
        Message.APPLY_RETRY,
        Message.APPLY_FAILED,
        Message.PROBE_FAILED,
        Message.ROLLED_BACK,
        Message.ROLLBACK_FAILED,
        Message.CHANGE_UNDONE,
        Message.NODE_FILE_QUARANTINED,
        Message.NODE_IP_SELECTED,
        Message.NODE_IP_DRIFT,
        Message.UPLINK_LOST,
        Message.GATEWAY_SILENT,
        Message.ROUTE_LOST,
        Message.NAME_SERVERS_SILENT,
        Message.NODE_IP_NOT_IN_USE,
        Message.NODE_IP_CLAIMED,
        Message.MANAGER_AWAY,
        Message.RESOLVER_REWRITTEN,
        Message.BRIDGE_MADE,
        Message.BRIDGE_MENDED,
        Message.BRIDGE_FAILED,
        Message.NOT_CONFIRMED,
        Message.RELOADED,
        Message.RELOAD_REFUSED,
        Message.PUBLISH_FAILED,
        Message.BUS_LOST,
        Message.WATCHER_FAILED,
        Message.INTERNAL_ERROR,
    ),
    Program.HOSTED: (
        Message.VIP_MOVED,
        Message.VIP_SPLIT,
        Message.STACK_WAITING,
        Message.HOSTED_FAILED,
        Message.HOSTED_CHANGED,
        Message.HOSTED_PROBLEM,
        Message.API_FAILED,
        Message.WATCHER_FAILED,
        Message.INTERNAL_ERROR,
    ),
    Program.IPAM: (
        Message.ADDRESS_ALLOCATED,
        Message.ADDRESS_RELEASED,
        Message.CLAIM_REJECTED,
        Message.CLAIM_CONFLICT,
        Message.SUBNET_EXHAUSTED,
        Message.API_FAILED,
        Message.IPAM_FAILED,
        Message.IPAM_STORE_REBUILT,
        Message.NODE_NAME_SHARED,
        Message.WATCHER_FAILED,
        Message.INTERNAL_ERROR,
    ),
}
"""The events that are counted. Each is there with 0 from the start: a rate needs the value before the first event."""


class ProgramMetrics:
    """What one run of a program counts, beside the metrics of its own."""

    def __init__(self, program: Program, version: str, started: float) -> None:
        """Begin with zeros. *started* is the present Unix time: it distinguishes one run from the next."""
        self.running = True
        self.changed: Callable[[], None] = lambda: None
        """Is called when a count has changed."""
        self._program = program
        self._version = version
        self._started = started
        self._counts = dict.fromkeys(COUNTED[program], 0)

    def seen(self, message: Message) -> None:
        """Count an event that was logged, where it is one of those that are counted."""
        if message in self._counts:
            self._counts[message] += 1
            self.changed()

    def lines(self) -> Iterator[str]:
        """Yield the lines of the text."""
        yield from INFO.lines([(1, (self._program, self._version))])
        yield from RUNNING.lines([(self.running, (self._program,))])
        yield from STARTED.lines([(self._started, (self._program,))])
        yield from EVENTS.lines((count, (self._program, event.name.lower())) for event, count in self._counts.items())
