"""Thousands of hosts: as much time for each of them, bounded memory, a bar on a terminal."""

from __future__ import annotations

import os
import pty
import resource
import select
import subprocess
import sys
from pathlib import Path

import day_one_cluster
from cli.test_main import environment
from nodenet.cli.day_one.bar import line

FEW, MANY = 300, 1200
MOST_MB = 300


def command(nodes: Path, install_config: Path) -> list[str]:
    words = ["check", nodes, "--install-config", install_config]
    return [sys.executable, "-m", "nodenet.cli.main", "day-one", *map(str, words)]


def seconds_of(nodes: Path, install_config: Path) -> float:
    """Return the processor time of a check; a busy machine changes it little."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command(nodes, install_config), env=environment(), capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    errors = [each for each in done.stderr.splitlines() if each.startswith("error")]
    assert [each for each in errors if "machine-config-too-large" not in each] == []
    assert f"{len(list(nodes.iterdir()))} files checked" in done.stdout
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_the_time_is_linear_and_the_memory_bounded(tmp_path: Path) -> None:
    few = seconds_of(*day_one_cluster.write(tmp_path / "few", FEW))
    many = seconds_of(*day_one_cluster.write(tmp_path / "many", MANY))
    assert many < few * MANY / FEW * 1.5
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < MOST_MB << 10


def test_a_terminal_gets_a_bar_that_is_gone_in_the_end(tmp_path: Path) -> None:
    words = command(*day_one_cluster.write(tmp_path, MANY))
    control, terminal = pty.openpty()
    with subprocess.Popen(words, env=environment(), stdout=subprocess.DEVNULL, stderr=terminal) as process:
        os.close(terminal)
        shown = b""
        while select.select([control], [], [], 60)[0]:
            try:
                shown += os.read(control, 4096)
            except OSError:  # the other end is closed
                break
    os.close(control)
    assert process.returncode in (0, 65)
    assert b"\rchecking [#" in shown
    assert b"\r\x1b[K" in shown, "it is gone before the findings"


def test_the_bar_says_how_far_it_is() -> None:
    assert line("checking", 25, 100, 2.0, 60) == "checking [" + "#" * 8 + " " * 24 + "] 25/100 6 s left"
    assert line("checking", 0, 100, 0.0, 60) == "checking [" + " " * 41 + "] 0/100 "
    assert line("checking", 100, 100, 8.0, 10) == "checking "
