"""Whenever nodenetd is killed while it publishes: is what it leaves whole, and does its next start complete it?"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).with_name("killed_publisher.py")


def test_a_daemon_killed_before_any_line_leaves_whole_files_and_completes_them_later() -> None:
    """SIGKILL, real files: each is the old or the new one, the record too; afterwards systemd has read the new ones.

    A killed process loses nothing that the kernel has, so the files lie in memory, where an fsync costs nothing.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (TESTS, TESTS.parent / "daemon")))}
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        command = [sys.executable, str(PROGRAM), directory]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    lines, *seen = done.stdout.split()
    assert int(lines) > 100
    assert seen == ["between", "new", "old"]
