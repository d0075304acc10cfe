"""How does a verb connect to the bus, and how long does it wait for a bus that does not answer?"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from nodenet.cli.outputs import note
from nodenet.core.errors import Unavailable

if TYPE_CHECKING:
    from nodenet.edge.bus.connection import Bus

QUIET_SECONDS = 0.3
"""A bus that answers does so much earlier."""
BUS_SECONDS = 1.0
"""How long a verb waits for a bus that says nothing at all."""
SLOW_SECONDS = 10.0
"""How much longer it waits for one that has answered: others may give it much to do."""


@contextlib.asynccontextmanager
async def system_bus() -> AsyncIterator[Bus]:
    """Give a connection to the system bus for as long as the body runs.

    Raises Unavailable when the bus does not answer within ``BUS_SECONDS``; a wait is reported on standard error.
    """
    from nodenet.edge.bus.connection import Bus  # noqa: PLC0415  (most verbs speak no D-Bus)

    bus = Bus(changed=lambda _: None)
    async with carried(bus):
        if not await bus.wait_up(QUIET_SECONDS):
            note("nodenetctl: waiting for the system bus")
            dead = not await bus.wait_up(BUS_SECONDS - QUIET_SECONDS) and not bus.greeted
            if dead or not await bus.wait_up(SLOW_SECONDS):
                seconds = BUS_SECONDS if dead else BUS_SECONDS + SLOW_SECONDS
                cause = f"the system bus did not answer within {seconds:g} s"
                raise Unavailable(cause, remedy="See `systemctl status dbus`")
        yield bus


@contextlib.asynccontextmanager
async def carried(bus: Bus) -> AsyncIterator[None]:
    """Keep the connection of *bus* up for as long as the body runs."""
    connection = asyncio.create_task(bus.run())
    try:
        yield
    finally:
        connection.cancel()
        await asyncio.wait({connection})
