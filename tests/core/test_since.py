"""The one idiom for patience."""

from __future__ import annotations

from nodenet.core.since import NEVER, Since


def test_the_first_time_a_condition_is_seen_is_kept() -> None:
    """Seen again, it has lasted longer; the patience runs out at its end, not after it."""
    seen = NEVER.holds(10.0).holds(12.0)
    assert seen == Since(10.0)
    assert (seen.lasted(13.0), seen.left(13.0, 5.0), seen.left(15.0, 5.0)) == (3.0, 2.0, 0.0)


def test_what_does_not_hold_has_not_lasted() -> None:
    """All the patience is left; a condition seen at the beginning of the boot, at 0 s, counts from there."""
    assert (NEVER.lasted(13.0), NEVER.left(13.0, 5.0)) == (0.0, 5.0)
    assert Since(0.0).lasted(2.0) == 2.0
    assert Since(0.0).holds(1.0) == Since(0.0)
