"""Where did the time of a boot go? From the journal: works afterwards, and for boots before this one."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from nodenet.core.boot_report.svg import headline, picture
from nodenet.core.boot_report.timeline import (
    FINISHED,
    JOBS,
    NETWORK_MANAGER,
    UNITS,
    Kind,
    Report,
    Span,
    document,
    report,
)
from nodenet.core.errors import Unavailable, UsageInvalid
from nodenet.edge.files import disk as files
from nodenet.edge.systemd import journal_reader

COLUMNS = 100
ALTERNATIVES = (
    ("SYSLOG_IDENTIFIER=nodenetd",),
    (f"SYSLOG_IDENTIFIER={NETWORK_MANAGER}", "NM_LOG_DOMAINS=CORE"),
    ("_PID=1", *(f"MESSAGE_ID={number}" for number in JOBS), *(f"UNIT={unit}" for unit in UNITS)),
    ("_PID=1", *(f"MESSAGE_ID={number}" for number in FINISHED)),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = (
        "Show the time line of a boot until kubelet runs: NetworkManager and Open vSwitch, each stage of nodenetd, "
        "each wait with its reason, READY, CRI-O and kubelet. Source is the journal, so a boot before this one needs "
        "a journal that is kept on disk. Whoever is not root must be in the group systemd-journal."
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("-b", "--boot", type=int, default=0, metavar="N", help="0: this boot, -1: the one before, …")
    which.add_argument("--boots", type=int, metavar="N", help="the last N boots, oldest first")
    parser.add_argument("--json", action="store_true", help="print a list of boots with their spans of time")
    parser.add_argument("--svg", metavar="FILE", help="write a picture instead; - is standard output")
    parser.add_argument(
        "--directory", type=Path, metavar="DIR", help="read the journal in this directory, as of a dead node's disk"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print or draw; exit 0. Raises NotAllowed, Unavailable."""
    journal_reader.must_read(arguments.directory)
    reports = list(_reports(arguments))
    if not reports:
        remedy = "See `journalctl --list-boots`; older boots are kept only with Storage=persistent in journald.conf"
        raise Unavailable("the journal has no such boot", remedy=remedy)
    if arguments.svg == "-":
        sys.stdout.write(picture(reports))
    elif arguments.svg:
        files.write(Path(arguments.svg).absolute(), picture(reports).encode())
    elif arguments.json:
        print(json.dumps([document(what) for what in reports], indent=2))
    else:
        print("\n\n".join("\n".join(lines(what)) for what in reports))
    return 0


def _reports(arguments: argparse.Namespace) -> Iterator[Report]:
    if arguments.boots is not None and arguments.boots < 1:
        raise UsageInvalid(f"--boots {arguments.boots}: at least 1 is wanted")
    numbers = [arguments.boot] if arguments.boots is None else range(1 - arguments.boots, 1)
    for number in numbers:
        begin, end = (read(number, arguments.directory) for read in (journal_reader.first, journal_reader.last))
        if begin is not None:
            between = journal_reader.matching(number, ALTERNATIVES, arguments.directory)
            yield report([begin, *(entry for entry in between if entry not in (begin, end)), end or begin])


def lines(what: Report) -> list[str]:
    """Return a report for a terminal of 100 columns."""
    text = [headline(what)]
    if what.began is not None:
        text[0] = f"{datetime.fromtimestamp(what.began, UTC):%Y-%m-%d %H:%M:%S} UTC  {text[0]}"
    text += ["", f"{'begins':>9} {'takes':>9}  {'who':<17} what"]
    rows = [(span.start, span) for span in what.spans] + [(mark.at, mark.text) for mark in what.marks]
    for at, row in sorted(rows, key=lambda pair: pair[0]):
        text += _span(row) if isinstance(row, Span) else _wrapped(f"{at:>8.3f}s {'':>9}  {'*':<17} ", row)
    if what.unreadable:
        text.append(f"{what.unreadable} entries of the journal could not be read")
    return text


def _span(span: Span) -> list[str]:
    took = "not over" if span.end is None else f"{span.end - span.start:.3f}s"
    words = f"WAITS: {span.text}" if span.kind is Kind.WAIT else span.text
    return _wrapped(f"{span.start:>8.3f}s {took:>9}  {span.actor:<17} ", words)


def _wrapped(head: str, words: str) -> list[str]:
    return textwrap.wrap(words, COLUMNS, initial_indent=head, subsequent_indent=" " * len(head)) or [head.rstrip()]
