"""How does a node go back from nodenet to the former chain of units, or lose what nodenet wrote?"""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = (
        "Give a node that `nodenetctl adopt` took over back to the former chain of units, while it runs. Node IPs, "
        "br-ex and DNS servers stay as they are, and no packet is lost. A br-ex that nodenetd made stays until the "
        "next boot; the former chain makes its own then. All steps are printed first; when one fails, it and those "
        "before it are undone. Exits 0 when the node is handed back, also when it was not adopted, and 1 with the "
        "reason when it cannot be."
    )
    parser.add_argument("--dry-run", action="store_true", help="print the steps and change nothing")
    parser.add_argument(
        "--uninstall",
        action="store_true",
        help=(
            "before nodenet is removed: hand the node back if it is adopted; without a former chain, remove what "
            "nodenetd published below /etc"
        ),
    )


def run(arguments: argparse.Namespace) -> int:
    """Hand the node back; return the exit code. Raises NodenetError."""
    # Imported here: the list of verbs needs none of this.
    from nodenet.cli.adoption.run import Verb, change  # noqa: PLC0415
    from nodenet.core.adoption.plan import NOTHING_TO_HAND_BACK, hand_back, handed_back, uninstall  # noqa: PLC0415
    from nodenet.core.messages import Message  # noqa: PLC0415

    verb = Verb(
        "hand-back",
        uninstall if arguments.uninstall else hand_back,
        Message.ADOPTED,
        handed_back,
        NOTHING_TO_HAND_BACK,
        lambda facts: facts.marker,
    )
    return change(verb, dry_run=arguments.dry_run)
