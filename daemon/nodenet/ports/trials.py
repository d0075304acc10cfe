"""What does the loop need to have a node file tried, and what does the trial need of the loop?"""

from __future__ import annotations

from typing import Protocol

from nodenet.core.boot.facts import Facts
from nodenet.core.errors import NodenetError
from nodenet.core.trial.trial import Decision, TrialOrder


class Administrator(Protocol):
    """Who decides about a trial."""

    def begins(self) -> None:
        """Take note that the network is touched from now on."""

    def holds(self, until: float) -> None:
        """Take note that the file is applied, and is rolled back at *until* (CLOCK_BOOTTIME)."""

    async def decided(self, seconds: float) -> Decision | None:
        """Return the decision, None where none came within *seconds*."""

    def refuses(self, error: NodenetError) -> None:
        """Answer the last decision with *error*: the trial goes on."""

    def edited(self, name: str) -> None:
        """Take note that the node's own file, *name*, was edited during the trial, and will not be applied."""


class TrialRunner(Protocol):
    """What tries node files."""

    async def hold(self, order: TrialOrder, facts: Facts, administrator: Administrator) -> str:
        """Try a file; return the path where it is installed once it is confirmed. Raises NodenetError.

        The network is as before where this raises, unless the error says otherwise.
        """
