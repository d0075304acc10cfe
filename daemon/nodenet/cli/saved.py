"""How does a verb read what was saved on another host, from a file or from standard input?"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TypeVar

from nodenet.core.errors import SnapshotInvalid

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
