"""How does a verb print when standard output or standard error is closed, has no reader or a small character set?"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from io import TextIOWrapper, UnsupportedOperation
from pathlib import Path
from typing import TextIO

from nodenet.cli.table import printable


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
