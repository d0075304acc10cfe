"""How long is the pause before a retry? Every retry uses this, so that none can spin or overflow."""

from __future__ import annotations


def backoff(failures: int, first: float, longest: float) -> float:
    """Return the seconds to wait after *failures* failures in a row: *first*, doubled with each one up to *longest*."""
    return min(first * 2.0 ** min(max(failures, 1) - 1, 60), longest)
