"""Has a node been without its address for so long, because Open vSwitch does not work, that br-ex must be given up?

The profiles of an earlier boot make br-ex again without nodenetd. With an ovs-vswitchd that hangs, or that never
started, they leave the node without network until it works.
"""

from __future__ import annotations

from nodenet.core.since import NEVER
from nodenet.stages.br_ex.repair import BridgeRepairer

LOST_SECONDS = 60.0
"""How long the address may be missing before Open vSwitch is asked: the bridge's DHCP server may be slow."""


class LostSwitch:
    """Remembers since when the address is missing."""

    def __init__(self, repairer: BridgeRepairer) -> None:
        """Ask Open vSwitch as *repairer* does."""
        self._repairer = repairer
        self._missing = NEVER

    async def is_cause(self, now: float, *, lost: bool) -> bool:
        """Return whether the address was *lost* for LOST_SECONDS up to *now*, and Open vSwitch does not work."""
        self._missing = self._missing.holds(now) if lost else NEVER
        if self._missing.left(now, LOST_SECONDS) > 0:
            return False
        if await self._repairer.switch_works():
            self._missing = NEVER.holds(now)  # each question is a write to the database: the next one is a minute later
            return False
        return True
