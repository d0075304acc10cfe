"""What do hosted services do on this node? One screen from a file; neither the bus nor nodenet-hosted is needed."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from nodenet.cli.ask import ask
from nodenet.cli.outputs import note, printable
from nodenet.core.errors import UsageInvalid
from nodenet.core.hosted_services.report import lines
from nodenet.edge.systemd import cgroups

REPORT = Path("/run/nodenet/hosted/status.json")
UNIT = "nodenet-hosted.service"
EXIT_CODES = {"ok": 0, "disabled": 0, "degraded": 2}
"""By health; any other one is 1."""
POLL_SECONDS = 0.5
DRAIN_SECONDS = 60.0
SHOWN = frozenset(
    {"health", "mode", "phase", "node", "role", "api_int", "api_reachable", "vips", "services", "problems"}
)
"""What a report has in any case."""
CLEAR = "\x1b[H\x1b[2J"
"""Cursor home, erase the screen (ECMA-48)."""
NOT_REPORTED = "nodenet-hosted has not reported in this boot. See `systemctl status nodenet-hosted`."
ENDED = "nodenet-hosted does not run: this is what it reported last"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = (
        "Show the hosted services of this node: api-int, the VIPs with their holders on the wire, each service, and "
        "each problem with its remedy. `drain` moves the VIPs to other nodes before this node is taken down: no new "
        "connection fails. After `undrain` or the next boot the node takes part again. `migrate --dry-run` checks the "
        "load balancer that the object HostedNetServices asks for, or that of `--to`, as a migration of the API does. "
        "It moves nothing, and exits 0 if a migration may begin, else 1. Otherwise exits 0 without problems, 2 when "
        "degraded, 1 when no state was reported or not every VIP was seen yet."
    )
    orders = ("drain", "undrain", "migrate")
    parser.add_argument(
        "order", nargs="?", choices=orders, metavar="ORDER", help="drain, undrain, or migrate --dry-run"
    )
    parser.add_argument("--dry-run", action="store_true", help="with migrate: only check")
    parser.add_argument(
        "--to", action="append", default=[], metavar="ADDRESS", help="with migrate: check this address; twice for two"
    )
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--json", action="store_true", help="print the document that the companion reports")
    shown.add_argument("--watch", action="store_true", help="print again after each change, until interrupted")
    parser.add_argument(
        "--file", type=Path, default=REPORT, metavar="FILE", help="read this file (default: %(default)s)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Carry an order out, or print; return the exit code."""
    if arguments.order == "migrate":
        from nodenet.cli import hosted_migrate  # noqa: PLC0415 - printing needs no TLS

        return hosted_migrate.run(arguments.to, read(arguments.file), dry_run=arguments.dry_run)
    if arguments.dry_run or arguments.to:
        raise UsageInvalid("--dry-run and --to are for `nodenetctl hosted migrate`", remedy="Leave them out")
    if arguments.order:
        return _ordered(arguments.order)
    if arguments.watch:
        return _watch(arguments.file)
    document = read(arguments.file)
    if document is None:
        note(NOT_REPORTED)
        return 1
    print(json.dumps(document, indent=2) if arguments.json else _text(document, arguments.file))
    return EXIT_CODES.get(document["health"], 1)


def read(path: Path = REPORT) -> dict[str, Any] | None:
    """Return the document, None where there is none."""
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) and document.keys() >= SHOWN else None


def _text(document: dict[str, Any], path: Path) -> str:
    ended = path == REPORT and document["health"] != "disabled" and not cgroups.has_processes(UNIT)
    return "\n".join(map(printable, [*([ENDED] if ended else []), *lines(document)]))


def _watch(path: Path) -> int:
    before: str | None = None
    while True:
        document = read(path)
        text = _text(document, path) if document else NOT_REPORTED
        if text != before:
            print(f"{CLEAR if sys.stdout.isatty() else ''}{text}", flush=True)
            before = text
        time.sleep(POLL_SECONDS)


def _ordered(order: str) -> int:
    # Imported here: printing needs no D-Bus.
    from nodenet.core.hosted_services.units import HOSTED, PATH  # noqa: PLC0415

    at = (HOSTED.name, PATH, HOSTED.name)
    if order == "undrain":
        ask("Undrain", seconds=DRAIN_SECONDS, at=at)
        print("This node takes part again.")
        return 0
    (moved,) = ask("Drain", seconds=DRAIN_SECONDS, at=at)
    if moved:
        print("This node is drained: other nodes hold its VIPs.")
        return 0
    note("nodenetctl: this node is drained, and no other node took its VIPs. See `nodenetctl hosted`")
    return 1
