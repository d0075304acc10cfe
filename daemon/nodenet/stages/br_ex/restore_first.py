"""When does a node get its addresses back that br-ex has lost after kubelet was started with them?

The stage that chooses the node IP runs no more then. NetworkManager takes the addresses from a bridge that it finds
without Open vSwitch.
"""

from __future__ import annotations

from nodenet.core.boot.facts import Facts
from nodenet.core.boot.outcome import Outcome, Waiting
from nodenet.core.boot.request import NOTHING, Request
from nodenet.core.br_ex.record import BridgeRecord
from nodenet.stages.br_ex.recover_first import RecoverFirst
from nodenet.stages.br_ex.stage import ConfigureOvsStage


class RestoreFirst:
    """Gives br-ex up where it keeps the node from its address, before the stage that makes br-ex."""

    def __init__(self, stage: ConfigureOvsStage, recover: RecoverFirst) -> None:
        """Run *stage*; *recover* knows the way back."""
        self._stage = stage
        self._recover = recover

    async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:
        """Return the stage's own outcome, or Waiting before that; Failed where br-ex was given up."""
        match await self._recover.give_up_lost():
            case Waiting() as waiting:
                return waiting
            case BridgeRecord() as record:
                return self._stage.given_up(facts, record)
        return await self._stage.attempt(facts, request)
