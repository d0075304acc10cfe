"""What is the daemon doing while a verb waits for its answer? Printed on standard error, from the state file."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nodenet.cli import status
from nodenet.cli.outputs import note

QUIET_SECONDS = 2.0
"""An answer that comes sooner needs no explanation."""
POLL_SECONDS = 0.5


@contextmanager
def shown(path: Path = status.STATE, *, quiet_seconds: float = QUIET_SECONDS) -> Iterator[None]:
    """Print which stage runs or waits, each one once, for as long as the block takes."""
    over = threading.Event()
    thread = threading.Thread(target=_show, args=(path, over, quiet_seconds), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _show(path: Path, over: threading.Event, quiet_seconds: float) -> None:
    seconds, last = quiet_seconds, ""
    while not over.wait(seconds):
        seconds = POLL_SECONDS
        try:
            line = under_way(status.read(path))
        except OSError:  # not for this user; the answer comes over the bus all the same
            return
        if line and line != last:
            note(f"nodenetctl: {line}")
            last = line


def under_way(document: dict[str, Any] | None) -> str:
    """Return which stage is not over and what it waits for; nothing when all are over or nodenetd is not running."""
    if document is None or "running" in document:
        return ""
    for stage in document["stages"]:
        if stage["status"] == "waiting":
            return f"{stage['name']} is waiting: {stage['detail']}"
        if stage["status"] == "running":
            return f"{stage['name']} is running"
    return ""
