"""What is the status of the node? Read from the state file alone: needs neither the bus nor a running daemon."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nodenet.cli.outputs import folded, has_colours, in_colour, printable, seconds, whole
from nodenet.core.adoption.former_chain import PROPERTIES, Skip, why_skipped
from nodenet.core.errors import Unavailable
from nodenet.core.status.document import error, has_vanished, last_known, with_problem
from nodenet.core.status.text import lines, problem_lines
from nodenet.edge.files.store import is_released
from nodenet.edge.systemd import cgroups

if TYPE_CHECKING:
    from nodenet.core.boot.outcome import Problem
    from nodenet.core.ip import IPAddress

STATE = Path("/run/nodenet/state.json")
ADOPTION = "/var/lib/nodenet/adoption.json"
"""The record of an adoption that runs or was interrupted. Only root may look there."""
LOCK = "lock"
"""The daemon's lock, beside its state file."""
EXIT_CODES = {"ok": 0, "degraded": 2}
"""By health, any other one is 1; part of the contract."""
COLOURS = {"ok": "32", "degraded": "33", "failed": "31"}
"""SGR parameters (ECMA-48), by health."""
EX_TEMPFAIL = 75
INDENT = 14
"""Of what follows a label, such as `to do`."""
POLL_SECONDS = 0.2
RESTART_SECONDS = 10.0
"""How long `--wait` waits for a daemon that has ended: systemd restarts one that failed within a few seconds."""
NOT_REPORTED = "nodenetd has not reported in this boot. See `systemctl status nodenetd`."
Reached = Callable[[dict[str, Any]], bool]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = (
        "Show the status of the node: health, node IPs, bridge, node file, each problem with its remedy, and every "
        "stage with its time, its waits and its reason. "
        "Exits 0 when the node is ready without problems, 2 when it is degraded (kubelet may run, but something is "
        "missing), 1 when it is not ready, has failed or nodenetd is not running, and 75 when --timeout is over "
        "before --wait is. For root, an interrupted `nodenetctl adopt` or `hand-back` is one of the problems."
    )
    parser.add_argument("--json", action="store_true", help="print the document that /run/nodenet/state.json contains")
    parser.add_argument(
        "--wait",
        action="store_true",
        help="wait until the node is ready or has failed, or systemd skips nodenetd",
    )
    add_reading(parser)


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the options of every verb that reads the state file or waits for it."""
    parser.add_argument(
        "--timeout", type=seconds, metavar="SECONDS", help="wait at most so long; 90, 5s and 2min are valid"
    )
    parser.add_argument(
        "--file", type=Path, default=STATE, metavar="FILE", help="read this state file (default: %(default)s)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the status; return the exit code of the health."""
    document = read(arguments.file)
    is_over, skipped = _IsOver(), Skipped()
    timed_out = False
    if arguments.wait:
        document = wait(is_over, arguments.timeout, arguments.file, lambda: skipped() is not None)
        timed_out = not skipped.found if document is None else not is_over(document)
    left = _interrupted() if arguments.file == STATE else None
    if document is None:
        _print_none(skipped.found or (why() if arguments.file == STATE else None), left)
        return EX_TEMPFAIL if timed_out else 1
    with whole(str(arguments.file)):
        document = with_problem(document, left)
        if arguments.json:
            print(json.dumps(document, indent=2))
        else:
            kubelet_runs = arguments.file == STATE and cgroups.has_processes("kubelet.service")
            shown = map(printable, lines(document, _now(), kubelet_runs=kubelet_runs))
            first, *rest = folded(shown, INDENT)
            colour = COLOURS.get(document["health"], "") if has_colours() else ""
            print("\n".join([in_colour(first, colour), *rest]))
        return EX_TEMPFAIL if timed_out else EXIT_CODES.get(document["health"], 1)


def _print_none(skip: Skip | None, left: Problem | None) -> None:
    """Print that there is no status, and why."""
    print(f"nodenetd does not start: {skip}. {skip.remedy}." if skip else NOT_REPORTED)
    if left:
        print("\n".join(map(printable, problem_lines(error(None, left)))))


def _interrupted() -> Problem | None:
    """Return the problem of an adoption or a hand-back that was interrupted, for root alone."""
    if not os.access(ADOPTION, os.F_OK):
        return None
    from nodenet.edge.adoption import interrupted  # noqa: PLC0415 - other nodes need none of this

    return interrupted()


def _now() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class _IsOver:
    """Whether the node is ready or has failed; a daemon that has ended may be restarted within some seconds."""

    def __init__(self) -> None:
        self._ended: float | None = None

    def __call__(self, document: dict[str, Any]) -> bool:
        if not has_vanished(document):
            self._ended = None
            return bool(document["ready"]) or document["health"] == "failed"
        if self._ended is None:
            self._ended = time.monotonic()
        return time.monotonic() - self._ended >= RESTART_SECONDS


def read(path: Path = STATE) -> dict[str, Any] | None:
    """Return the status document, None where there is none; without a running daemon it is the last known one."""
    try:
        # Looked up first: a daemon that starts between the two has a newer document, and no older one is taken for new.
        ended = is_released(path.with_name(LOCK))
        document: dict[str, Any] = json.loads(path.read_bytes())
        return last_known(document, _age(path)) if ended else document
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def _age(path: Path) -> float | None:
    """Return for how many seconds the file has not been written; None if the clock was set since then."""
    age = time.time() - path.stat().st_mtime
    return age if 0 <= age <= _now() else None


def node_ips() -> tuple[IPAddress, ...]:
    """Return the node IPs that were published in this boot, primary first."""
    from ipaddress import ip_address  # noqa: PLC0415 - printing the status does not need it

    return tuple(map(ip_address, (read() or {}).get("node_ips") or ()))


def wait(
    reached: Reached, seconds: float | None, path: Path = STATE, given_up: Callable[[], bool] = lambda: False
) -> dict[str, Any] | None:
    """Return the status document as soon as *reached* is true for it, or the present one after *seconds*.

    While there is none, *given_up* is asked whether there will be none.
    """
    until = None if seconds is None else time.monotonic() + seconds
    while True:
        document = read(path)
        if document is not None and reached(document):
            return document
        if document is None and given_up():
            return None
        if until is not None and time.monotonic() >= until:
            return document
        time.sleep(POLL_SECONDS)


# Does systemd skip nodenetd? Asked only while nodenetd has not reported: each question is a process.

SYSTEMCTL_SECONDS = 10.0
LOOK_SECONDS = 2.0
"""Between two questions. In an ordinary boot nodenetd has reported before the first one."""


def why() -> Skip | None:
    """Return why systemd skips nodenetd, None where it does not, or does not answer."""
    return why_skipped(shown("nodenetd.service", PROPERTIES))


class Skipped:
    """Asks from time to time, beginning some seconds from now."""

    def __init__(self) -> None:
        """Nothing is found yet."""
        self.found: Skip | None = None
        self._next = time.monotonic() + LOOK_SECONDS

    def __call__(self) -> Skip | None:
        """Return what was found by now."""
        if time.monotonic() >= self._next:
            self.found = why()
            self._next = time.monotonic() + LOOK_SECONDS
        return self.found


def shown(unit: str, names: str) -> str:
    """Return the properties *names* of *unit* as ``NAME=VALUE`` lines, "" when systemctl fails."""
    from nodenet.edge.systemd.systemctl import systemctl  # noqa: PLC0415 - an ordinary status asks nothing

    try:
        return systemctl("show", f"--property={names}", "--", unit, seconds=SYSTEMCTL_SECONDS)
    except Unavailable:
        return ""
