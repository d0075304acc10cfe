"""Does nodenetd run? It holds a lock from its start to its end, however it ends.

The holder of the lock is looked up; the lock is not taken: a process that takes it, even for a moment, would keep a
nodenetd from starting.
"""

from __future__ import annotations

import os
from pathlib import Path

LOCKS = Path("/proc/locks")
KIND, PLACE = 1, 5
"""Positions in a line of /proc/locks."""


def is_released(path: Path, locks: Path = LOCKS) -> bool:
    """Return whether the lock file *path* is there and no process holds its flock(2); False where this is not known.

    /proc/locks (proc_locks(5)) has a line `1: FLOCK ADVISORY WRITE 812 00:19:1312 0 EOF` for each lock: the process,
    then the device and the inode of the file.
    """
    try:
        status = path.stat()
        lines = locks.read_text().splitlines()
    except OSError:
        return False
    place = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    # The line of a process that waits for a lock has `->` before its kind, which moves its fields.
    fields = (line.split() for line in lines)
    return not any(field[KIND] == "FLOCK" and field[PLACE] == place for field in fields if len(field) > PLACE)
