"""How does an administrator keep the node file that is on trial?"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from string import hexdigits
from typing import Any

from nodenet.cli.ask import ask, reported
from nodenet.cli.outputs import note, printable
from nodenet.core.trial.trial import (
    ANSWER_SECONDS,
    CONFIRMED_LATER,
    DIGITS,
    RUNNING,
    SHOWN_DIGITS,
    TrialState,
    another,
    no_trial,
)

SHORTEST_DIGITS = 6


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = (
        "Keep the network of the node file that `nodenetctl try` has applied, and install the file: over the file of "
        "this host, or as its short host name with `.yml`. Works in any session, so also over an address that only "
        "the new file has. Waits while the file is still being applied. Prints on standard error which file it "
        "confirms, and confirms no other one. kubelet uses "
        "another node IP only after `nodenetctl reselect` and a restart. Needs root. Exits 64 when no trial is "
        "running, another file is on trial, or the file of this host was edited since the trial began, 1 when the "
        "trial is over by then or the commit fails, and 74 when the file cannot be installed: the network is as before "
        "then, unless the error says otherwise."
    )
    parser.add_argument(
        "--digest",
        type=digits,
        metavar="SHA256",
        help="confirm only if the SHA-256 of the file on trial begins with these digits, which `nodenetctl status` "
        "prints",
    )


def digits(text: str) -> str:
    """Return the first digits of a SHA-256. Raises argparse.ArgumentTypeError."""
    if SHORTEST_DIGITS <= len(text) <= DIGITS and set(text.lower()) <= set(hexdigits):
        return text.lower()
    raise argparse.ArgumentTypeError(f"expected {SHORTEST_DIGITS} to {DIGITS} hexadecimal digits")


def run(arguments: argparse.Namespace) -> int:
    """Confirm the trial and print where the file is; return the exit code. Raises NodenetError."""
    found = reported()
    digest = agreed(found, arguments.digest or "")
    name = found["node_file"]
    note(f"confirming {name} ({digest[:SHOWN_DIGITS]}); {found['who']} started the trial")
    if found["state"] == TrialState.APPLYING:
        note(f"nodenetctl: {CONFIRMED_LATER}")
    ask("ConfirmTrial", "s", [digest], seconds=ANSWER_SECONDS)
    after = reported()
    # Another trial may have begun since: then the status is about that one.
    installed = after.get("installed") if after.get("digest") == digest else None
    print(printable(f"confirmed: {name} is installed" + (f" as {installed}" if installed else "")))
    return 0


def agreed(found: Mapping[str, Any], wanted: str) -> str:
    """Return the SHA-256 of the file that is on trial by the status, *found*.

    Raises UsageInvalid where there is none, or it is not the file with the *wanted* first digits. nodenetd compares the
    whole one with the file on trial when it confirms: a trial that begins later is not confirmed.
    """
    if found.get("state") not in RUNNING:
        raise no_trial()
    digest = str(found["digest"])
    if not digest.startswith(wanted):
        raise another(found["node_file"], digest, wanted)
    return digest
