"""Which events does `nodenetctl monitor` print, each only once?

Two sources report the same changes: signals on the bus, one for each step, and the status document, which contains only
the present state. Both are converted to events here, and an event without news is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nodenet.core.value import frozen

# Where is each node IP, and who gave it, as people read it in the status?


def places(document: Mapping[str, Any]) -> str:
    """Return the node IPs of a document as people read them, each with its link and source."""
    found = document.get("node_ip_places") or [
        {"address": address, "link": document["link"] or "", "source": ""} for address in document["node_ips"]
    ]
    words = [f"{item['address']} ({item['source']})" if item["source"] else item["address"] for item in found]
    links = [item["link"] for item in found]
    if len(set(links)) == 1:
        return ", ".join(words) + (f" on {links[0]}" if links[0] else "")
    return ", ".join(f"{word} on {link}" if link else word for word, link in zip(words, links, strict=True))


@frozen
class Event:
    """Something happened to *subject*; *time* in seconds of CLOCK_BOOTTIME, None when it is not known.

    *kind*: stage, health, ready, node-ip, problem, drift, applied, rolled-back, bus. *as_of*: when the document was
    read that contains it, which may be long after it happened; None for an event of a signal.
    """

    time: float | None
    kind: str
    subject: str
    status: str
    detail: str = ""
    as_of: float | None = None


def of_signal(member: str, body: Sequence[Any], now: float) -> Iterator[Event]:
    """Yield the events of a signal of org.nodenet1.Manager; none for an unknown signal."""
    match member, body:
        case "StageChanged", [str(name), str(status), str(detail), int(time), *_]:
            yield Event(time / 1e6, "stage", name, status, detail)
        case "NodeIPChanged", [list(addresses), str(link), *_]:
            yield _node_ips(now, ", ".join([f"{addresses[0]} on {link}", *addresses[1:]]) if addresses else "")
        case "NodeIPDrift", [str(cause), *_]:
            yield Event(now, "drift", "nodeip", "lost", cause)
        case "NetworkApplied", [str(name), str(digest), *_]:
            yield Event(now, "applied", name, "in force", digest)
        case "RolledBack", [str(digest), str(cause), *_]:
            yield Event(now, "rolled-back", "nmstate", "rolled back", f"{cause} (digest {digest[:12]})")


def of_properties(changed: Mapping[str, Any], now: float) -> Iterator[Event]:
    """Yield the events of changed properties of org.nodenet1.Manager that have no signal of their own."""
    if "Health" in changed:
        yield _health(now, str(changed["Health"]))
    if "Ready" in changed:
        yield _ready(now, ready=bool(changed["Ready"]))
    if "LastError" in changed:
        _, stage, cause, remedy = changed["LastError"]
        yield _problem(now, stage, cause, remedy)


def of_document(document: Mapping[str, Any], now: float, *, first: bool = False) -> Iterator[Event]:
    """Yield the content of a status document as events; in the *first* one only stages have a known time."""
    seen = None if first else now
    for stage in document["stages"]:
        times = (stage["ended"], stage["started"])
        time = next((float(time) for time in times if time is not None), seen)
        yield Event(time, "stage", stage["name"], stage["status"], stage["detail"], now)
    if document["node_ips"]:
        yield _node_ips(seen, places(document))
    error = document["last_error"] or {}
    yield _problem(seen, *(error.get(key) or "" for key in ("stage", "cause", "remedy")))
    yield _health(seen, document["health"])
    yield _ready(seen, ready=document["ready"])


def _node_ips(now: float | None, where: str) -> Event:
    return Event(now, "node-ip", "nodeip", "published", where)


def _health(now: float | None, health: str) -> Event:
    return Event(now, "health", "node", health)


def _ready(now: float | None, *, ready: bool) -> Event:
    return Event(now, "ready", "node", "ready" if ready else "not ready", "kubelet may run" if ready else "")


def _problem(now: float | None, stage: str, cause: str, remedy: str) -> Event:
    words = f"{cause}. {remedy}" if remedy else cause
    return Event(now, "problem", stage or "node", "problem" if cause else "no problem", words)


@dataclass(slots=True)
class Known:
    """The events that were printed before."""

    _printed: dict[tuple[str, str], Event] = field(default_factory=dict)

    def news(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield those of *events* that are new, and remember them."""
        for event in events:
            key = (event.kind, "" if event.kind == "problem" else event.subject)
            before = self._printed.get(key)
            if before is None and event.status == "no problem":
                continue
            if before is not None:
                same = (before.subject, before.status, before.detail) == (event.subject, event.status, event.detail)
                # A signal that is older than the document read before it. What the document contains is never late.
                known = before.time if before.as_of is None else before.as_of
                late = event.kind == "stage" and event.as_of is None and (event.time or 0.0) < (known or 0.0)
                if same or late:
                    continue
            self._printed[key] = event
            yield event
