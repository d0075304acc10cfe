"""How does the node stand, for a person? Five lines and a few notes, then the stages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Document = Mapping[str, Any]
"""The status document (``core.status.document``)."""
SHORTEST_WAIT = 0.005
"""Seconds; less is not told."""


def lines(document: Document, now: float) -> Iterator[str]:
    """Yield the document as a person reads it; *now* in seconds of CLOCK_BOOTTIME."""
    ready = "kubelet may run" if document["ready"] else "kubelet is held back"
    yield f"{document['health']} ({ready})"
    addresses = ", ".join(document["node_ips"]) or "none yet"
    where = f" on {document['link']}" if document["link"] else ""
    yield f"  node IPs    {addresses}{where}"
    yield from (f"  note        {note}" for note in document.get("notes", ()))
    yield f"  bridge      {_bridge(document)}"
    yield f"  node file   {_node_file(document)}"
    yield from _wrong(document, now)
    yield ""
    for stage in document["stages"]:
        yield _stage(stage, now)
        yield from (f"{'':<40}inhibited by {hold['who']}: {hold['why']}" for hold in stage.get("held", ()))


def _bridge(document: Document) -> str:
    over = f" over {document['uplink']}" if document.get("uplink") else ""
    return f"{document['bridge']}{over}" if document["bridge"] else "none"


def _node_file(document: Document) -> str:
    host = f"; host name {document['hostname']}" if document["hostname"] else ""
    digest, applied = document["digest"], document["applied_digest"]
    if not document["node_file"]:
        return f"none{f'; what {applied[:12]} set stays in force' if applied else ''}{host}"
    if digest and digest == applied:
        return f"{document['node_file']} ({digest[:12]}), in force{host}"
    in_force = f"{applied[:12]} is in force" if applied else "nothing is in force"
    which = f" ({digest[:12]})" if digest else ""
    return f"{document['node_file']}{which}, NOT in force; {in_force}{host}"


def _wrong(document: Document, now: float) -> Iterator[str]:
    """Yield what is wrong and what to do; else what is awaited; else that nothing is."""
    if error := document["last_error"]:
        yield f"  problem     {': '.join(filter(None, (error['stage'], error['cause'])))}"
        if error["remedy"]:
            yield f"  to do       {error['remedy']}"
        yield f"  more        journalctl -xb MESSAGE_ID={error['message_id']}"
    for stage in document["stages"]:
        if stage["status"] == "waiting":
            yield f"  waits       {stage['name']}: {stage['detail']}"
            return
        if stage["status"] == "running":
            since = "" if stage["started"] is None else f", for {now - stage['started']:.1f} s"
            yield f"  runs        {stage['name']}{since}"
            return
    if not error:
        yield "  problem     none"


def _stage(stage: Mapping[str, Any], now: float) -> str:
    began, ended = stage["started"], stage["ended"]
    took = " " * 8 if began is None else f"{(now if ended is None else ended) - began:6.2f} s"
    return f"  {stage['name']:<17} {stage['status']:<8} {took}  {stage['detail']}{_beside(stage, now)}".rstrip()


def _beside(stage: Mapping[str, Any], now: float) -> str:
    """Return what else is to be said of a stage, in brackets."""
    words = []
    if stage["provider"] not in ("builtin", "skip"):
        words.append(f"by {stage['provider'].removeprefix('unit:')}")
    if stage["ended"] is not None and stage.get("waited", 0.0) >= SHORTEST_WAIT:
        words.append(f"waited {stage['waited']:.2f} s of it")
    if (due := stage.get("next_try")) is not None:
        words.append(f"next try in {max(0.0, due - now):.0f} s, or on an event")
    return f" ({'; '.join(words)})" if words else ""
