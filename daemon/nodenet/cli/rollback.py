"""How does an administrator end the trial of a node file before its time, or go back to an earlier network?"""

from __future__ import annotations

import argparse
import sys

from nodenet.cli import history, progress
from nodenet.cli.ask import ask, reported, runs
from nodenet.cli.outputs import note, printable, seconds
from nodenet.cli.try_file import Shown, follow, interrupted, who
from nodenet.core.errors import UsageInvalid
from nodenet.core.history.shown import DIGITS
from nodenet.core.trial.trial import ANSWER_SECONDS, APPLY_IT, ONCE_APPLIED, Trial, TrialState, checked, not_applied


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = (
        "End the trial that `nodenetctl try` has started, and return when the network is as it was before. A file that "
        "is still being applied is rolled back once it is applied and its probes are over. With --to, go back to that "
        "entry of `nodenetctl history` in place of that: its node file is applied, the profiles of its network are put "
        "back, so that nothing is left of what later files have added, and once the probes hold the file is installed "
        "as the file of this node. With --for, that is on trial as with `nodenetctl try`. What fails, or is not "
        "confirmed, is undone. Needs root. Exits 64 when no trial is running, or it was confirmed before, or there is "
        "nothing to go back to, and 1 when the file could not be applied, or the network is not back yet."
    )
    parser.add_argument("--to", type=int, metavar="NUMBER", help="an entry of `nodenetctl history`")
    parser.add_argument(
        "--for",
        dest="seconds",
        type=seconds,
        metavar="TIME",
        help="with --to: undo it after this time, such as 90, 5min, unless it is confirmed",
    )
    parser.add_argument("--force", action="store_true", help="with --to: also if the node has lost a NIC since")


def run(arguments: argparse.Namespace) -> int:
    """End the trial, or go back; return the exit code. Raises NodenetError."""
    if arguments.to is not None:
        return _to(arguments.to, arguments.seconds, force=arguments.force)
    if arguments.seconds is not None or arguments.force:
        raise UsageInvalid("--for and --force are about an entry of the history", remedy="Give it with --to NUMBER")
    found = reported()
    if found.get("state") == TrialState.APPLYING:
        note(f"nodenetctl: {ONCE_APPLIED}")
    digest = found.get("digest", "") if runs(found) else ""  # another one may have begun since
    ask("RollBackTrial", "s", [digest], seconds=ANSWER_SECONDS)
    print("rolled back: the network is as it was before the trial")
    if edited := reported().get("edited"):
        note(f"nodenetctl: {not_applied(edited)}. {APPLY_IT}")
    return 0


def _to(number: int, limit: float | None, *, force: bool) -> int:
    """Go back to the entry *number*, on trial for *limit* seconds unless that is None; return the exit code."""
    held = 0 if limit is None else int(checked(limit))
    one = history.read(number)
    mine = Trial(one.name, one.digest, who())
    shown = Shown(as_json=False, terminal=sys.stdout.isatty())
    try:
        with shown.an_end_of(mine), progress.shown():
            ask("RollBackTo", "uusb", [number, held, mine.who, force], seconds=ANSWER_SECONDS)
        if held:
            return follow(mine, shown)
    except KeyboardInterrupt:
        return interrupted(mine, shown)
    installed = reported().get("installed")
    place = f"installed as {installed}" if installed else "the node file"
    print(printable(f"back at entry {number}: its file ({one.digest[:DIGITS]}) is {place}"))
    return 0
