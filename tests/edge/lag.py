"""How long did the event loop compute without a pause, whatever else the machine did meanwhile?

A tick is due every 20 ms in the loop. What counts is the processor time of the loop's thread between two ticks: a
machine with other work delays a tick, but it does not lengthen this time.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

TICK_SECONDS = 0.02
LIMIT_SECONDS = 0.2
"""The longest that nodenetd's loop may compute before it looks at its other tasks, whatever comes over the bus."""


class Lag:
    """The longest time between two ticks."""

    def __init__(self) -> None:
        self.worst = 0.0

    async def tick(self) -> None:
        """Measure until cancelled."""
        while True:
            before = time.thread_time()
            await asyncio.sleep(TICK_SECONDS)
            self.worst = max(self.worst, time.thread_time() - before)


@contextlib.asynccontextmanager
async def measured() -> AsyncIterator[Lag]:
    """Measure while the body runs, and give it time to show."""
    lag = Lag()
    ticking = asyncio.create_task(lag.tick())
    try:
        yield lag
        await asyncio.sleep(2 * TICK_SECONDS)
    finally:
        ticking.cancel()
        await asyncio.wait({ticking})
