"""Does a unit have processes, and which variables and arguments do they run with? Read from the cgroup tree and /proc.

Neither the bus nor systemctl is needed. Variables of a process with more capabilities than this one need
CAP_SYS_PTRACE (proc_pid_environ(5)).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from nodenet.core.node_ip.published_files import PROGRAMS

TREE = Path("/sys/fs/cgroup")
PROC = Path("/proc")
MOST_BYTES = 1 << 20
ARGUMENTS_FILE = "--kubelet-args-file="
BEGINNING_SECONDS = 5.0
"""A younger process may still be systemd's own, before it executes the program of the unit."""


def has_processes(unit: str, tree: Path = TREE) -> bool:
    """Return whether the service *unit* of any slice at the top has processes (cgroup.events, cgroups(7))."""
    for events in tree.glob(f"*.slice/{unit}/cgroup.events"):
        try:
            if "populated 1" in events.read_text().splitlines():
                return True
        except OSError:  # the unit ended meanwhile
            continue
    return False


def environment(unit: str, tree: Path = TREE, proc: Path = PROC) -> Mapping[str, str] | None:
    """Return the variables of the oldest process of *unit*, its main process.

    None where none runs, where it has just begun, and where its variables cannot be read.
    """
    began, process = min(_processes(unit, tree, proc), default=(0.0, ""))
    if not process or time.clock_gettime(time.CLOCK_BOOTTIME) - began < BEGINNING_SECONDS:
        return None
    try:
        with (proc / process / "environ").open("rb") as file:
            content = file.read(MOST_BYTES)
    except OSError:  # it ended meanwhile, or belongs to a kernel that hides it
        return None
    words = content.decode(errors="replace").split("\0")
    return dict(word.split("=", 1) for word in words if "=" in word)


def kubelet_arguments(unit: str, tree: Path = TREE, proc: Path = PROC) -> tuple[str, ...] | None:
    """Return the arguments of the oldest process of *unit* that is a kubelet, None without such a process.

    kubelite, of MicroK8s, names a file with them.
    """
    for _began, process in sorted(_processes(unit, tree, proc)):
        words = _read(proc / process / "cmdline").rstrip("\0").split("\0")
        if words[0].rpartition("/")[2] not in PROGRAMS:
            continue
        named = next((word.partition("=")[2] for word in words if word.startswith(ARGUMENTS_FILE)), None)
        return tuple(words if named is None else _read(Path(named)).split())
    return None


def _read(path: Path) -> str:
    """Return the text of the file, "" where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES).decode(errors="replace")
    except OSError:
        return ""


def _processes(unit: str, tree: Path, proc: Path) -> Iterator[tuple[float, str]]:
    """Yield when each process of *unit* began, in seconds of CLOCK_BOOTTIME, and its number (proc_pid_stat(5))."""
    ticks = os.sysconf("SC_CLK_TCK")
    for listing in tree.glob(f"*.slice/{unit}/cgroup.procs"):
        try:
            numbers = listing.read_text().split()
        except OSError:
            continue
        for number in numbers:
            try:
                fields = (proc / number / "stat").read_text(errors="replace").rpartition(")")[2].split()
                yield int(fields[19]) / ticks, number
            except (OSError, IndexError, ValueError):
                continue
