"""Thousands of hosts: as much time for each of them, bounded memory."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import day_one_cluster
from cli.test_main import environment

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
