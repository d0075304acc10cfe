"""When does a node get its addresses back that an apply of this boot has lost, after kubelet was started with them?

The stage that chooses the node IP runs no more then. NetworkManager forgets its checkpoint where it ends in the middle
of an apply, so it rolls nothing back.
"""

from __future__ import annotations

from nodenet.core.boot.facts import Facts
from nodenet.core.boot.outcome import Failed, Outcome
from nodenet.core.boot.request import NOTHING, Request
from nodenet.ports import Stage
from nodenet.stages.br_ex.recover_first import RecoverFirst


class RestoreFirst:
    """Restores the network that an apply of this boot has lost, before the stage that makes br-ex and after it."""

    def __init__(self, stage: Stage, recover: RecoverFirst) -> None:
        """Run *stage*; *recover* knows the way back."""
        self._stage = stage
        self._recover = recover

    async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:
        """Return the stage's own outcome, or Waiting before that."""
        if waiting := await self._recover.restore_lost():
            return waiting
        outcome = await self._stage.attempt(facts, request)
        if isinstance(outcome, Failed):
            # The stage has waited for a rollback, and its next attempt may be minutes away.
            await self._recover.restore_lost(patience=0.0)
        return outcome
