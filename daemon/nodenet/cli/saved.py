"""How does a verb read what was saved on another host, from a file or from standard input?"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TypeVar

from nodenet.core.errors import SnapshotInvalid

T = TypeVar("T")


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
