"""What would a node file change on this node, without applying it?"""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = (
        "Compare a node file with the running state, and print each value that it would change, before and after, and "
        "what that means for the node IPs, the default route and br-ex. Nothing is applied. Without FILE, the file of "
        "this node is compared. Exits 0 when nothing would change, 1 when something would, 64 when there "
        "is no such file, 65 when it is not valid or libnmstate refuses it for this node, 69 when NetworkManager does "
        "not answer, 77 when the file or the network may only be read by root."
    )
    parser.add_argument("file", type=Path, nargs="?", metavar="FILE", help="a node file, or - for standard input")
    parser.add_argument("--json", action="store_true", help="print a JSON document")


def run(arguments: argparse.Namespace) -> int:
    """Print the difference; return the exit code, as diff(1) does. Raises NodenetError."""
    from nodenet.cli import preview  # noqa: PLC0415 - help needs no libnmstate

    file = preview.own() if arguments.file is None else preview.read(arguments.file)
    found = asyncio.run(preview.preview(file))
    print(json.dumps(found.document(), indent=1) if arguments.json else found.text())
    return 1 if found.changes else 0
