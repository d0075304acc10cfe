"""How does an administrator make nodenetd select the node IPs again?"""

from __future__ import annotations

import argparse
import json
from typing import Any

from nodenet.cli.ask import ask
from nodenet.cli.status import EXIT_CODES, read
from nodenet.core.messages import Message
from nodenet.core.status.document import problems

RESELECT_SECONDS = 90.0
DEGRADED = EXIT_CODES["degraded"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = (
        "Select the node IPs as on a first boot, and publish them. kubelet and CRI-O use the new addresses only after "
        "they are restarted, and the cluster knows the node by the old ones: drain the node first. Exits 2 and prints "
        "the commands that are left while one of them runs with the old ones; until then the node is degraded."
    )
    parser.add_argument("--dry-run", action="store_true", help="only print what would change")


def run(arguments: argparse.Namespace) -> int:
    """Ask the daemon and print what changed; return the exit code."""
    before = _published()
    if arguments.dry_run:
        (text,) = ask("Explain", "s", ["reselect"], seconds=RESELECT_SECONDS)
        after = [str(address) for address in json.loads(text)["node_ips"]]
        print(_change(before, after, "would become"))
        return 0
    ask("Reselect", seconds=RESELECT_SECONDS)
    print(_change(before, _published(), "became"))
    return _print_left(read())


def _print_left(document: dict[str, Any] | None) -> int:
    """Print which commands are left until kubelet and CRI-O run with what is published; return the exit code."""
    for problem in problems(document) if document else ():
        if problem["message_id"] == Message.NODE_IP_NOT_IN_USE.value:
            print(f"{problem['cause']}.\nLeft to do: {problem['remedy']}")
            return DEGRADED
    return 0


def _published() -> list[str]:
    document = read()
    return [str(address) for address in document["node_ips"]] if document else []


def _change(before: list[str], after: list[str], became: str) -> str:
    if before == after:
        return f"unchanged: {', '.join(before) or 'none'}"
    return f"{', '.join(before) or 'none'} {became} {', '.join(after) or 'none'}"
