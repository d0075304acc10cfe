"""Which processes does a unit have, and when does one of them end? (cgroups(7), pidfd_open(2))

Without the bus: the end of a process is noticed at once, also while the bus is silent.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Collection, Mapping
from pathlib import Path

TREE = Path("/sys/fs/cgroup")
MOST = 64
"""Processes of one unit that are looked at."""


class Processes:
    """The processes of one service unit."""

    def __init__(self, unit: str, tree: Path = TREE, proc: Path = Path("/proc")) -> None:
        """Look for the unit's group in *tree*, and for the names of processes in *proc*."""
        self._unit = unit
        self._tree = tree
        self._proc = proc
        self._group: Path | None = None
        """Where the unit's group was when it was found last."""

    def now(self) -> Mapping[int, str]:
        """Return the processes and their names, those of delegated groups below included."""
        found = self._members(self._group) if self._group else {}
        if not found:  # it does not run, or runs in another slice now
            self._group = next(self._tree.glob(f"*.slice/{self._unit}"), None)
            found = self._members(self._group) if self._group else {}
        return found

    def switches(self) -> int:
        """Return how often the processes have begun to run: a number that stays means that none of them does."""
        return sum(map(self._switches, self.now()))

    def _switches(self, pid: int) -> int:
        try:
            lines = (self._proc / str(pid) / "status").read_text(errors="replace").splitlines()
        except OSError:  # it ended meanwhile
            return 0
        return sum(int(line.split()[-1]) for line in lines if "ctxt_switches:" in line)

    def _members(self, group: Path) -> dict[int, str]:
        found: dict[int, str] = {}
        for place in (group, *_below(group)):
            with contextlib.suppress(OSError, ValueError):  # the unit ended meanwhile
                for pid in (place / "cgroup.procs").read_text(encoding="ascii").split()[:MOST]:
                    found |= self._named(int(pid))
        return found

    async def any_ends(self, processes: Collection[int], seconds: float) -> frozenset[int]:
        """Return those of *processes* that have ended: when one has, at the latest after *seconds*."""
        loop = asyncio.get_running_loop()
        ended: set[int] = set()
        one = asyncio.Event()

        def take(pid: int) -> None:
            ended.add(pid)
            one.set()

        with contextlib.ExitStack() as opened:
            for pid in processes:
                try:
                    descriptor = os.pidfd_open(pid)
                except ProcessLookupError:
                    take(pid)
                    continue
                opened.callback(os.close, descriptor)
                loop.add_reader(descriptor, take, pid)
                opened.callback(loop.remove_reader, descriptor)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await one.wait()
        return frozenset(ended)

    def _named(self, pid: int) -> dict[int, str]:
        try:
            return {pid: (self._proc / str(pid) / "comm").read_text(errors="replace").rstrip("\n")}
        except OSError:  # it ended meanwhile
            return {}


def _below(group: Path) -> list[Path]:
    # Not Path.glob: in Python 3.11 it raises where the group is removed meanwhile, as at the end of the unit.
    try:
        with os.scandir(group) as entries:
            return [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
