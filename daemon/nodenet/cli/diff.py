"""What would a node file change on this node, without applying it?"""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path

from nodenet.cli import history
from nodenet.cli.outputs import printable
from nodenet.core.history import shown
from nodenet.core.node_file.find import NodeFile


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = (
        "Compare a node file with the running state, and print each value that it would change, before and after, and "
        "what that means for the node IPs, the default route and br-ex. Nothing is applied. Without FILE, the file of "
        "this node is compared. @NUMBER is the file of that entry of `nodenetctl history`; two of them are compared "
        "with each other: their files, and the networks after them. Exits 0 when nothing would change, 1 when "
        "something would, 64 when there is no such file, 65 when it is not valid or libnmstate refuses it for this "
        "node, 69 when NetworkManager does not answer, 77 when the file or the network may only be read by root."
    )
    parser.add_argument(
        "file", type=Path, nargs="?", metavar="FILE", help="a node file, @NUMBER, or - for standard input"
    )
    parser.add_argument("other", nargs="?", metavar="@NUMBER", help="an entry of the history, to compare @NUMBER with")
    parser.add_argument("--json", action="store_true", help="print a JSON document")


def run(arguments: argparse.Namespace) -> int:
    """Print the difference; return the exit code, as diff(1) does. Raises NodenetError."""
    word = "" if arguments.file is None else str(arguments.file)
    if arguments.other is not None:
        return _entries(word, arguments.other, as_json=arguments.json)
    from nodenet.cli import preview  # noqa: PLC0415 - help needs no libnmstate

    if word.startswith("@"):
        one = history.read(history.number_of(word))
        file = NodeFile(f"{one.name} of entry {one.number}", one.text, one.digest)
    else:
        file = preview.own() if arguments.file is None else preview.read(arguments.file)
    found = asyncio.run(preview.preview(file))
    print(json.dumps(found.document(), indent=1) if arguments.json else found.text())
    return 1 if found.changes else 0


def _entries(older: str, newer: str, *, as_json: bool) -> int:
    found = shown.difference(*(history.read(history.number_of(word)) for word in (older, newer)))
    if as_json:
        print(json.dumps({"schema_version": shown.SCHEMA, "lines": found}, indent=1))
    elif found:
        print("\n".join(map(printable, found)))
    return 1 if found else 0
