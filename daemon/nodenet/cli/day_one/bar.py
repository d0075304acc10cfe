"""How much is done? A progress bar on standard error, if that is a terminal."""

from __future__ import annotations

import shutil
import sys
import time
from types import TracebackType
from typing import Self

QUIET_SECONDS = 0.5
"""What is over sooner needs no bar."""
PAUSE = 0.1


class Bar:
    """A context manager; ``add`` says how much more is done. Nothing is printed where no terminal is."""

    def __init__(self, what: str, total: int) -> None:
        """Name what is counted, and how many there are."""
        self._what = what
        self._total = max(total, 1)
        self._done = 0
        self._began = self._shown = time.monotonic()
        self._on = sys.stderr.isatty()
        self._drawn = False

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the bar: findings begin in a clean line."""
        if self._drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def add(self, number: int) -> None:
        """Take note that *number* more are done."""
        self._done += number
        now = time.monotonic()
        if self._on and now - self._began > QUIET_SECONDS and now - self._shown > PAUSE:
            self._shown = now
            self._drawn = True
            columns = shutil.get_terminal_size().columns
            print(
                f"\r{line(self._what, self._done, self._total, now - self._began, columns)}\x1b[K",
                end="",
                file=sys.stderr,
                flush=True,
            )


def line(what: str, done: int, total: int, seconds: float, columns: int) -> str:
    """Return the bar as text: what, how much, how long it will take."""
    share = min(done / total, 1.0)
    left = f"{seconds / share - seconds:.0f} s left" if share > 0 else ""
    said = f" {done}/{total} {left}"
    width = max(columns - len(what) - len(said) - 4, 0)
    full = round(width * share)
    return f"{what} [{'#' * full}{' ' * (width - full)}]{said}"[: max(columns - 1, 0)]
