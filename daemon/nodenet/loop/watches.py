"""Which observers get the status? State file, bus, service manager; none of them can end the loop."""

from __future__ import annotations

import math

from nodenet.core.backoff import backoff
from nodenet.core.status.document import BootStatus
from nodenet.loop.guard import Guard
from nodenet.ports import Watch


class Watches:
    """Shows every watch each status, and again while one asks for that."""

    def __init__(self, watches: tuple[Watch, ...]) -> None:
        """Show them in this order."""
        self._watches = [(watch, Guard(f"showing the status ({type(watch).__name__})")) for watch in watches]
        self.again = math.inf
        """After how many seconds an observer wants the same status again."""

    def show(self, status: BootStatus) -> None:
        """Show *status*; a watch that raises sees it again after a back-off."""
        self.again = min((_shown(watch, guard, status) for watch, guard in self._watches), default=math.inf)


def _shown(watch: Watch, guard: Guard, status: BootStatus) -> float:
    again = guard.run(watch.show, None, status)
    if guard.failures:
        return backoff(guard.failures, 1.0, 30.0)
    return math.inf if again is None else again
