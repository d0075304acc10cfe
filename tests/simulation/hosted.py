"""The unit of nodenet-hosted, as nodenetd sees it: it starts, runs, and may end by itself or not start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nodenet.core.boot.outcome import Topic
from nodenet.core.hosted_services.units import ACTIVE, FAILED, LOADED, Running

if TYPE_CHECKING:
    from simulation.world import World

START_SECONDS = 1.0
"""Until it has decided about VIPs and sends READY."""
STOPPED = Running(LOADED, "inactive")


class HostedUnits:
    """Units by name; each is of the type ``notify``."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._known: dict[str, Running] = {}
        self.fails = False

    def boot(self) -> None:
        self._known.clear()

    def state(self, name: str) -> Running:
        return self._known.get(name, STOPPED)

    def start(self, name: str) -> None:
        self._set(name, Running(LOADED, "activating"))
        self._world.after_in_boot(START_SECONDS, lambda: self._end_start(name))

    def _end_start(self, name: str) -> None:
        if self.state(name).is_settling:
            self._set(name, Running(LOADED, FAILED, "exit-code") if self.fails else Running(LOADED, ACTIVE))

    def stop(self, name: str) -> None:
        self._set(name, STOPPED)

    def end_all(self) -> None:
        """Let all end with an error."""
        for name in self._known:
            self._set(name, Running(LOADED, FAILED, "exit-code"))

    def _set(self, name: str, running: Running) -> None:
        self._known[name] = running
        self._world.signal(Topic.UNIT)
