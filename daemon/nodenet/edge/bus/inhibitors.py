"""How long does an inhibitor last?

An inhibitor is the writing end of a pipe; the reading end stays here. When the last copy of the writing end is closed,
on purpose or because its process ended, the reading end gets end of file (pipe(7)), and the inhibitor is released.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Callable

from nodenet.core.boot.inhibit import Inhibitor
from nodenet.core.stage_name import StageName

SWALLOWED_BYTES = 65536


class InhibitorLocks:
    """The pipes of all inhibitors."""

    def __init__(self, inhibitor: Callable[[Inhibitor], None], release: Callable[[Inhibitor], None]) -> None:
        """*inhibitor* gets a new one and may refuse it (raises NodenetError); *release* gets it when it ends."""
        self._hold = inhibitor
        self._release = release
        self._numbers = itertools.count(1)
        self._pipes: dict[int, Inhibitor] = {}

    def take(self, stage: StageName, who: str, why: str) -> int:
        """Inhibit *stage*; return the descriptor to hand to the holder and then to close here. Raises NodenetError."""
        inhibitor = Inhibitor(stage, who, why, next(self._numbers))
        ours, theirs = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            self._hold(inhibitor)
        except BaseException:
            os.close(ours)
            os.close(theirs)
            raise
        self._pipes[ours] = inhibitor
        asyncio.get_running_loop().add_reader(ours, self._readable, ours)
        return theirs

    def _readable(self, ours: int) -> None:
        """Discard what a holder writes; at end of file the inhibitor is over."""
        if os.read(ours, SWALLOWED_BYTES):
            return
        self._release(self._forget(ours))

    def close(self) -> None:
        """Let go of every pipe: holders see it as theirs breaking."""
        for ours in tuple(self._pipes):
            self._forget(ours)

    def _forget(self, ours: int) -> Inhibitor:
        asyncio.get_running_loop().remove_reader(ours)
        os.close(ours)
        return self._pipes.pop(ours)
