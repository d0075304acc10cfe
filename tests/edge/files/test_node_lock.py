"""Has nodenetd ended? A real lock, and the kernel's own list of locks."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path

from nodenet.edge.files.store import is_released

HOLD = """
import fcntl, sys
file = open(sys.argv[1])
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


def test_the_lock_is_released_when_its_process_ends(tmp_path: Path) -> None:
    """However it ends; looking does not take the lock (R56)."""
    lock = tmp_path / "lock"
    lock.write_text("1\n")
    assert is_released(lock)
    command = [sys.executable, "-c", HOLD, str(lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        assert not is_released(lock)
        process.kill()
    assert is_released(lock)


def test_a_lock_of_another_kind_or_file_is_not_the_daemons(tmp_path: Path) -> None:
    lock, other = tmp_path / "lock", tmp_path / "other"
    for path in (lock, other):
        path.write_text("1\n")
    with lock.open("r+") as file, other.open() as another:
        fcntl.lockf(file, fcntl.LOCK_EX)  # POSIX, not flock(2)
        fcntl.flock(another, fcntl.LOCK_EX)
        assert is_released(lock)
        assert not is_released(other)


def test_without_a_lock_file_or_a_list_of_locks_nothing_is_known(tmp_path: Path) -> None:
    """A state file that was copied to another place, and a /proc that shows nothing."""
    assert not is_released(tmp_path / "lock")
    lock = tmp_path / "lock"
    lock.touch()
    assert not is_released(lock, tmp_path / "locks")


def test_a_process_that_waits_does_not_hold_it(tmp_path: Path) -> None:
    """Its line has an arrow before the fields (proc_locks(5))."""
    lock, locks = tmp_path / "lock", tmp_path / "locks"
    lock.touch()
    number = lock.stat().st_ino
    device = f"{lock.stat().st_dev >> 8:02x}:{lock.stat().st_dev & 0xFF:02x}"
    locks.write_text(f"1: -> FLOCK ADVISORY WRITE 812 {device}:{number} 0 EOF\nnonsense\n\n")
    assert is_released(lock, locks)
