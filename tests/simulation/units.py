"""Units of systemd that do a stage: a job that takes some time, ends well or not, and leaves something behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nodenet.core.boot.outcome import Topic
from nodenet.core.resolver import DONE
from nodenet.core.unit_stage import Unit

if TYPE_CHECKING:
    from simulation.world import World

USUAL_SECONDS = 2.0


class Units:
    """Units by name; each is of the type ``oneshot``."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.known: dict[str, Unit] = {}
        self.ended: dict[str, str] = {}
        """How the newest job of each unit ended."""
        self.seconds = USUAL_SECONDS
        self.fails = False

    def boot(self) -> None:
        self.known.clear()
        self.ended.clear()

    def unit(self, name: str) -> Unit:
        return self.known.get(name) or Unit(name, name)

    def start(self, name: str) -> None:
        if self.unit(name).active_state == "activating":
            return
        self.known[name] = Unit(name, name, active_state="activating", sub_state="start", ran=True)
        self.ended.pop(name, None)
        self._world.after_in_boot(self.seconds, lambda: self._end(name))
        self._world.signal(Topic.UNIT)

    def _end(self, name: str) -> None:
        if self.fails:
            self.ended[name] = "failed"
            self.known[name] = Unit(name, name, active_state="failed", result="exit-code", ran=True)
        else:
            self.ended[name] = "done"
            self.known[name] = Unit(name, name, ran=True)
            self._leave(name)
        self._world.signal(Topic.UNIT)

    def _leave(self, name: str) -> None:
        """Leave behind what the stage is to do."""
        if name == "hostname.service":
            self._world.transient_name = "worker-0"
            self._world.signal(Topic.HOSTNAME)
        elif name == "resolv-prepender.service":
            self._world.disk.write_unsynced(str(DONE), b"")

    def start_failed(self) -> None:
        """Start again what has failed, as an administrator does."""
        for name in [name for name, unit in self.known.items() if unit.active_state == "failed"]:
            self.start(name)
