"""How does the node stand? From the state file alone: needs neither the bus nor a living daemon."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

STATE = Path("/run/nodenet/state.json")
EXIT_CODES = {"ok": 0, "degraded": 2}
POLL_SECONDS = 0.2
Reached = Callable[[dict[str, Any]], bool]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = (
        "Show how the node stands: health, node IPs, node file, and every stage with its time and its reason. "
        "Exits 0 when all is well, 2 when the node is degraded (kubelet runs, something asked for is missing), "
        "1 when it is not ready or has failed."
    )
    parser.add_argument("--json", action="store_true", help="print the document that /run/nodenet/state.json holds")
    parser.add_argument("--wait", action="store_true", help="wait until the node is ready or has failed")
    add_reading(parser)


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add what every verb has that reads or waits for the state file."""
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="wait no longer than this")
    parser.add_argument("--file", type=Path, default=STATE, help="read this state file (default: %(default)s)")


def run(arguments: argparse.Namespace) -> int:
    """Print the status; return the exit code that stands for the health."""
    document = read(arguments.file)
    if arguments.wait:
        document = wait(_is_over, arguments.timeout, arguments.file)
    if document is None:
        print("nodenetd has not reported in this boot. See `systemctl status nodenetd`.")
        return 1
    print(json.dumps(document, indent=2) if arguments.json else "\n".join(lines(document)))
    return EXIT_CODES.get(document["health"], 1)


def _is_over(document: dict[str, Any]) -> bool:
    return bool(document["ready"]) or document["health"] == "failed"


def read(path: Path = STATE) -> dict[str, Any] | None:
    """Return the status document, None where there is none."""
    try:
        document: dict[str, Any] = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    return document


def wait(reached: Reached, seconds: float | None, path: Path = STATE) -> dict[str, Any] | None:
    """Return the status document as soon as it is as *reached* wants it, or as it is after *seconds*."""
    until = None if seconds is None else time.monotonic() + seconds
    while True:
        document = read(path)
        if document is not None and reached(document):
            return document
        if until is not None and time.monotonic() >= until:
            return document
        time.sleep(POLL_SECONDS)


def lines(document: dict[str, Any]) -> list[str]:
    """Return the document as a person reads it."""
    ready = "kubelet may run" if document["ready"] else "kubelet is held back"
    text = [f"{document['health']} ({ready})"]
    addresses = ", ".join(document["node_ips"]) or "none yet"
    where = f" on {document['link']}" if document["link"] else ""
    text.append(f"  node IPs    {addresses}{where}")
    text.append(f"  node file   {_node_file(document)}")
    text.append(f"  host name   {document['hostname'] or '-'}")
    text.append("")
    text += [_stage(stage) for stage in document["stages"]]
    if error := document["last_error"]:
        text += ["", f"  problem     {error['stage']}: {error['cause']}"]
        if error["remedy"]:
            text.append(f"  remedy      {error['remedy']}")
        text.append(f"  more        journalctl -xb MESSAGE_ID={error['message_id']}")
    return text


def _node_file(document: dict[str, Any]) -> str:
    if not document["node_file"]:
        return "none"
    digest, applied = document["digest"], document["applied_digest"]
    if digest and digest == applied:
        return f"{document['node_file']} ({digest[:12]}), in force"
    in_force = f"{applied[:12]} is in force" if applied else "nothing is in force"
    return f"{document['node_file']} ({digest[:12] if digest else 'unreadable'}), NOT in force; {in_force}"


def _stage(stage: dict[str, Any]) -> str:
    began, ended = stage["started"], stage["ended"]
    took = f"{ended - began:6.2f} s" if began is not None and ended is not None else " " * 8
    return f"  {stage['name']:<17} {stage['status']:<8} {took}  {stage['detail']}".rstrip()
