"""What does the loop need to have a node file tried, and what does the trial need of the loop?"""

from __future__ import annotations

from typing import Protocol

from nodenet.core.boot.facts import Facts
from nodenet.core.trial.trial import Decision, TrialOrder


class Administrator(Protocol):
    """Who decides about a trial."""

    def begins(self) -> None:
        """Take note that the network is touched from now on."""

    def holds(self, until: float) -> None:
        """Take note that the file is applied, and is rolled back at *until* (CLOCK_BOOTTIME)."""

    async def decided(self, seconds: float) -> Decision | None:
        """Return the decision, None where none came within *seconds*."""


class TrialRunner(Protocol):
    """What tries node files."""

    async def hold(self, order: TrialOrder, facts: Facts, administrator: Administrator) -> str:
        """Try a file; return the path where it is installed once it is confirmed. Raises NodenetError.

        The network is as before where this raises, unless the error says otherwise.
        """
