"""Virtual time: what happens in the world, in the one order that a seed decides, and what ends a run."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable


class Killed(SystemExit):
    """The process of the daemon has ended at this point: nothing of it runs any more.

    asyncio lets a SystemExit of a task through instead of keeping it as the task's result.
    """


class Violation(SystemExit):
    """A property does not hold: the run ends here, whatever the daemon is doing."""

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(f"{rule}: {text}")
        self.rule = rule


class Timeline:
    """What happens in the world, in order."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now
        self.events: list[tuple[float, int, Callable[[], None]]] = []
        """A heap: when, in which order, and what."""
        self._number = itertools.count()

    def after(self, seconds: float, work: Callable[[], None]) -> None:
        heapq.heappush(self.events, (self.now + seconds, next(self._number), work))

    def run_next(self) -> None:
        when, _, work = heapq.heappop(self.events)
        self.now = max(self.now, when)
        work()

    def run_until(self, until: float) -> None:
        """Let time pass while no daemon runs."""
        while self.events and self.events[0][0] <= until:
            self.run_next()
        self.now = max(self.now, until)
