"""How does an administrator keep the node file that is on trial?"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from string import hexdigits
from typing import Any

from nodenet.cli import status
from nodenet.cli.ask import ask
from nodenet.cli.outputs import note
from nodenet.cli.table import printable
from nodenet.core.trial.trial import DIGITS, SHOWN_DIGITS, TrialState, another, no_trial

SECONDS = 120.0
SHORTEST_DIGITS = 6


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = (
        "Keep the network of the node file that `nodenetctl try` has applied, and install the file: over the file of "
        "this host, or as its short host name with `.yml`. Works in any session, so also over an address that only "
        "the new file has. Prints on standard error which file it confirms, and confirms no other one. kubelet uses "
        "another node IP only after `nodenetctl reselect` and a restart. Needs root. Exits 64 when no trial is "
        "running, another file is on trial, or the file of this host was edited since the trial began."
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
    found = _trial()
    digest = agreed(found, arguments.digest or "")
    if digest:
        note(f"confirming {found['node_file']} ({digest[:SHOWN_DIGITS]}); {found['who']} started the trial")
    ask("ConfirmTrial", "s", [digest], seconds=SECONDS)
    trial = _trial()
    print(printable(f"confirmed: {trial.get('node_file')} is installed as {trial.get('installed')}"))
    return 0


def agreed(found: Mapping[str, Any], wanted: str) -> str:
    """Return the SHA-256 of the file that is on trial by the status, *found*; "" where none is: nodenetd refuses it.

    Raises UsageInvalid where that is not the file with the *wanted* first digits.
    """
    digest = str(found["digest"]) if found.get("state") == TrialState.HOLDING else ""
    if wanted and not digest:
        raise no_trial()
    if not digest.startswith(wanted):
        raise another(found["node_file"], digest, wanted)
    return digest


def _trial() -> dict[str, Any]:
    return (status.read() or {}).get("trial") or {}
