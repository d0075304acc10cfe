"""Has a node been without its address for so long, because of br-ex, that br-ex must be given up?

The profiles of an earlier boot make br-ex again without nodenetd. With an ovs-vswitchd that hangs, or that never
started, they leave the node without network until it works. And an apply that a power cut interrupted may leave
profiles that give no link an address: the rollback of the next apply goes back to just these.
"""

from __future__ import annotations

from nodenet.core.apply.intent import Intent, Phase
from nodenet.core.since import NEVER
from nodenet.stages.br_ex.repair import BridgeRepairer

LOST_SECONDS = 60.0
"""How long the address may be missing before br-ex is suspected: the bridge's DHCP server may be slow."""


class LostNetwork:
    """Remembers since when the address is missing."""

    def __init__(self, repairer: BridgeRepairer) -> None:
        """Ask Open vSwitch as *repairer* does."""
        self._repairer = repairer
        self._missing = NEVER

    async def cause(self, now: float, last: Intent | None, *, lost: bool) -> str | None:
        """Return why br-ex must be given up, None where it must not: the address was *lost* for LOST_SECONDS.

        *now* is in seconds of CLOCK_BOOTTIME, *last* the record of the last apply of br-ex.
        """
        self._missing = self._missing.holds(now) if lost else NEVER
        if self._missing.left(now, LOST_SECONDS) > 0:
            return None
        without = f"and the node has been without its address for {LOST_SECONDS:.0f} s"
        if last is not None and last.phase is Phase.ROLLED_BACK:
            return f"br-ex could not be made, {without}"
        if await self._repairer.switch_works():
            self._missing = NEVER.holds(now)  # each question is a write to the database: the next one is a minute later
            return None
        return f"Open vSwitch does not work, {without}"
