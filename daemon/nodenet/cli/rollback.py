"""How does an administrator end the trial of a node file before its time?"""

from __future__ import annotations

import argparse

from nodenet.cli.ask import ask
from nodenet.cli.on_trial import reported, runs
from nodenet.cli.outputs import note
from nodenet.core.trial.trial import ANSWER_SECONDS, APPLY_IT, ONCE_APPLIED, TrialState, not_applied


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = (
        "End the trial that `nodenetctl try` has started, and return when the network is as it was before. A file that "
        "is still being applied is rolled back once it is applied and its probes are over. Needs root. Exits 64 when "
        "no trial is running, or it was confirmed before, and 1 when the file could not be applied, or the network is "
        "not back yet."
    )


def run(arguments: argparse.Namespace) -> int:  # noqa: ARG001  (there are no options)
    """End the trial; return the exit code. Raises NodenetError."""
    found = reported()
    if found.get("state") == TrialState.APPLYING:
        note(f"nodenetctl: {ONCE_APPLIED}")
    digest = found.get("digest", "") if runs(found) else ""  # another one may have begun since
    ask("RollBackTrial", "s", [digest], seconds=ANSWER_SECONDS)
    print("rolled back: the network is as it was before the trial")
    if edited := reported().get("edited"):
        note(f"nodenetctl: {not_applied(edited)}. {APPLY_IT}")
    return 0
