"""What is news to somebody who watches, and what was told already?

Two sources say the same thing: signals on the bus, each a step, and the status document, which only says where it
has come to. Both are turned into events here, and an event that says nothing new is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Event:
    """Something happened to *subject*; *time* in seconds of CLOCK_BOOTTIME, None when nobody knows it.

    *kind*: stage, health, ready, node-ip, problem, drift, applied, rolled-back, bus. *as_of*: when the document was
    read that tells it, which may be long after it happened; None where a signal does.
    """

    time: float | None
    kind: str
    subject: str
    status: str
    detail: str = ""
    as_of: float | None = None


def of_signal(member: str, body: Sequence[Any], now: float) -> Iterator[Event]:
    """Yield what a signal of org.nodenet1.Manager tells; nothing for one that is not known."""
    match member, body:
        case "StageChanged", [str(name), str(status), str(detail), int(time), *_]:
            yield Event(time / 1e6, "stage", name, status, detail)
        case "NodeIPChanged", [list(addresses), str(link), *_]:
            yield _node_ips(now, addresses, link)
        case "NodeIPDrift", [str(cause), *_]:
            yield Event(now, "drift", "nodeip", "lost", cause)
        case "NetworkApplied", [str(name), str(digest), *_]:
            yield Event(now, "applied", name, "in force", digest)
        case "RolledBack", [str(digest), str(cause), *_]:
            yield Event(now, "rolled-back", "nmstate", "rolled back", f"{cause} (digest {digest[:12]})")


def of_properties(changed: Mapping[str, Any], now: float) -> Iterator[Event]:
    """Yield what changed properties of org.nodenet1.Manager tell, beside what has a signal of its own."""
    if "Health" in changed:
        yield _health(now, str(changed["Health"]))
    if "Ready" in changed:
        yield _ready(now, ready=bool(changed["Ready"]))
    if "LastError" in changed:
        _, stage, cause, remedy = changed["LastError"]
        yield _problem(now, stage, cause, remedy)


def of_document(document: Mapping[str, Any], now: float, *, first: bool = False) -> Iterator[Event]:
    """Yield all that a status document tells; of the *first* one nobody knows when it became so, except for stages."""
    seen = None if first else now
    for stage in document["stages"]:
        times = (stage["ended"], stage["started"])
        time = next((float(time) for time in times if time is not None), seen)
        yield Event(time, "stage", stage["name"], stage["status"], stage["detail"], now)
    if document["node_ips"]:
        yield _node_ips(seen, document["node_ips"], document["link"] or "")
    error = document["last_error"] or {}
    yield _problem(seen, *(error.get(key) or "" for key in ("stage", "cause", "remedy")))
    yield _health(seen, document["health"])
    yield _ready(seen, ready=document["ready"])


def _node_ips(now: float | None, addresses: Sequence[str], link: str) -> Event:
    return Event(now, "node-ip", "nodeip", "published", f"{', '.join(addresses)} on {link}")


def _health(now: float | None, health: str) -> Event:
    return Event(now, "health", "node", health)


def _ready(now: float | None, *, ready: bool) -> Event:
    return Event(now, "ready", "node", "ready" if ready else "not ready", "kubelet may run" if ready else "")


def _problem(now: float | None, stage: str, cause: str, remedy: str) -> Event:
    words = f"{cause}. {remedy}" if remedy else cause
    return Event(now, "problem", stage or "node", "problem" if cause else "no problem", words)


@dataclass(slots=True)
class Known:
    """What was told already."""

    _told: dict[tuple[str, str], Event] = field(default_factory=dict)

    def news(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield those of *events* that tell something new, and remember them."""
        for event in events:
            key = (event.kind, "" if event.kind == "problem" else event.subject)
            before = self._told.get(key)
            if before is None and event.status == "no problem":
                continue
            if before is not None:
                same = (before.subject, before.status, before.detail) == (event.subject, event.status, event.detail)
                # A step that was overtaken: the document was read in between. What is read itself is never late.
                known = before.time if before.as_of is None else before.as_of
                late = event.kind == "stage" and event.as_of is None and (event.time or 0.0) < (known or 0.0)
                if same or late:
                    continue
            self._told[key] = event
            yield event
