"""How long did the event loop keep everybody waiting, machine's load apart?

A tick is due every 20 ms in the loop, and another one in a thread of the same process. What keeps the thread waiting
while this process does not compute is the machine; all else is the loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator

TICK_SECONDS = 0.02
LIMIT_SECONDS = 0.2
"""The longest that nodenetd's loop may be silent, whatever comes over the bus."""


class Lag:
    """The delays of both clocks."""

    def __init__(self) -> None:
        self.worst = 0.0
        self._late: list[tuple[float, float]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._tick_in_thread, daemon=True)

    def _tick_in_thread(self) -> None:
        before, computed = time.monotonic(), time.process_time()
        while not self._stop.wait(TICK_SECONDS):
            now, computed_now = time.monotonic(), time.process_time()
            late = now - before - TICK_SECONDS - (computed_now - computed)
            if late > TICK_SECONDS:
                self._late.append((now, late))
            before, computed = now, computed_now

    async def tick(self) -> None:
        """Measure until cancelled."""
        self._thread.start()
        try:
            while True:
                before = time.monotonic()
                await asyncio.sleep(TICK_SECONDS)
                late = time.monotonic() - before - TICK_SECONDS
                if late > self.worst:
                    of_machine = sum(seconds for when, seconds in self._late if when >= before)
                    self.worst = max(self.worst, late - of_machine)
        finally:
            self._stop.set()


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
