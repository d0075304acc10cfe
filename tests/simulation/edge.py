"""What every edge of the world has: a call takes time, may be the last one, and the bus may be gone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nodenet.core.errors import Unavailable

if TYPE_CHECKING:
    from simulation.life import Life
    from simulation.world import World

STALLED_SECONDS = 5.0
"""After which a call of the bus is given up."""


@dataclass(slots=True)
class Edge:
    """What every edge has: the world, and the process that it serves."""

    life: Life
    world: World = field(init=False)

    def __post_init__(self) -> None:
        self.world = self.life.world

    async def bus(self, name: str, seconds: float = 0.002) -> None:
        """Call over the bus. Raises Unavailable."""
        life = self.life
        await life.cross(name, seconds)
        if self.world.bus_stalled:
            await life.cross(f"{name}.stalled", STALLED_SECONDS)
            if self.world.bus_stalled:
                raise Unavailable("the system bus does not answer")
        if not self.world.bus_up:
            raise Unavailable("the system bus cannot be reached")
