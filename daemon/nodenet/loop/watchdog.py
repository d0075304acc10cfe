"""How does the loop work and sleep without a timeout of systemd's watchdog?"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from nodenet.core.boot.outcome import Topic
from nodenet.core.common_wake import until_common
from nodenet.core.errors import Unavailable
from nodenet.loop.requests import Requests
from nodenet.ports import Clock

ROUNDING_SECONDS = 1e-6
STOP_SECONDS = 120.0
"""How long a stop extends systemd's timeout for work that was cancelled: a rollback may take 90 s."""
BURST_SECONDS = 0.01
"""Events that follow one another so closely are one."""
T = TypeVar("T")


def nothing() -> None:
    """Do nothing with a beat."""


class Watchdog(Protocol):
    """The service manager's view of a loop that is alive."""

    @property
    def seconds(self) -> float:
        """How often ``beat`` wants to be called."""

    def beat(self, *, starting: bool) -> None:
        """Feed the watchdog; extend the start timeout while *starting*."""


class WatchdogLoop:
    """Beats while something is waited for, and wakes on requests."""

    def __init__(self, requests: Requests, watchdog: Watchdog, clock: Clock, starting: Callable[[], bool]) -> None:
        """*starting* returns whether systemd's start timeout is to be extended."""
        self._requests = requests
        self._watchdog = watchdog
        self._clock = clock
        self._starting = starting

    async def beat_during(
        self, work: Coroutine[Any, Any, T], seconds: float = math.inf, each: Callable[[], None] = nothing
    ) -> T | None:
        """Return what *work* returns, None when the daemon stops first; after *seconds* nothing beats.

        *each* is called with each beat.
        """
        task = asyncio.ensure_future(work)
        hung = self._clock.boottime() + seconds
        while not task.done():
            if self._requests.stop:
                await self._cancelled(task)
                return None
            self._requests.wakened.clear()
            waker = asyncio.ensure_future(self._requests.wakened.wait())
            await asyncio.wait({task, waker}, timeout=self._watchdog.seconds, return_when=asyncio.FIRST_COMPLETED)
            waker.cancel()
            if self._clock.boottime() < hung:  # what hangs is left to systemd's watchdog
                self._beat()
                each()
        if task.cancelled():
            raise Unavailable("the work was cancelled from within", remedy="Look at `journalctl -b -u nodenetd`")
        return task.result()

    async def _cancelled(self, task: asyncio.Future[Any]) -> None:
        """Wait for the end of *task*, which cleans up; systemd's stop timeout is extended for STOP_SECONDS at most."""
        until = self._clock.boottime() + STOP_SECONDS
        task.cancel()
        while not task.done():
            if self._clock.boottime() < until:
                self._watchdog.beat(starting=True)
            await asyncio.wait({task}, timeout=self._watchdog.seconds)
        if not task.cancelled():
            task.result()

    async def sleep(self, topics: frozenset[Topic], seconds: float) -> None:
        """Sleep until a request, an event of *topics*, or *seconds* have passed."""
        until = self._clock.boottime() + seconds
        while True:
            if self._requests.topics.keys() & topics:
                await asyncio.sleep(BURST_SECONDS)
                return
            if self._requests.pending:
                return
            left = until - self._clock.boottime()
            if left < ROUNDING_SECONDS:
                return
            self._beat()
            wakened = self._requests.wakened
            wakened.clear()
            timer = asyncio.get_running_loop().call_later(min(left, self.until_beat()), wakened.set)
            try:
                await wakened.wait()
            finally:
                timer.cancel()

    def until_beat(self) -> float:
        """Return the seconds until the next beat of a loop that sleeps."""
        return until_common(asyncio.get_running_loop().time(), self._watchdog.seconds)

    def _beat(self) -> None:
        self._watchdog.beat(starting=self._starting())
