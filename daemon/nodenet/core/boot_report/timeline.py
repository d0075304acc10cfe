"""What happened when in a boot, and which stage waited for what?

The input are journal entries as `journalctl -o json` prints them (systemd.journal-fields(7)), the result is a time
line. The boot ends with READY and the first starts of CRI-O and kubelet; later entries are left out. Entries
may be missing, damaged or of another version: a line that cannot be read is counted and otherwise ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from nodenet.core.messages import Message
from nodenet.core.stage_name import StageName
from nodenet.core.value import frozen

# sd-messages.h(3) of systemd; journalctl --catalog explains them.
UNIT_STARTING = "7d4958e842da4a758f6c1cdc7b36dcc5"
UNIT_STARTED = "39f53479d3a045ac8e11786248231fbf"
UNIT_FAILED = "be02cf6855d2428ba40df7e9d022f03d"
FINISHED = ("b07a249cd024414a82dd00cd181378ff", "eed00a68ffd84e31882105fd973abdd1")
"""The boot of a machine, and of a container, which does not boot a kernel."""
JOBS = (UNIT_STARTING, UNIT_STARTED, UNIT_FAILED)

DAEMON = "nodenetd"
NETWORK_MANAGER = "NetworkManager"
STARTUP_COMPLETE = "startup complete"
"""NetworkManager logs this when every device with a profile is activated or has failed."""
SOURCES = (f"{NETWORK_MANAGER}.service", "ovsdb-server.service", "ovs-vswitchd.service")
FOLLOWERS = (
    *("nodenet-ready.service", "crio.service", "kubelet.service", "k3s.service", "k3s-agent.service"),
    *("rke2-server.service", "rke2-agent.service", "snap.microk8s.daemon-kubelite.service"),
)
UNITS = (*SOURCES, f"{DAEMON}.service", *FOLLOWERS)
LANES = (
    *("kernel", "initrd", "userspace"),
    *(unit.removesuffix(".service") for unit in (*SOURCES, f"{DAEMON}.service")),
    *(stage.value for stage in StageName),
    *(unit.removesuffix(".service") for unit in FOLLOWERS),
)
"""The actors of a boot, in the order of the time line."""
NOTED = frozenset(
    {
        *(Message.BUS_LOST, Message.RECOVERED, Message.APPLY_RETRY, Message.ROLLED_BACK, Message.ROLLBACK_FAILED),
        *(Message.CHANGE_UNDONE, Message.SETTINGS_INVALID, Message.LIBNMSTATE_MISSING, Message.INTERNAL_ERROR),
        *(Message.STOPPED, Message.NODE_IP_DRIFT),
    }
)
KUBELETS = frozenset(unit.removesuffix(".service") for unit in FOLLOWERS[2:])
LATEST = 1e11
"""Seconds that a document may name at most: some thousand years."""
READIES = (Message.READY.value, Message.READY_DEGRADED.value)


class Kind(StrEnum):
    """What an actor did in a span of time."""

    WORK = "work"
    WAIT = "wait"


@frozen
class Span:
    """What one actor did for a time; in seconds since the boot began, *end* None while it lasts."""

    actor: str
    kind: Kind
    start: float
    end: float | None
    text: str


@frozen
class Mark:
    """One important moment, in seconds since the boot began."""

    at: float
    text: str


@frozen
class Report:
    """One boot: *began* in seconds of the epoch, *work* the seconds that each stage of nodenetd worked itself."""

    boot_id: str
    began: float | None = None
    ready: float | None = None
    work: Mapping[str, float] = field(default_factory=dict)
    spans: tuple[Span, ...] = ()
    marks: tuple[Mark, ...] = ()
    unreadable: int = 0
    until: float = 0.0
    """When the journal of a boot that is not ready ends; the present, if *is_present*."""
    host: str = ""
    is_present: bool = False
    """Whether something is waited for at this moment."""

    @property
    def own(self) -> float:
        """The seconds in which the stages worked, without those in which other programs worked for them."""
        return sum(self.work.values())

    @property
    def share(self) -> float | None:
        """The part of the time until READY that was nodenetd's own work; None before READY."""
        return self.own / self.ready if self.ready else None

    @property
    def end(self) -> float:
        """When the time line ends."""
        ends = [span.start if span.end is None else span.end for span in self.spans if span.actor != "userspace"]
        return max([*ends, *(mark.at for mark in self.marks), self.ready or self.until])

    @property
    def kubelet(self) -> float | None:
        """When kubelet, or a program that contains it, was started first."""
        return next((span.end for span in self.spans if span.actor in KUBELETS and span.text == "started"), None)


def report(entries: Iterable[Mapping[str, Any]], now: float | None = None) -> Report:
    """Return the time line of the one boot that *entries* are of, in their order.

    *now*: if it is the present boot, the present in seconds of CLOCK_MONOTONIC.
    """
    reader = _Reader()
    for entry in entries:
        try:
            reader.read(entry)
        except (KeyError, ValueError, TypeError, AttributeError):
            reader.unreadable += 1
    return reader.report(now)


def document(what: Report) -> dict[str, Any]:
    """Return the report as JSON-ready values."""
    return {
        "schema_version": 1,
        "boot_id": what.boot_id,
        "host": what.host,
        "began": what.began,
        "ready": what.ready,
        "own": round(what.own, 6),
        "work": {stage: round(seconds, 6) for stage, seconds in what.work.items()},
        "share": None if what.share is None else round(what.share, 4),
        "unreadable": what.unreadable,
        "until": what.until,
        "is_present": what.is_present,
        "spans": [
            {"actor": span.actor, "kind": span.kind.value, "start": span.start, "end": span.end, "text": span.text}
            for span in what.spans
        ],
        "marks": [{"at": mark.at, "text": mark.text} for mark in what.marks],
    }


def from_document(values: Mapping[str, Any]) -> Report:
    """Return the report of a document. Raises KeyError, TypeError, ValueError, AttributeError if it is none."""

    def number(value: Any) -> float:  # noqa: ANN401  (a JSON document)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LATEST:
            raise ValueError("a time is no number of seconds")
        return float(value)

    def maybe(value: Any) -> float | None:  # noqa: ANN401
        return None if value is None else number(value)

    spans = [
        Span(str(each["actor"]), Kind(each["kind"]), number(each["start"]), maybe(each["end"]), str(each["text"]))
        for each in values["spans"]
    ]
    return Report(
        boot_id=str(values["boot_id"]),
        began=maybe(values["began"]),
        ready=maybe(values["ready"]),
        work={str(stage): number(seconds) for stage, seconds in values["work"].items()},
        spans=tuple(spans),
        marks=tuple(Mark(number(each["at"]), str(each["text"])) for each in values["marks"]),
        until=number(values.get("until", 0.0)),
        host=str(values.get("host", "")),
        is_present=values.get("is_present") is True,
    )


@dataclass(slots=True)
class _Wait:
    """A wait that lasts: its reason, its start, and how long the stage had waited before."""

    since: float
    reason: str
    waited: float


@dataclass(slots=True)
class _Reader:
    """What was read from the entries so far; times in seconds of CLOCK_MONOTONIC."""

    unreadable: int = 0
    boot_id: str = ""
    origin: float | None = None
    epoch: float = 0.0
    """Wall clock time at CLOCK_MONOTONIC zero."""
    last: float = 0.0
    host: str = ""
    ready: float | None = None
    work: dict[str, float] = field(default_factory=dict)
    spans: list[Span] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    jobs: dict[str, float] = field(default_factory=dict)
    begun: set[str] = field(default_factory=set)
    waits: dict[str, _Wait] = field(default_factory=dict)
    attempts: dict[str, str] = field(default_factory=dict)
    """Stage → the STAGE_STARTED of its last end: a later run of the stage logs it again."""

    def read(self, entry: Mapping[str, Any]) -> None:
        """Take one entry."""
        at = int(entry["__MONOTONIC_TIMESTAMP"]) / 1e6
        if self.origin is None:
            self.epoch = int(entry["__REALTIME_TIMESTAMP"]) / 1e6 - at
            self.boot_id = str(entry["_BOOT_ID"])
            # A boot begins with the first line of the kernel, in a container with the first entry.
            self.origin = 0.0 if entry.get("_TRANSPORT") == "kernel" else at
        self.last = max(self.last, at)
        self.host = str(entry.get("_HOSTNAME") or self.host)  # the last one: the name may come during the boot
        message = entry.get("MESSAGE_ID")
        # Any user can write an entry with any field but those that journald adds, with _ (systemd.journal-fields(7)).
        by_systemd, unit = entry.get("_PID") == "1", entry.get("_SYSTEMD_UNIT")
        if by_systemd and message in FINISHED and "USERSPACE_USEC" in entry:
            self._finished(entry, at)
        elif by_systemd and message in JOBS and entry.get("UNIT") in UNITS:
            self._job(str(entry["UNIT"]), str(message), at)
        elif unit == f"{NETWORK_MANAGER}.service":
            if STARTUP_COMPLETE in entry["MESSAGE"] and self.ready is None:
                # The time that NetworkManager logged: journald may be late by more than this step takes.
                logged = float(entry.get("TIMESTAMP_BOOTTIME", at))
                started = min(self._last_end(NETWORK_MANAGER, 0.0) or logged, logged)
                self._span(NETWORK_MANAGER, Kind.WORK, started, logged, "first activations")
        elif unit == f"{DAEMON}.service" and entry.get("SYSLOG_IDENTIFIER") == DAEMON and self.ready is None:
            self._daemon(entry, at)

    def _finished(self, entry: Mapping[str, Any], at: float) -> None:
        userspace = at - int(entry["USERSPACE_USEC"]) / 1e6
        initrd = userspace - int(entry.get("INITRD_USEC", 0)) / 1e6
        kernel = initrd - int(entry.get("KERNEL_USEC", 0)) / 1e6
        self.origin = kernel
        for actor, start, end in (("kernel", kernel, initrd), ("initrd", initrd, userspace)):
            if end > start:
                self._span(actor, Kind.WORK, start, end, "")
        self._span("userspace", Kind.WORK, userspace, at, "until systemd had no job left")

    def _job(self, unit: str, message: str, at: float) -> None:
        if message == UNIT_STARTING:
            # After READY only first starts are part of the boot.
            if self.ready is None or unit not in self.begun:
                self.jobs[unit] = at
            self.begun.add(unit)
        elif message == UNIT_STARTED and unit not in self.begun:  # of a service of Type=simple systemd says no more
            self.begun.add(unit)
            self._span(unit.removesuffix(".service"), Kind.WORK, at, at, "started")
        elif (start := self.jobs.pop(unit, None)) is not None:
            actor = unit.removesuffix(".service")
            start = start if unit != f"{DAEMON}.service" else self._last_end(DAEMON, start)
            # systemd starts the gate before READY only where a start of nodenetd has failed.
            if unit == FOLLOWERS[0] and (opened := min(at, self.ready or at)) > start:
                self._span(actor, Kind.WAIT, start, opened, "nodenetd was not ready")
                start = opened
            self._span(actor, Kind.WORK, start, at, "started" if message == UNIT_STARTED else "failed to start")

    def _daemon(self, entry: Mapping[str, Any], at: float) -> None:
        message, text = entry.get("MESSAGE_ID"), str(entry["MESSAGE"])
        if message == Message.STARTED.value:
            self._begin(at)
        elif message in READIES:
            self.ready = at
            self.marks.append(Mark(at, text))
        elif "STATUS" in entry and "STAGE" in entry:
            self._stage(entry, at, text)
        elif message in {noted.value for noted in NOTED}:
            self.marks.append(Mark(at, text))

    def _begin(self, at: float) -> None:
        """Begin with a new process of the daemon: the waits of an earlier process are over."""
        for name, wait in self.waits.items():
            self._span(name, Kind.WAIT, wait.since, at, wait.reason)
        if self.attempts or self.waits:
            self.marks.append(Mark(at, "nodenetd started again"))
        self.waits.clear()
        self.attempts.clear()
        start = self.jobs.get(f"{DAEMON}.service")
        if start is not None:
            self._span(DAEMON, Kind.WORK, self._last_end(DAEMON, start), at, "sandbox, interpreter, imports")

    def _stage(self, entry: Mapping[str, Any], at: float, text: str) -> None:
        name, begun, status = str(entry["STAGE"]), str(entry["STAGE_STARTED"]), str(entry["STATUS"])
        started, waited = float(begun), float(entry["STAGE_WAITED"])
        if self.attempts.get(name) == begun:
            return
        wait = self.waits.pop(name, None)
        work = started
        if wait is not None:
            work = float(entry.get("STAGE_RESUMED", wait.since + waited - wait.waited))
            self._span(name, Kind.WAIT, wait.since, work, wait.reason)
        if status == "waiting":
            since = float(entry.get("STAGE_WAITING_SINCE", at))
            self._span(name, Kind.WORK, work, max(work, since), "looked")
            self.waits[name] = _Wait(since, str(entry["WAIT"]), waited)
            return
        ended = float(entry["STAGE_ENDED"])
        self.attempts[name] = begun
        itself = ended - started - waited - float(entry.get("STAGE_ELSEWHERE", 0))
        self.work[name] = self.work.get(name, 0.0) + max(0.0, itself)
        words = f"failed: {text}" if status == "failed" else text.removeprefix(f"{name} is ")
        self._span(name, Kind.WORK, work, ended, words)

    def _last_end(self, actor: str, least: float) -> float:
        """Return where the last span of *actor* ended, if that is later than *least*."""
        ends = [span.end for span in self.spans if span.actor == actor and span.end is not None]
        return max(ends[-1], least) if ends else least

    def _span(self, actor: str, kind: Kind, start: float, end: float | None, text: str) -> None:
        self.spans.append(Span(actor, kind, start, end, text))

    def report(self, now: float | None) -> Report:
        """Return the report, with times since the start of the boot."""
        for name, wait in self.waits.items():
            self._span(name, Kind.WAIT, wait.since, None, wait.reason)
        for actor, start in ((unit.removesuffix(".service"), start) for unit, start in self.jobs.items()):
            begin = self._last_end(DAEMON, start) if actor == DAEMON else start
            self._span(actor, Kind.WORK, begin, None, "is starting")
        origin = self.origin or 0.0
        lasts = self.ready is None and any(span.end is None for span in self.spans)
        order = {actor: position for position, actor in enumerate(LANES)}

        def since(at: float | None) -> float | None:
            return None if at is None else round(at - origin, 6)

        spans = [
            Span(span.actor, span.kind, since(span.start) or 0.0, since(span.end), span.text) for span in self.spans
        ]
        return Report(
            self.boot_id,
            self.epoch + origin if self.boot_id else None,
            since(self.ready),
            self.work,
            tuple(sorted(spans, key=lambda span: (span.start, order.get(span.actor, len(order))))),
            tuple(Mark(since(mark.at) or 0.0, mark.text) for mark in self.marks),
            self.unreadable,
            max(0.0, since(now if lasts and now is not None else self.last) or 0.0),
            self.host,
            is_present=lasts and now is not None,
        )
