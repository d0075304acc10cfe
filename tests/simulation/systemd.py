"""systemd: what it has read of the drop-ins, its queue of notifications, and kubelet, which starts with READY."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from nodenet.core.ip import IPAddress
from nodenet.core.node_ip.published_files import UnitEnvironment, drop_in_variables

if TYPE_CHECKING:
    from simulation.world import World

DIRECTORY = "/etc/systemd/system/"
COMMANDS = {"kubelet.service": ("/usr/bin/kubelet", "--node-ip=${KUBELET_NODE_IP}"), "crio.service": ("/usr/bin/crio",)}
UNITS = tuple(COMMANDS)
START_SECONDS, WATCHDOG_SECONDS = 90.0, 30.0
"""TimeoutStartSec= and WatchdogSec= of nodenetd.service."""


@dataclass(frozen=True, slots=True)
class Start:
    """How kubelet was started: in which boot, and with which variables."""

    boot: int
    now: float
    variables: dict[str, str]
    usable: frozenset[IPAddress]
    """The addresses that servers could listen on when READY was sent: what goes later, no program can foresee."""


_path = lru_cache(maxsize=64)(PurePosixPath)


@lru_cache(maxsize=256)
def _variables(content: bytes) -> dict[str, str]:
    return dict(drop_in_variables(content))


class Systemd:
    """*started* is called when kubelet starts."""

    def __init__(self, world: World, started: Callable[[Start], None]) -> None:
        self._world = world
        self._started = started
        self.silent = False
        self.refuses_reload = False
        self.deaf = False
        """Whether a reload succeeds and reads nothing."""
        self.loses_messages = 0
        """How many notifications its full queue loses."""
        self.kubelet_runs = False
        self.active = False
        self.lives_until = 0.0
        """When it ends a nodenetd that sends nothing any more: its start takes too long, or its watchdog is not fed."""
        self.status = ""
        self.starts: list[Start] = []
        self._read: dict[str, bytes] = {}
        self._runs_with: dict[str, dict[str, str]] = {}

    def boot(self) -> None:
        self.kubelet_runs = self.active = False
        self.status = ""
        self.read()

    def process_starts(self) -> None:
        self.lives_until = self._world.now + START_SECONDS

    def read(self) -> None:
        self._read = self._drop_ins()

    def _drop_ins(self) -> dict[str, bytes]:
        return {path: content for path, content in self._world.disk.content.items() if path.startswith(DIRECTORY)}

    def environment(self, unit: str) -> UnitEnvironment | None:
        if unit not in UNITS:
            return None
        paths = sorted(path for path in self._read if path.startswith(f"{DIRECTORY}{unit}.d/"))
        variables: dict[str, str] = {}
        for path in paths:
            variables |= _variables(self._read[path])
        drop_ins = tuple(map(_path, paths))
        unread = self._read != self._drop_ins()
        return UnitEnvironment(variables, drop_ins=drop_ins, needs_reload=unread, command=COMMANDS[unit])

    def notified(self, lines: tuple[str, ...]) -> bool:
        """Take a message; return False where the queue is full."""
        if self.loses_messages and ("READY=1" in lines or any(line.startswith("STATUS=") for line in lines)):
            self.loses_messages -= 1
            return False
        if self.active and "WATCHDOG=1" in lines:
            self.lives_until = self._world.now + WATCHDOG_SECONDS
        for line in lines:
            if line.startswith("EXTEND_TIMEOUT_USEC=") and not self.active:
                self.lives_until = self._world.now + int(line.partition("=")[2]) / 1e6
            if line.startswith("STATUS="):
                self.status = line.removeprefix("STATUS=")
        if "READY=1" in lines and not self.active:
            self.active = True
            self.lives_until = self._world.now + WATCHDOG_SECONDS
            if self._world.panics:
                self._world.panics.ready()
            usable = self._world.kernel.usable_addresses()
            self._world.after_in_boot(0.05, lambda: self._start_kubelet(usable))
        return True

    def runs_with(self, unit: str) -> Mapping[str, str] | None:
        """Return the variables that kubelet or CRI-O was started with, None while they do not run."""
        return self._runs_with.get(unit) if self.kubelet_runs else None

    def restart_kubelet(self) -> None:
        """Restart kubelet and CRI-O, as an administrator does after a reselection."""
        known = {unit: self.environment(unit) for unit in UNITS}
        self._runs_with = {unit: dict(seen.variables) for unit, seen in known.items() if seen}

    def _start_kubelet(self, usable: frozenset[IPAddress]) -> None:
        if self.kubelet_runs or not self.active:
            return
        self.kubelet_runs = True
        self.restart_kubelet()
        variables = dict(self._runs_with["kubelet.service"])
        start = Start(self._world.boots, self._world.now, variables, usable)
        self.starts.append(start)
        self._started(start)
