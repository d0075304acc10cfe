"""One process of nodenetd as the world sees it: it calls out, can be killed there, and listens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nodenet.core.boot.outcome import Topic
from simulation.engine import Killed, Violation

if TYPE_CHECKING:
    from simulation.world import World

WINDOW_SECONDS = 10.0
MOST_CROSSINGS = 4_000
"""Calls to the outside in this time; more are a loop without back-off."""


@dataclass(slots=True)
class Life:
    """One process of nodenetd: it calls out through ``cross``, which is where it can be killed."""

    world: World
    alive: bool = True
    crossings: int = 0
    """Since *window_began*."""
    window_began: float = 0.0
    deadlines: Callable[[], list[float]] = list
    """When the process's timers end."""

    async def cross(self, name: str, seconds: float = 0.0, *, exactly: bool = False) -> None:
        """Call to the outside, which takes about *seconds* to answer; *exactly*: it is killed then."""
        self.step(name)
        if seconds:
            taken = seconds * self.world.random.uniform(0.5, 1.5) + self.world.busy
            await asyncio.sleep(seconds if exactly else taken)
            self.step(f"{name}:back")

    def step(self, name: str) -> None:
        """Pass the point *name* where anything may happen to the process. Raises Killed."""
        if not self.alive:
            raise Killed
        world = self.world
        now = world.timeline.now
        self.crossings += 1
        if now - self.window_began > WINDOW_SECONDS:
            self.window_began, self.crossings = now, 1
        if self.crossings > MOST_CROSSINGS:
            raise Violation("P4", f"{self.crossings} calls to the outside in {WINDOW_SECONDS:.0f} s, now {name}")
        world.points[name] = nth = world.points.get(name, 0) + 1
        world.last_point = name
        if (name, nth) in world.on_point:
            for work in world.on_point.pop((name, nth)):
                work()
            if not self.alive:
                raise Killed


@dataclass(slots=True)
class Listeners:
    """What the daemon of the moment wants to hear."""

    wake: Callable[[Topic], None]
    kernel: bool = False
    ovs: bool = False
    link: Callable[[], None] | None = None
