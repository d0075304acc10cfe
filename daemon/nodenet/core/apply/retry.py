"""How can an apply end, what may pass by itself, and whose is a checkpoint?"""

from __future__ import annotations

from nodenet.core.nmstate.failure import FailureKind

MAY_PASS = frozenset(
    {
        FailureKind.PLUGIN,
        FailureKind.UNAVAILABLE,
        FailureKind.BUSY,
        FailureKind.INTERNAL,
        FailureKind.DIED,
        FailureKind.KILLED,
    }
)
"""Worth another try. Not a failed verification: libnmstate has applied twice by then and looked ten times."""

TRIES = 3
BUDGET_SECONDS = 300.0
"""No further try begins once so much time has gone into a file: kubelet is waiting."""


def may_try_again(kind: FailureKind, tries: int, seconds: float) -> bool:
    """Tell whether a file that failed as *kind*, after *tries* tries in *seconds*, is tried once more."""
    return kind in MAY_PASS and tries < TRIES and seconds < BUDGET_SECONDS


def delay(attempt: int) -> float:
    """Return the seconds to wait after the *attempt*-th failed try (1, 2, …)."""
    return min(2.0**attempt, 30.0)
