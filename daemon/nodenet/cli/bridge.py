"""How does an administrator remove br-ex, or have it made again?"""

from __future__ import annotations

import argparse

from nodenet.cli import status
from nodenet.cli.ask import ask
from nodenet.cli.outputs import note
from nodenet.cli.table import printable

SECONDS = 300.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = "Remove br-ex, or make it again."
    orders = parser.add_subparsers(title="orders", dest="order", metavar="ORDER", required=True)
    orders.add_parser(
        "remove",
        help="move the node back to the uplink",
        description=(
            "Remove br-ex and br-ex1 and move the addresses, routes and DNS servers back to the uplink. The uplink "
            "gets the NetworkManager profile that it had before. This is one transaction: if the node IP does not "
            "come up on the uplink, br-ex stays. The next boot makes br-ex again; to prevent that, set "
            '`configure-ovs = "skip"` under [stages] in the settings.'
        ),
    )
    orders.add_parser(
        "make",
        help="make br-ex now, after it was removed or could not be made",
        description="Run the stage configure-ovs again and wait until it has ended.",
    )


def run(arguments: argparse.Namespace) -> int:
    """Ask the daemon and print the status of the stage afterwards; return the exit code."""
    if arguments.order == "remove":
        ask("RemoveBridge", seconds=SECONDS)
    else:
        ask("RunStage", "s", ["configure-ovs"], seconds=SECONDS)
        status.wait(_is_over, SECONDS)
    stage = next((each for each in (status.read() or {}).get("stages", ()) if each["name"] == "configure-ovs"), None)
    if stage is None:
        return 1
    failed = stage["status"] not in ("done", "skipped")
    show = note if failed else print
    show(printable(f"configure-ovs: {stage['status']}: {stage['detail']}"))
    return 1 if failed else 0


def _is_over(document: dict[str, object]) -> bool:
    return bool(document["ready"]) and document["stage"] is None
