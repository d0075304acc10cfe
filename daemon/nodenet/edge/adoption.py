"""Was an adoption or a hand-back interrupted? Then its record is on the disk, and no command holds the lock."""

from __future__ import annotations

import os
from pathlib import Path, PurePath

from nodenet.core.adoption.former_chain import MARKER, PATH, parse
from nodenet.core.boot.outcome import Problem
from nodenet.core.errors import PublishFailed
from nodenet.edge.clock import boot_id
from nodenet.edge.files import disk
from nodenet.edge.files.store import is_released

LOCK = Path("/run/nodenet/adoption.lock")
"""`nodenetctl adopt` and `hand-back` hold it as long as they run."""


def interrupted(path: PurePath = PATH, lock: Path = LOCK, marker: PurePath = MARKER) -> Problem | None:
    """Return which command was interrupted, as a problem with its remedy; None where none was, or it goes on.

    Also None where the record cannot be read, as by another user than root; the next command reports that.
    """
    if not os.path.lexists(path) or (lock.exists() and not is_released(lock)):
        return None
    try:
        record = parse(disk.read(path) or b"")
    except (PublishFailed, ValueError):
        return None
    return record.interrupted(marker=os.path.lexists(marker), same_boot=record.boot_id == boot_id())
