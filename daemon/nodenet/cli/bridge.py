"""Take br-ex away, or have it made again."""

from __future__ import annotations

import argparse

from nodenet.cli import status
from nodenet.cli.ask import ask
from nodenet.cli.outputs import note

SECONDS = 300.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = "Take br-ex away, or have it made again."
    orders = parser.add_subparsers(title="orders", dest="order", metavar="ORDER", required=True)
    orders.add_parser(
        "remove",
        help="put the node back on the plain link",
        description=(
            "Put the node back on the plain link below br-ex, with the addresses, routes and name servers it has and "
            "with NetworkManager's profile of that link as it was before; br-ex1 goes too. In one transaction: if the "
            "node IP does not come back, br-ex stays. The next boot makes br-ex again; to keep it away, set "
            '`configure-ovs = "skip"` under [stages] in the settings.'
        ),
    )
    orders.add_parser(
        "make",
        help="make br-ex now, after it was taken away or could not be made",
        description="Run the stage configure-ovs again and wait for its end.",
    )


def run(arguments: argparse.Namespace) -> int:
    """Ask the daemon; say how the stage stands then."""
    if arguments.order == "remove":
        ask("RemoveBridge", seconds=SECONDS)
    else:
        ask("RunStage", "s", ["configure-ovs"], seconds=SECONDS)
        status.wait(_is_over, SECONDS)
    stage = next((each for each in (status.read() or {}).get("stages", ()) if each["name"] == "configure-ovs"), None)
    if stage is None:
        return 1
    failed = stage["status"] not in ("done", "skipped")
    tell = note if failed else print
    tell(f"configure-ovs: {stage['status']}: {stage['detail']}")
    return 1 if failed else 0


def _is_over(document: dict[str, object]) -> bool:
    return bool(document["ready"]) and document["stage"] is None
