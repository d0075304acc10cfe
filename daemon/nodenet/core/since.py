"""How long has a condition been true, and how much longer may a stage wait for it?

Every bounded wait uses this: a stage keeps a `Since`, begins it when the condition is seen, and resets it with `NEVER`.
"""

from __future__ import annotations

from nodenet.core.value import frozen


@frozen
class Since:
    """When a condition was first seen, in seconds of CLOCK_BOOTTIME; None: it does not hold."""

    began: float | None = None

    def holds(self, now: float) -> Since:
        """Return the value for a condition that holds at *now*: the first time it was seen is kept."""
        return self if self.began is not None else Since(now)

    def lasted(self, now: float) -> float:
        """Return for how many seconds the condition has held, 0 when it does not."""
        return 0.0 if self.began is None else now - self.began

    def left(self, now: float, patience: float) -> float:
        """Return how many of *patience* seconds are left; not positive when they are over."""
        return patience - self.lasted(now)


NEVER = Since()
"""The condition does not hold."""
