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

_PAUSES = {FailureKind.TAKEN: (5.0, 60.0), FailureKind.PROBE: (60.0, 900.0)}
"""The first and the longest pause before a file is tried again that was refused for another host: it had an address of
the file, or did not answer. The latter takes the node from its network for a while each time."""
TRIES = 3
BUDGET_SECONDS = 300.0
"""No further try begins once so much time has passed since the first one began: kubelet is waiting."""


def is_permanent(failure: NmstateFailure) -> bool:
    """Return whether no further try can succeed on this kernel."""
    said = f"{failure.cause} {failure.said}".lower()
    return any(words in said for words in PERMANENT)


def pauses(kind: FailureKind) -> tuple[float, float] | None:
    """Return the first and the longest pause before a file that was refused so is tried again; None: it is not."""
    return _PAUSES.get(kind)


def may_try_again(failure: NmstateFailure, tries: int, seconds: float) -> bool:
    """Return whether a file that failed so, at the last of *tries* tries in *seconds*, is tried once more."""
    passes = failure.kind in MAY_PASS and not is_permanent(failure)
    return passes and tries < TRIES and seconds < BUDGET_SECONDS


def delay(attempt: int) -> float:
    """Return the seconds to wait after the *attempt*-th failed try (1, 2, …)."""
    return min(2.0**attempt, 30.0)
