"""Which metrics has each program of nodenet: its version, whether it runs, and how often it logged which event?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum

from nodenet.core.messages import Message
from nodenet.core.metrics.family import Family, Kind


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
        Message.CHECKPOINT_CLEARED,
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
        Message.RELOAD_INCOMPLETE,
        Message.PUBLISH_FAILED,
        Message.BUS_LOST,
        Message.WATCHER_FAILED,
        Message.INTERNAL_ERROR,
    ),
    Program.HOSTED: (
        Message.VIP_MOVED,
        Message.VIP_SPLIT,
        Message.VIP_TAKEN,
        Message.KEEPALIVED_HANGS,
        Message.STACK_WAITING,
        Message.HOSTED_CHANGED,
        Message.HOSTED_PROBLEM,
        Message.CLUSTER_UNREADABLE,
        Message.REPORT_FAILED,
        Message.WATCHER_FAILED,
        Message.INTERNAL_ERROR,
    ),
    Program.IPAM: (
        Message.ADDRESS_ALLOCATED,
        Message.ADDRESS_RELEASED,
        Message.CLAIM_REJECTED,
        Message.CLAIM_CONFLICT,
        Message.SUBNET_EXHAUSTED,
        Message.CLAIMS_UNREADABLE,
        Message.IPAM_STORE_FAILED,
        Message.IPAM_STORE_REBUILT,
        Message.ATTACHMENTS_REAPED,
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
