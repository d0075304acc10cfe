"""How is the status of the node printed for people? A few lines on the node, then one line for each stage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nodenet.core.status.document import has_vanished, problems
from nodenet.core.trial.trial import RUNNING
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


# Which events does `nodenetctl monitor` print, each only once?
#
# Two sources report the same changes: signals on the bus, one for each step, and the status document, which contains
# only the present state. Both are converted to events here, and an event without news is dropped.


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


# How is the status printed?

Document = Mapping[str, Any]
"""The status document (``core.status.document``)."""
SHORTEST_WAIT = 0.005
"""Seconds; a shorter wait is not printed."""
WHILE_WAITING = {
    "hostname": "`nodenetctl explain hostname` shows every source of a name",
    "nmstate": "`nmcli device` and `journalctl -b -u NetworkManager` show how far the links are",
    "resolv-prepender": "`journalctl -b -u nodenetd` shows what was tried; look at /etc/resolv.conf",
    "nodeip": "`nodenetctl explain node-ip` shows every address; check cable, switch port, DHCP server and router",
    "configure-ovs": "`nodenetctl explain br-ex` shows the uplink; `systemctl status ovsdb-server ovs-vswitchd`",
    "hosted-services": "`nodenetctl hosted` shows DNS, VIPs and load balancer of this node",
}
"""What an administrator can look at while a stage waits; nothing has to be done if what it waits for comes."""
OPEN = ("pending", "running", "waiting")
"""Statuses of a stage that has not ended."""


def lines(document: Document, now: float, *, kubelet_runs: bool = False) -> Iterator[str]:
    """Yield the document as people read it; *now* in seconds of CLOCK_BOOTTIME.

    *kubelet_runs*: its unit has a process, for instance of the time before nodenetd was restarted.
    """
    yield f"{_health_line(document)} ({_kubelet(document, kubelet_runs=kubelet_runs)})"
    yield f"  node IPs    {_node_ips_line(document)}"
    yield from (f"  note        {note}" for note in document.get("notes", ()))
    yield f"  bridge      {_bridge(document)}"
    yield f"  node file   {_node_file(document)}"
    yield from (f"  left over   from {each}" for each in document.get("left_over") or ())
    yield from _trial(document, now)
    yield from _problems(document)
    yield from _under_way(document, now)
    yield ""
    for stage in document["stages"]:
        yield _stage(stage, now, old=_is_old(stage, document))
        yield from (f"{'':<40}inhibited by {hold['who']}: {hold['why']}" for hold in stage.get("held", ()))


def problem_lines(problem: Mapping[str, Any]) -> Iterator[str]:
    """Yield a problem, its remedy, and the command that shows its explanation."""
    yield f"  problem     {': '.join(filter(None, (problem['stage'], problem['cause'])))}"
    if problem["remedy"]:
        yield f"  to do       {problem['remedy']}"
    yield f"  more        journalctl -xb MESSAGE_ID={problem['message_id']}"


def _health_line(document: Document) -> str:
    if not has_vanished(document):
        return str(document["health"])
    age = document["running"]["age"]
    return "nodenetd is not running" if age is None else f"nodenetd is not running; this status is {_span(age)} old"


def _span(seconds: float) -> str:
    """Return a length of time in the two largest units that fit, such as `2 h 5 min`."""
    whole = int(seconds)
    for unit, size, smaller, part in (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // part} {smaller}"
    return f"{whole} s"


def _kubelet(document: Document, *, kubelet_runs: bool) -> str:
    if document["ready"]:
        return "kubelet may run"
    return "kubelet is running" if kubelet_runs else "kubelet is held back"


def _node_ips_line(document: Document) -> str:
    where = places(document) or "none yet"
    missing = " (published, but missing on this node: see the problem)" if document.get("node_ips_missing") else ""
    return f"{where}{missing}"


def _bridge(document: Document) -> str:
    over = f" over {document['uplink']}" if document.get("uplink") else ""
    return f"{document['bridge']}{over}" if document["bridge"] else "none"


def _node_file(document: Document) -> str:
    source = f" ({document['hostname_source']})" if document.get("hostname_source") else ""
    host = f"; host name {document['hostname']}{source}" if document["hostname"] else ""
    return f"{_applied(document)}{host}"


def _applied(document: Document) -> str:
    name, digest, applied = document["node_file"], document["digest"], document["applied_digest"]
    stage = next((stage for stage in document["stages"] if stage["name"] == "nmstate"), None)
    is_open = stage is not None and stage["status"] in OPEN
    active = f"the active configuration is that of {applied[:12]}" if applied else "no node file is applied"
    if not name:
        if any(problem["stage"] == "nmstate" for problem in problems(document)):
            return f"cannot be used, see the problem; {active}"
        if is_open:
            return "not known yet"
        of = f" for {document['hostname']}" if document["hostname"] else ""
        return f"none{of}; the configuration {applied[:12]} of an earlier file is still active" if applied else "none"
    which = f"{name} ({digest[:12]})" if digest else name
    if digest and digest == applied:
        return f"{which}, applied"
    return f"{which}, not applied yet" if is_open else f"{which}, NOT applied; {active}"


def _trial(document: Document, now: float) -> Iterator[str]:
    """Yield the node file that is on trial."""
    trial = document.get("trial")
    if not trial or trial["state"] not in RUNNING or has_vanished(document):
        return
    yield f"  trial       {trial['node_file']} ({trial['digest'][:12]}), started by {trial['who']}"
    if trial["until"] is not None:
        left = max(trial["until"] - now, 0.0)
        yield f"              rolled back in {left:.0f} s; `nodenetctl confirm` keeps it"


def _problems(document: Document) -> Iterator[str]:
    """Yield every problem with its remedy; that there is none, once no stage is open."""
    found = problems(document)
    for problem in found:
        yield from problem_lines(problem)
    if not found and not any(stage["status"] in OPEN for stage in document["stages"]):
        yield "  problem     none"


def _under_way(document: Document, now: float) -> Iterator[str]:
    """Yield the stage that waits or runs."""
    for stage in document["stages"]:
        if stage["status"] == "waiting":
            yield f"  waiting     {stage['name']}: {stage['detail']}"
            yield f"  to do       {WHILE_WAITING[stage['name']]}"
            return
        if stage["status"] == "running":
            since = "" if stage["started"] is None else f", for {now - stage['started']:.1f} s"
            yield f"  running     {stage['name']}{since}"
            return


def _is_old(stage: Mapping[str, Any], document: Document) -> bool:
    """Return whether the result of *stage* is about another node file than the present one, which was refused."""
    digest = document["digest"]
    over = stage["name"] == "nmstate" and stage["status"] in ("done", "skipped")
    over = over and all(problem["cause"] != stage["detail"] for problem in problems(document))
    return bool(over and digest and digest != document["applied_digest"])


def _stage(stage: Mapping[str, Any], now: float, *, old: bool) -> str:
    detail = f"before the present file: {stage['detail']}" if old else stage["detail"]
    began, ended = stage["started"], stage["ended"]
    took = " " * 8 if began is None else f"{(now if ended is None else ended) - began:6.2f} s"
    return f"  {stage['name']:<17} {stage['status']:<8} {took}  {detail}{_beside(stage, now)}".rstrip()


def _beside(stage: Mapping[str, Any], now: float) -> str:
    """Return the provider, the wait, the failures and the next try of a stage, in brackets."""
    words = []
    if stage["provider"] not in ("builtin", "skip"):
        words.append(f"by {stage['provider'].removeprefix('unit:')}")
    if stage["ended"] is not None and stage.get("waited", 0.0) >= SHORTEST_WAIT:
        words.append(f"waited {stage['waited']:.2f} s of it")
    if (failures := stage.get("failures", 0)) > 1:
        words.append(f"failed {failures} times in a row")
    if (due := stage.get("next_try")) is not None:
        words.append(f"next try in {max(0.0, due - now):.0f} s, or on an event")
    return f" ({'; '.join(words)})" if words else ""


# What must an administrator know after a reload that the daemon accepted?
#
# The daemon reports an error for what it refused. A reload that it accepted can still leave the node with a problem,
# or without something that it had before.

INPUT = ("hostname", "nmstate")
"""Stages whose problems are about what a reload reads: host name, node file. Wrong settings are refused before."""
DEGRADED = 2
"""As the exit code of ``nodenetctl status``."""


@frozen
class Aftermath:
    """The lines to print, and the exit code."""

    lines: tuple[str, ...] = ()
    exit_code: int = 0


def aftermath(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> Aftermath:
    """Return what to print after a reload; *before* and *after* are the status documents around it.

    The exit code is 2 where the reload brought a problem, where its own input has one, and where the node file is
    gone. It is 0 where the node has only problems of other stages that it had before.
    """
    if after is None:
        return Aftermath()
    known = {(problem["message_id"], problem["stage"]) for problem in problems(before)} if before else set()
    lines: list[str] = []
    code = 0
    for problem in problems(after):
        is_new = before is not None and (problem["message_id"], problem["stage"]) not in known
        if is_new or problem["stage"] in INPUT:
            code = DEGRADED
        lines += problem_lines(problem)
    if lines:
        lines[:0] = ["The reload is complete, but the node has problems:" if code else STANDING]
    if after["node_file"] is None and after["applied_digest"]:
        digest = after["applied_digest"][:12]
        lines.append(f"There is no node file any more. The configuration of {digest} is still active: {UNDO}")
        if before is not None and before["node_file"]:
            code = DEGRADED
    if left := after.get("left_over"):
        lines += [f"Left over from {each}" for each in left]
        lines.append("`nodenetctl reload --prune` removes that")
    return Aftermath(tuple(lines), code)


STANDING = "The reload is complete. The node still has the problems that it had before:"
UNDO = "remove what it set with `nmcli`, or restore the file"
