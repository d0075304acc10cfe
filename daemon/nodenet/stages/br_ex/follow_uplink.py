"""When does the network follow an uplink that has another name in this boot?

Before the node file is applied. The nmstate stage waits until NetworkManager has ended its start, and a DHCP client on
a bridge without an uplink keeps NetworkManager from that.
"""

from __future__ import annotations

from nodenet.core.boot.facts import Facts
from nodenet.core.boot.outcome import Outcome
from nodenet.core.boot.request import NOTHING, Request
from nodenet.ports import Stage
from nodenet.stages.br_ex.recover_first import RecoverFirst


class FollowUplinkFirst:
    """Restores the plain network of an uplink that has another name now, then runs the stage."""

    def __init__(self, stage: Stage, recover: RecoverFirst) -> None:
        """Run *stage* once *recover* has restored what it must."""
        self._stage = stage
        self._recover = recover

    async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:
        """Return the stage's own outcome, or Waiting before that."""
        return await self._recover.follow_renamed() or await self._stage.attempt(facts, request)
