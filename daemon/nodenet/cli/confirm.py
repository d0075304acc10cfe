"""How does an administrator keep the node file that is on trial?"""

from __future__ import annotations

import argparse

from nodenet.cli import status
from nodenet.cli.ask import ask
from nodenet.cli.table import printable

SECONDS = 120.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = (
        "Keep the network of the node file that `nodenetctl try` has applied, and install the file: over the file of "
        "this host, or as its short host name with `.yml`. Works in any session, so also over an address that only "
        "the new file has. kubelet uses another node IP only after `nodenetctl reselect` and a restart. Needs root."
    )


def run(arguments: argparse.Namespace) -> int:  # noqa: ARG001  (there are no options)
    """Confirm the trial and print where the file is; return the exit code. Raises NodenetError."""
    ask("ConfirmTrial", seconds=SECONDS)
    trial = (status.read() or {}).get("trial") or {}
    print(printable(f"confirmed: {trial.get('node_file')} is installed as {trial.get('installed')}"))
    return 0
