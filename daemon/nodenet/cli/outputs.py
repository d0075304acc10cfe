"""How does a verb print when standard output or standard error is closed, has no reader or a small character set?"""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from io import TextIOWrapper, UnsupportedOperation
from pathlib import Path
from typing import TextIO, TypeVar

from nodenet.core.errors import SnapshotInvalid

# How is a table printed for people, in a terminal or in a mail?


class Table:
    """Rows under headings; every column is as wide as its longest cell, the last one is not padded."""

    def __init__(self, headings: Sequence[str]) -> None:
        """Begin with the *headings*."""
        self._rows: list[tuple[Sequence[str], str]] = [(headings, "1")]

    def add(self, row: Sequence[str], colour: str = "") -> None:
        """Add a row; *colour*: its SGR parameters on a terminal that has colours."""
        self._rows.append(([printable(cell) for cell in row], colour))

    def render(self, *, coloured: bool) -> str:
        """Return the table as text."""
        widths = [max(len(row[column]) for row, _ in self._rows) for column in range(len(self._rows[0][0]))]
        widths[-1] = 0
        lines = []
        for row, colour in self._rows:
            line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            lines.append(in_colour(line, colour) if coloured else line)
        return "\n".join(lines)


# How is text printed that may have colours and long words?


def in_colour(text: str, colour: str) -> str:
    """Return *text* in a *colour*, which is its SGR parameters (ECMA-48); as it is if they are empty."""
    return f"\x1b[{colour}m{text}\x1b[0m" if colour else text


def has_colours() -> bool:
    """Return whether standard output is a terminal whose user wants colours (no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def folded(text: Iterable[str], indent: int) -> Iterator[str]:
    """Yield the lines of *text*, folded if standard output is a terminal; a serial console has 80 columns."""
    if not sys.stdout.isatty():
        return iter(text)
    import shutil  # noqa: PLC0415 - only a terminal has columns

    return wrapped(text, indent, shutil.get_terminal_size().columns)


def wrapped(text: Iterable[str], indent: int, columns: int) -> Iterator[str]:
    """Yield the lines of *text* in at most so many *columns*; a line that goes on begins with *indent* spaces."""
    import textwrap  # noqa: PLC0415 - only a terminal has columns

    for line in text:
        yield from textwrap.wrap(line, columns, subsequent_indent=" " * indent, drop_whitespace=True) or [line]


def can_be_replaced(path: Path) -> bool:
    """Return whether a file can take the place of *path*: never that of a device, a pipe, or a link such as stdout."""
    return path.parent.is_dir() and path.parent != Path("/dev") and (path.is_file() or not path.exists())


def printable(text: str) -> str:
    """Return *text* with ? for each character that could control a terminal; names also come from other hosts."""
    return "".join(char if char.isprintable() else "?" for char in text)


def prepare() -> None:
    """Open outputs that are closed, and escape characters that the encoding of an output lacks."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed (`>&-`)
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115  (open until the program ends)
        if isinstance(stream := getattr(sys, name), TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def note(text: str) -> None:
    """Print *text* on standard error; without a reader it is dropped, because the exit code reports the failure too.

    It controls no terminal: names in it come from files and from other hosts.
    """
    with suppress(OSError):
        print("\n".join(map(printable, text.split("\n"))), file=sys.stderr)


def end() -> None:
    """Drop what could not be written to standard error: the interpreter would try again and exit with 120."""
    try:
        sys.stderr.flush()
    except OSError:
        drop(sys.stderr)


def drop(stream: TextIO) -> None:
    """Send everything further on *stream* to /dev/null: the interpreter would report an error at its end."""
    with suppress(UnsupportedOperation):  # a stand-in of the caller's, not a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


# How is a length of time written on the command line?

UNITS = {"": 1.0, "ms": 0.001, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
"""Seconds in each unit; the names are those of systemd.time(7)."""
_SPAN = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([a-z]*)")


def seconds(text: str) -> float:
    """Return the seconds in `90`, `1.5`, `5s` or `2min`. Raises ArgumentTypeError."""
    found = _SPAN.fullmatch(text.strip())
    if found is None or found[2] not in UNITS or not math.isfinite(float(found[1])):
        raise argparse.ArgumentTypeError(f"{text!r} is not a valid number of seconds (examples: 90, 5s, 2min)")
    return float(found[1]) * UNITS[found[2]]


def moment(seconds: float) -> str:
    """Return a time, in seconds since 1970, for people; a number from outside may be no time."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError, OSError):
        return "a time that cannot be"


# How is a file read that was saved on another host, or on standard input?

T = TypeVar("T")
DAMAGED = (KeyError, TypeError, ValueError, AttributeError, IndexError)
"""What the values of a document raise that was changed by hand: it is not checked value by value."""


@contextmanager
def whole(name: str) -> Iterator[None]:
    """Raise SnapshotInvalid where the content of the file *name* does not fit together."""
    try:
        yield
    except DAMAGED as error:
        what = f"no {error}" if isinstance(error, KeyError) else str(error)
        remedy = "Take a file that nodenet has written, unchanged"
        raise SnapshotInvalid(f"{name} is damaged or incomplete ({what})", remedy=remedy) from error


def read(name: str, most_bytes: int, parse: Callable[[bytes], T]) -> T:
    """Return what *parse* makes of the file *name*, `-` for standard input. Raises SnapshotInvalid naming the file."""
    try:
        with nullcontext(sys.stdin.buffer) if name == "-" else Path(name).open("rb") as file:
            # One byte more than is accepted is enough to see that it is too much.
            content = file.read(most_bytes + 1)
    except OSError as error:
        raise SnapshotInvalid(f"{name} cannot be read: {error.strerror}") from error
    try:
        return parse(content)
    except SnapshotInvalid as error:
        raise SnapshotInvalid(f"{name}: {error.cause}", remedy=error.remedy) from error
