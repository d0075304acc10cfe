"""Has the disk taken all records, and if not: which one problem is that, and when is it asked again?"""

from __future__ import annotations

from collections.abc import Callable

from nodenet.core.boot.outcome import Problem
from nodenet.core.errors import PublishFailed
from nodenet.core.status.document import BootStatus
from nodenet.ports import Store

AGAIN_SECONDS = 15.0


class StoreWatch:
    """Writes what the disk has not taken, and reports that it does not."""

    def __init__(self, store: Store, report: Callable[[Problem | None], None]) -> None:
        """*report* gets the problem, and None once there is none any more."""
        self._store = store
        self._report = report
        self._failing = False

    def show(self, _status: BootStatus) -> float | None:
        """Write what is owed; return after how many seconds to do so again."""
        error = self._store.pay()
        if self._failing is not (error is not None):
            self._failing = error is not None
            self._report(_problem(error) if error else None)
        return AGAIN_SECONDS if error else None


def _problem(error: PublishFailed) -> Problem:
    cause = f"{error.cause}; what nodenet did is remembered until a reboot only"
    return Problem.of(error, cause)
