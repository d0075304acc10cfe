"""How often may what costs something be done, when others decide how often it is due? (a token bucket)"""

from __future__ import annotations

from dataclasses import replace

from nodenet.core.value import frozen


@frozen
class Budget:
    """*burst* times at once, and once more every *seconds*; *spent* of them at the time *since*."""

    burst: int
    seconds: float
    spent: float = 0.0
    since: float = 0.0

    def wait(self, now: float) -> float:
        """Return the seconds until it may be done next; 0: at once."""
        over = self._spent(now) + 1 - self.burst
        return max(0.0, over * self.seconds)

    def used(self, now: float) -> Budget:
        """Return the budget after one more time at *now*."""
        return replace(self, spent=self._spent(now) + 1, since=now)

    def _spent(self, now: float) -> float:
        return max(0.0, self.spent - max(0.0, now - self.since) / self.seconds)
