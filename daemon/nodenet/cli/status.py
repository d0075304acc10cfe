"""How does the node stand? From the state file alone: needs neither the bus nor a living daemon."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nodenet.core.status.text import lines

if TYPE_CHECKING:
    from nodenet.core.ip import IPAddress

STATE = Path("/run/nodenet/state.json")
EXIT_CODES = {"ok": 0, "degraded": 2}
POLL_SECONDS = 0.2
Reached = Callable[[dict[str, Any]], bool]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = (
        "Show how the node stands: health, node IPs, bridge, node file, what is wrong and what to do, and every stage "
        "with its time, its waits and its reason. "
        "Exits 0 when all is well, 2 when the node is degraded (kubelet runs, something asked for is missing), "
        "1 when it is not ready or has failed."
    )
    parser.add_argument("--json", action="store_true", help="print the document that /run/nodenet/state.json holds")
    parser.add_argument("--wait", action="store_true", help="wait until the node is ready or has failed")
    add_reading(parser)


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add what every verb has that reads or waits for the state file."""
    parser.add_argument("--timeout", type=seconds, metavar="SECONDS", help="wait no longer than this")
    parser.add_argument(
        "--file", type=Path, default=STATE, metavar="FILE", help="read this state file (default: %(default)s)"
    )


def seconds(text: str) -> float:
    """Return a span of time from the command line."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not number >= 0:  # nor is NaN
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds, 0 or more")
    return number


def run(arguments: argparse.Namespace) -> int:
    """Print the status; return the exit code that stands for the health."""
    document = read(arguments.file)
    if arguments.wait:
        document = wait(_is_over, arguments.timeout, arguments.file)
    if document is None:
        print("nodenetd has not reported in this boot. See `systemctl status nodenetd`.")
        return 1
    print(json.dumps(document, indent=2) if arguments.json else "\n".join(lines(document, _now())))
    return EXIT_CODES.get(document["health"], 1)


def _now() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _is_over(document: dict[str, Any]) -> bool:
    return bool(document["ready"]) or document["health"] == "failed"


def read(path: Path = STATE) -> dict[str, Any] | None:
    """Return the status document, None where there is none."""
    try:
        document: dict[str, Any] = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    return document


def node_ips() -> tuple[IPAddress, ...]:
    """Return the node IPs that this boot published, primary first."""
    from ipaddress import ip_address  # noqa: PLC0415 - those who only print the status do not pay for it

    return tuple(map(ip_address, (read() or {}).get("node_ips") or ()))


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
