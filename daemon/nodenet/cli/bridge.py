"""How does an administrator remove br-ex, or make it again?"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from nodenet.cli import status
from nodenet.cli.ask import ask
from nodenet.cli.outputs import note, printable
from nodenet.cli.wait import OVER, SUCCEEDED, stage_of
from nodenet.core.stage_name import StageName

SECONDS = 300.0
STAGE = StageName.CONFIGURE_OVS.value


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
    before = status.read()
    if arguments.order == "remove":
        ask("RemoveBridge", seconds=SECONDS)
        return show(status.read())
    ask("RunStage", "s", [STAGE], seconds=SECONDS)
    return show(status.wait(partial(has_run_since, before), SECONDS))


def has_run_since(before: dict[str, Any] | None, document: dict[str, Any]) -> bool:
    """Return whether the stage has begun and ended since *before*: nodenetd accepts the order before it begins."""
    stage = stage_of(document, STAGE)
    began_before = before and stage_of(before, STAGE)["started"]
    return stage["status"] in OVER and stage["started"] != began_before


def show(document: dict[str, Any] | None) -> int:
    """Print the stage; return the exit code."""
    if document is None:
        note(f"nodenetctl: {status.NOT_REPORTED}")
        return 1
    stage = stage_of(document, STAGE)
    failed = stage["status"] not in SUCCEEDED
    say = note if failed else print
    say(printable(f"{STAGE}: {stage['status']}: {stage['detail']}"))
    return 1 if failed else 0
