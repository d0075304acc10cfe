"""How does an administrator try a node file that may cut the node off?

The trial belongs to nodenetd: it ends at its time also where this program, its terminal or the session is gone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import pwd
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from nodenet.cli import progress, status
from nodenet.cli.ask import another_runs, ask, is_same, refuse_another, reported, runs
from nodenet.cli.outputs import note, printable, seconds
from nodenet.core.errors import AccessDenied, Busy, NodenetError, Unavailable, UsageInvalid
from nodenet.core.trial.trial import (
    ANSWER_SECONDS,
    APPLY_IT,
    DEFAULT_SECONDS,
    LONGEST_SECONDS,
    ONCE_APPLIED,
    SHORTEST_SECONDS,
    STAGED,
    Trial,
    TrialState,
    checked,
    checked_name,
    document,
    not_applied,
)

POLL_SECONDS = 0.25
LINE_SECONDS = 30
"""How often the time that is left is printed where standard output is no terminal."""
MISSING_SECONDS = 10.0
"""After so long without nodenetd the trial is over: NetworkManager rolls it back."""
INTERRUPTED = "interrupted"
NOT_REPORTED = "interrupted, and nodenetd reports no such trial"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = (
        "Print what the node file changes, apply it, and wait. `nodenetctl confirm`, in any session, keeps it and "
        "installs it as the file of this node. Without that the network is rolled back at the given time, also when "
        "this session is lost; Ctrl-C rolls it back before. Nothing else changes the network meanwhile: reloads are "
        "refused, and no stage runs. Needs root. Exits 0 when the file is confirmed, 1 when it is rolled back or "
        "cannot be applied, 64 when it changes nothing or what is not rolled back (host name, ovs-db, ovn), or this "
        "node's own file is the one to try or was edited, 65 when it is not valid or changes a link below br-ex, 69 "
        "when nodenetd or NetworkManager does not answer, 74 when a file cannot be written, 75 when another trial or "
        "the checkpoint of another program holds the network, a program holds the stage nmstate or the boot is not "
        "over, and 77 when it is not run as root."
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="a node file, or - for standard input")
    parser.add_argument(
        "--for",
        dest="seconds",
        type=seconds,
        default=float(DEFAULT_SECONDS),
        metavar="TIME",
        help=f"roll back after this time, such as 90, 5min (from {SHORTEST_SECONDS} s to {LONGEST_SECONDS} s, "
        f"{DEFAULT_SECONDS} s if not given)",
    )
    parser.add_argument("--json", action="store_true", help="print a JSON document for each event, one a line")


def run(arguments: argparse.Namespace) -> int:
    """Try the file; return the exit code. Raises NodenetError."""
    limit = int(checked(arguments.seconds))
    checked_name(arguments.file.name)
    if os.geteuid() != 0:
        raise AccessDenied("only root may try a node file", remedy="Run it with sudo")
    refuse_beside(status.read())
    from nodenet.cli import preview  # noqa: PLC0415 - help needs no libnmstate
    from nodenet.edge.files import disk  # noqa: PLC0415

    file = preview.read(arguments.file)
    found = asyncio.run(preview.preview(file))
    shown = Shown(as_json=arguments.json, terminal=sys.stdout.isatty())
    shown.preview(found.document(), found.text())
    staged = Path(STAGED, f"{file.digest}.yml")
    mine = Trial(file.name, file.digest, who())
    try:
        with shown.an_end_of(mine), progress.shown():
            disk.write(staged, file.text.encode(), 0o600)
            ask("Try", "ssus", [mine.name, mine.digest, limit, mine.who], seconds=ANSWER_SECONDS)
        return follow(mine, shown)
    except KeyboardInterrupt:
        return interrupted(mine, shown)
    finally:
        staged.unlink(missing_ok=True)


def refuse_beside(found: dict[str, Any] | None) -> None:
    """Return where no trial runs. Raises Busy before anything is printed; nodenetd refuses it too."""
    trial = (found or {}).get("trial")
    if found and "running" not in found and trial and runs(trial):
        raise Busy(
            f"a trial of {trial['node_file']} holds the network; {trial['who']} started it",
            remedy="End it with `nodenetctl confirm` or `nodenetctl rollback`",
        )


def who() -> str:
    """Return who runs this program, for those whom the trial keeps waiting."""
    try:
        user = os.environ.get("SUDO_USER") or pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        user = str(os.getuid())
    try:
        place = f" on {os.ttyname(0).removeprefix('/dev/')}"
    except OSError:
        place = ""
    return printable(f"{user}{place} (process {os.getpid()})")[:200]


class Shown:
    """What is printed about a trial."""

    def __init__(self, *, as_json: bool, terminal: bool) -> None:
        """Print lines, a countdown on a *terminal*; with *as_json* one document for each event."""
        self._as_json = as_json
        self._terminal = terminal and not as_json
        self._left: int | None = None

    def preview(self, found: dict[str, Any], text: str) -> None:
        """Print what the file changes."""
        self._event("changes", found) if self._as_json else print(text, flush=True)

    def holds(self, trial: dict[str, Any], left: int) -> None:
        """Print that the file is applied and is rolled back in *left* seconds."""
        first = self._left is None
        if left == self._left or not (first or self._terminal or left % LINE_SECONDS == 0):
            return
        self._left = left
        if self._as_json:
            self._event("holding", trial | {"seconds_left": left})
        elif self._terminal:
            print(f"\rApplied. Rolled back in {left:4d} s unless you run `nodenetctl confirm` ", end="", flush=True)
        else:
            print(f"Applied. Rolled back in {left} s unless you run `nodenetctl confirm`", flush=True)

    def ended(self, trial: dict[str, Any]) -> None:
        """Print how the trial has ended."""
        if self._as_json:
            self._event("ended", trial)
            return
        if self._terminal and self._left is not None:
            print()
        if trial["state"] == TrialState.CONFIRMED:
            print(printable(f"Confirmed; installed as {trial['installed']}"))
        elif trial["state"] == TrialState.ROLLED_BACK:
            note(f"nodenetctl: the trial has ended, the network is as before: {trial['cause']}")
        else:
            note(f"nodenetctl: the trial has failed: {trial['cause']}")
        self._edited(trial)

    def _edited(self, trial: dict[str, Any]) -> None:
        if trial.get("edited"):
            note(f"nodenetctl: {not_applied(trial['edited'])}. {APPLY_IT}")

    @contextmanager
    def an_end_of(self, mine: Trial) -> Iterator[None]:
        """Print for programs that the trial *mine* has failed where what begins it raises; then raise it again.

        People read the error, and before it the edit of the node's own file that nodenetd has found.
        """
        try:
            yield
        except NodenetError as error:
            end = _end_of(mine, error)
            if self._as_json:
                self.ended(end)
            else:
                self._edited(end)
            raise

    def _event(self, name: str, what: dict[str, Any]) -> None:
        print(json.dumps({"event": name, **what}), flush=True)


def _end_of(mine: Trial, error: NodenetError) -> dict[str, Any]:
    """Return how the trial *mine* has ended by *error*: as nodenetd reports it, if that has come to begin it."""
    with suppress(NodenetError):
        found = reported()
        if is_same(mine, found) and not runs(found):
            return found
    return document(mine.ended(TrialState.FAILED, error.cause))


def follow(mine: Trial, shown: Shown) -> int:
    """Print the countdown until the trial *mine* has ended; return the exit code. Raises Unavailable."""
    gone = time.monotonic() + MISSING_SECONDS
    while True:
        found = status.read()
        trial = found.get("trial") if found and "running" not in found else None
        if trial and is_same(mine, trial):
            gone = time.monotonic() + MISSING_SECONDS
            if not runs(trial):
                return over(trial, shown)
            if trial["until"] is not None:
                left = trial["until"] - time.clock_gettime(time.CLOCK_BOOTTIME)
                shown.holds(trial, max(round(left), 0))
        elif time.monotonic() > gone:
            if trial and runs(trial):
                raise another_runs(trial)
            raise Unavailable(
                "nodenetd does not report the trial any more; the network is rolled back without it",
                remedy="Look at `nodenetctl status` and `journalctl -u nodenetd`",
            )
        time.sleep(POLL_SECONDS)


def over(trial: dict[str, Any], shown: Shown) -> int:
    """Print how the *trial* has ended; return the exit code."""
    shown.ended(trial)
    return 0 if trial["state"] == TrialState.CONFIRMED else 1


def interrupted(mine: Trial, shown: Shown) -> int:
    """Roll back the trial *mine*, and no other one; return the exit code. Raises NodenetError.

    This program may have been stopped for longer than its trial took. A trial that is not reported may be about to
    begin: nodenetd refuses the order where it is about another file.
    """
    present = reported()
    refuse_another(mine, present)
    if present.get("state") == TrialState.APPLYING:
        note(f"nodenetctl: {ONCE_APPLIED}")
    refused: NodenetError | None = None
    try:
        ask("RollBackTrial", "s", [mine.digest], seconds=ANSWER_SECONDS)
    except NodenetError as error:
        refused = error
    found = reported()
    if is_same(mine, found) and not runs(found):
        return over(found, shown)
    if refused and not isinstance(refused, UsageInvalid):
        raise refused
    refuse_another(mine, found)
    ended = mine.ended(TrialState.FAILED, NOT_REPORTED) if refused else mine.ended(TrialState.ROLLED_BACK, INTERRUPTED)
    return over(document(ended), shown)
