"""Which failures of an apply may be temporary, and how often and for how long is the apply tried again?"""

from __future__ import annotations

from nodenet.core.nmstate.failure import PERMANENT, FailureKind, NmstateFailure

MAY_PASS = frozenset(
    {
        FailureKind.PLUGIN,
        FailureKind.UNAVAILABLE,
        FailureKind.BUSY,
        FailureKind.INTERNAL,
        FailureKind.DIED,
        FailureKind.KILLED,
        FailureKind.UNLOADED,
    }
)
"""Worth another try. Not a failed verification: libnmstate has applied twice by then and looked ten times."""

TAKEN_SECONDS = (5.0, 60.0)
"""The first and the longest pause before a file is tried again whose address another host had."""
TRIES = 3
BUDGET_SECONDS = 300.0
"""No further try begins once so much time has passed since the first one began: kubelet is waiting."""


def is_permanent(failure: NmstateFailure) -> bool:
    """Return whether no further try can succeed on this kernel."""
    said = f"{failure.cause} {failure.said}".lower()
    return any(words in said for words in PERMANENT)


def may_try_again(failure: NmstateFailure, tries: int, seconds: float) -> bool:
    """Return whether a file that failed so, at the last of *tries* tries in *seconds*, is tried once more."""
    passes = failure.kind in MAY_PASS and not is_permanent(failure)
    return passes and tries < TRIES and seconds < BUDGET_SECONDS


def delay(attempt: int) -> float:
    """Return the seconds to wait after the *attempt*-th failed try (1, 2, …)."""
    return min(2.0**attempt, 30.0)
