"""Has another program changed the network that the node file asks for?"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nodenet.cli.outputs import note, printable, whole
from nodenet.cli.status import STATE, read
from nodenet.core.errors import Unavailable
from nodenet.core.stage_name import StageName
from nodenet.core.status.document import has_vanished, problems


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = (
        "Print each value of the network that is not as the node file asks any more, because another program "
        "changed it since. nodenetd looks twice a minute; `nodenetctl diff` compares now. Exits 0 when nothing "
        "differs, 1 when something does, 69 with the reason when the network is not compared at present: nodenetd is "
        "not running or has just started, the node file is not the one in force, or NetworkManager does not answer."
    )
    parser.add_argument("--file", type=Path, default=STATE, metavar="FILE", help="read this state file")


def run(arguments: argparse.Namespace) -> int:
    """Print what differs; return the exit code."""
    with whole(str(arguments.file)):
        document = read(arguments.file)
        if document is None or has_vanished(document):
            note("nodenetd is not running, so it is not known whether something differs")
            return Unavailable.exit_code
        if not document["applied_digest"]:
            note("no node file is in force, so there is nothing to compare")
            return Unavailable.exit_code
        if document.get("compared") is None or not document["ready"]:
            note(f"the network is not compared with the node file at present{_reason(document)}")
            return Unavailable.exit_code
        for each in document.get("changed", ()):
            print(printable(each))
        return 1 if document.get("changed") else 0


def _reason(document: Mapping[str, Any]) -> str:
    """Return why nothing is compared, in brackets."""
    if document["digest"] != document["applied_digest"]:
        why = next((each["cause"] for each in problems(document) if each["stage"] == StageName.NMSTATE), "")
        why = why or "the node file is another one than the one in force"
    elif not document["ready"]:
        why = f"the stage {document['stage']} is not over" if document["stage"] else "the node is not ready"
    else:
        why = "nodenetd has just started or applied the file, the network has just changed, or NetworkManager or "
        why += "Open vSwitch does not answer"
    return f" ({printable(why)}); nodenetd looks twice a minute"
