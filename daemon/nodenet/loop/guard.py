"""How does other work run beside the stages, so that its errors do not end the daemon?"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

from nodenet.core.boot.escape import named
from nodenet.core.stage_name import StageName
from nodenet.loop import journal

T = TypeVar("T")
Given = TypeVarTuple("Given")


class Guard:
    """Runs one kind of work; an error is in the journal once, until the work succeeds or the error is another one."""

    def __init__(self, where: str, stage: StageName | None = None) -> None:
        """*where* is how the journal names the work, of *stage* where it has one."""
        self._where = where
        self._stage = stage
        self._known = ""
        self.failures = 0
        """How often the work failed in a row."""

    def run(self, work: Callable[[*Given], T], otherwise: T, *given: *Given) -> T:
        """Return what *work* returns when called with *given*, or *otherwise* where it raises, whatever that is."""
        try:
            result = work(*given)
        except Exception as error:  # noqa: BLE001  (the purpose of this class)
            self.failures += 1
            known = named(error, self._where)
            if known.cause != self._known:
                self._known = known.cause
                journal.unforeseen(known, error, self._stage)
            return otherwise
        self._known, self.failures = "", 0
        return result
