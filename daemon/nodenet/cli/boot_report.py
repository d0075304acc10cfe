"""Where did the time of a boot go? Read from the journal, so it works afterwards and for earlier boots."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

from nodenet.cli.outputs import moment
from nodenet.core.boot_report.svg import heading, headline, picture
from nodenet.core.boot_report.timeline import (
    DAEMON,
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
from nodenet.edge.systemd import journal_reader

COLUMNS = 100
ALTERNATIVES = (
    (f"_SYSTEMD_UNIT={DAEMON}.service", f"SYSLOG_IDENTIFIER={DAEMON}"),
    (f"_SYSTEMD_UNIT={NETWORK_MANAGER}.service", "NM_LOG_DOMAINS=CORE"),
    ("_PID=1", *(f"MESSAGE_ID={number}" for number in JOBS), *(f"UNIT={unit}" for unit in UNITS)),
    ("_PID=1", *(f"MESSAGE_ID={number}" for number in FINISHED)),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = (
        "Show the time line of a boot until kubelet runs: NetworkManager and Open vSwitch, each stage of nodenetd, "
        "each wait with its reason, READY, CRI-O and kubelet. The times come from the journal. For an earlier boot "
        "the journal must be stored on disk. Users other than root must be in the group systemd-journal."
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("-b", "--boot", type=int, default=0, metavar="N", help="0: this boot, -1: the previous boot, …")
    which.add_argument("--boots", type=int, metavar="N", help="the last N boots, oldest first")
    parser.add_argument("--json", action="store_true", help="print a JSON list of boots with their time spans")
    parser.add_argument("--svg", metavar="FILE", help="write an SVG picture instead; - is standard output")
    parser.add_argument(
        "--directory", type=Path, metavar="DIR", help="read the journal files in this directory, for example of a disk"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print or draw the boots; return 0. Raises NotAllowed, Unavailable, UsageInvalid."""
    journal_reader.must_read(arguments.directory)
    reports = list(_reports(arguments))
    if not reports:
        remedy = (
            "`journalctl --list-boots` lists the boots in the journal; journald keeps earlier boots only with "
            "Storage=persistent in journald.conf"
        )
        raise Unavailable("the journal does not contain this boot", remedy=remedy)
    if arguments.svg == "-":
        sys.stdout.write(picture(reports, moment))
    elif arguments.svg:
        write_picture(Path(arguments.svg), picture(reports, moment))
    elif arguments.json:
        print(json.dumps([document(what) for what in reports], indent=2))
    else:
        print("\n\n".join("\n".join(lines(what)) for what in reports))
    return 0


def write_picture(path: Path, svg: str) -> None:
    """Write the file *path* in a directory that exists: one that does not is a typing error. Raises OSError."""
    path.write_text(svg, encoding="utf-8")


def _reports(arguments: argparse.Namespace) -> Iterator[Report]:
    if arguments.boots is not None and arguments.boots < 1:
        raise UsageInvalid(f"--boots {arguments.boots}: the number must be 1 or more")
    numbers = [arguments.boot] if arguments.boots is None else range(1 - arguments.boots, 1)
    for number in numbers:
        begin, end = (read(number, arguments.directory) for read in (journal_reader.first, journal_reader.last))
        if begin is not None:
            between = journal_reader.matching(number, ALTERNATIVES, arguments.directory)
            now = time.monotonic() if number == 0 and arguments.directory is None else None
            yield report([begin, *(entry for entry in between if entry not in (begin, end)), end or begin], now)


def lines(what: Report) -> list[str]:
    """Return a report for a terminal of 100 columns."""
    text = [each for each in (heading(what, moment), headline(what)) if each]
    text += ["", f"{'begins':>9} {'takes':>9}  {'who':<17} what"]
    rows = [(span.start, span) for span in what.spans] + [(mark.at, mark.text) for mark in what.marks]
    for at, row in sorted(rows, key=lambda pair: pair[0]):
        text += _span(row, what.end) if isinstance(row, Span) else _wrapped(f"{at:>8.3f}s {'':>9}  {'*':<17} ", row)
    if what.unreadable:
        text.append(f"{what.unreadable} journal entries could not be read")
    return text


def _span(span: Span, until: float) -> list[str]:
    took = "running" if span.end is None else f"{span.end - span.start:.3f}s"
    words = f"waiting: {span.text}" if span.kind is Kind.WAIT else span.text
    words += f" (for {until - span.start:.1f} s so far)" if span.end is None else ""
    return _wrapped(f"{span.start:>8.3f}s {took:>9}  {span.actor:<17} ", words)


def _wrapped(head: str, words: str) -> list[str]:
    return textwrap.wrap(words, COLUMNS, initial_indent=head, subsequent_indent=" " * len(head)) or [head.rstrip()]
