"""How does a node that runs come from the former chain of units to nodenet?"""

from __future__ import annotations

import argparse

DONE = "This node is adopted: nodenetd configures it now and at every boot."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = (
        "Let nodenetd take over a running node from the former chain of units (nodeip-configuration, "
        "ovs-configuration, on-prem-resolv-prepender and so on). Node IPs, br-ex, DNS servers and hints stay as they "
        "are, and no packet is lost. All steps are printed first; when one fails, it and those before it are undone. "
        "The units of the former chain are not changed: drop-ins with a condition let systemd skip them. "
        "Exits 0 when the node is adopted, also when it was before, and 1 when it cannot be, with the reason."
    )
    parser.add_argument("--dry-run", action="store_true", help="print the steps and change nothing")


def run(arguments: argparse.Namespace) -> int:
    """Adopt the node; return the exit code. Raises NodenetError."""
    # Imported here: the list of verbs needs none of this.
    from nodenet.cli.adoption.run import Verb, change  # noqa: PLC0415
    from nodenet.core.adoption.plan import NOTHING_TO_ADOPT, adoption  # noqa: PLC0415
    from nodenet.core.messages import Message  # noqa: PLC0415

    verb = Verb("adopt", adoption, Message.ADOPTED, lambda *_: DONE, NOTHING_TO_ADOPT)
    return change(verb, dry_run=arguments.dry_run)
