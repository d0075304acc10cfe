"""Has another program changed the network that the node file asks for?"""

from __future__ import annotations

import argparse
from pathlib import Path

from nodenet.cli.outputs import note, printable, whole
from nodenet.cli.status import STATE, read
from nodenet.core.status.document import has_vanished

EX_UNAVAILABLE = 69


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = (
        "Print each value of the network that is not as the node file asks any more, because another program "
        "changed it since. nodenetd looks twice a minute; `nodenetctl diff` compares now. Exits 0 when nothing "
        "differs, 1 when something does, 69 when nodenetd is not running or no node file is in force."
    )
    parser.add_argument("--file", type=Path, default=STATE, metavar="FILE", help="read this state file")


def run(arguments: argparse.Namespace) -> int:
    """Print what differs; return the exit code."""
    with whole(str(arguments.file)):
        document = read(arguments.file)
        if document is None or has_vanished(document):
            note("nodenetd is not running, so it is not known whether something differs")
            return EX_UNAVAILABLE
        if not document["applied_digest"] or not document["ready"]:
            note("no node file is in force, so there is nothing to compare")
            return EX_UNAVAILABLE
        for each in document.get("changed", ()):
            print(printable(each))
        return 1 if document.get("changed") else 0
