"""How does an administrator end the trial of a node file before its time?"""

from __future__ import annotations

import argparse

from nodenet.cli import status
from nodenet.cli.ask import ask
from nodenet.cli.outputs import note
from nodenet.core.trial.trial import APPLY_IT, not_applied

SECONDS = 180.0
"""NetworkManager may take 90 s for a rollback."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = (
        "End the trial that `nodenetctl try` has started, and return when the network is as it was before. Needs root."
    )


def run(arguments: argparse.Namespace) -> int:  # noqa: ARG001  (there are no options)
    """End the trial; return the exit code. Raises NodenetError."""
    ask("RollBackTrial", seconds=SECONDS)
    print("rolled back: the network is as it was before the trial")
    if edited := ((status.read() or {}).get("trial") or {}).get("edited"):
        note(f"nodenetctl: {not_applied(edited)}. {APPLY_IT}")
    return 0
