"""What has changed the network of this node, and how did each change end? It works while nodenetd does not run."""

from __future__ import annotations

import argparse
import json
import os
from datetime import datetime

from nodenet.cli.outputs import Table, has_colours, printable
from nodenet.core.errors import AccessDenied, UsageInvalid
from nodenet.core.history import entry, shown
from nodenet.core.history.entry import Entry
from nodenet.core.history.shown import DIGITS
from nodenet.edge import report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = (
        "Print each change of the network of this node, the newest first: its number, when it was, what it was, how it "
        "ended, and whether the node worked with it. With a number, print the node file of that entry, its cause, what "
        "the probes have found, and the network after it. Secrets are left out. `nodenetctl rollback --to NUMBER` goes "
        "back to it. Needs root. Exits 64 when there is no such entry, 65 when it is damaged, and 77 when it is not "
        "run as root."
    )
    parser.add_argument("number", nargs="?", type=int, metavar="NUMBER", help="an entry of the list")
    parser.add_argument("--json", action="store_true", help="print a JSON document")


def run(arguments: argparse.Namespace) -> int:
    """Print the list, or one entry; return the exit code. Raises NodenetError."""
    if arguments.number is None:
        _refuse_others()
        found = list(report.history())
        print(json.dumps(shown.listed(found), indent=1) if arguments.json else _table(found))
        return 0
    one = read(arguments.number)
    print(json.dumps(shown.document(one), indent=1) if arguments.json else _text(one))
    return 0


def read(number: int) -> Entry:
    """Return the entry *number*. Raises AccessDenied, UsageInvalid, NodeFileInvalid where it is damaged."""
    _refuse_others()
    return report.history_entry(number)


def number_of(word: str) -> int:
    """Return the number in *word*, as @12. Raises UsageInvalid."""
    number = entry.number_of(f"{word.removeprefix('@')}{entry.SUFFIX}")
    if number is None or not word.startswith("@"):
        raise UsageInvalid(
            f"{word!a} is no entry of the history", remedy="Write @ and a number of `nodenetctl history`"
        )
    return number


def _refuse_others() -> None:
    if os.geteuid() != 0:
        raise AccessDenied("only root may read the history", remedy="Run it with sudo")


def _table(found: list[Entry]) -> str:
    if not found:
        return "The history of this node has no entry yet."
    table = Table(["number", "time", "what", "result", "good", "node file", "who"])
    for one in found:
        file = f"{one.name} ({one.digest[:DIGITS]})" if one.name else "-"
        good = "good" if one.good else "-"
        table.add([str(one.number), _time(one), one.kind.value, one.result.value, good, file, one.who or "-"])
    return table.render(coloured=has_colours())


def _text(one: Entry) -> str:
    rows = [
        ("entry", f"{one.number}, {one.kind.value}, {one.result.value}{', good' if one.good else ''}"),
        ("time", f"{_time(one)}, boot {one.boot_id[:8]}"),
        ("who", one.who),
        ("node file", f"{one.name} ({one.digest[:DIGITS]})" if one.name else ""),
        ("cause", one.cause),
        ("probes", one.probes),
    ]
    parts = [f"{key:<10} {printable(text)}" for key, text in rows if text]
    parts += [f"{'network':<10} {printable(line)}" for line in shown.lines(one.shown)]
    return "\n".join([*parts, "", *map(printable, shown.file_text(one).splitlines())])


def _time(one: Entry) -> str:
    return datetime.fromtimestamp(one.time).astimezone().isoformat(sep=" ", timespec="seconds")
