"""What may become of the outputs? Closed, left by their reader, of few letters: no verb fails by that."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from io import TextIOWrapper, UnsupportedOperation
from pathlib import Path
from typing import TextIO


def prepare() -> None:
    """Have both outputs, and what their encoding lacks escaped."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed (`>&-`)
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115  (as long as the program)
        if isinstance(stream := getattr(sys, name), TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def note(text: str) -> None:
    """Say *text* on standard error, if anybody hears it: the exit code says as much."""
    with suppress(OSError):
        print(text, file=sys.stderr)


def end() -> None:
    """Forget what nobody heard on standard error: the interpreter would try again, and exit with 120."""
    try:
        sys.stderr.flush()
    except OSError:
        drop(sys.stderr)


def drop(stream: TextIO) -> None:
    """Let nothing more be written to *stream*: the interpreter would try, and complain, at its end."""
    with suppress(UnsupportedOperation):  # somebody else's stand-in, not a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
