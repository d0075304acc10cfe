"""How long is the pause before a retry? Every retry uses this, so that none can spin or overflow."""

from __future__ import annotations


def backoff(failures: int, first: float, longest: float) -> float:
    """Return the seconds to wait after *failures* failures in a row: *first*, doubled with each one up to *longest*."""
    return min(first * 2.0 ** min(max(failures, 1) - 1, 60), longest)


def spread(seconds: float, share: float) -> float:
    """Return *seconds* times a factor between 0.5 and 1: *share* 0 gives 1, *share* 1 gives 0.5.

    Hosts that all lost the same server do not ask it again in the same moment.
    """
    return seconds * (1 - share / 2)
