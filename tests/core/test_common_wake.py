"""Timers of several periods meet, and none is set again for the time at which it has just fired."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis.strategies import floats, sampled_from

from nodenet.core.since import LEAST_SECONDS, until_common


def test_timers_of_15_and_60_seconds_meet_once_a_minute() -> None:
    """Whenever each of them was set."""
    assert [61.0 + until_common(61.0, 15.0), 61.0 + until_common(61.0, 60.0)] == [75.0, 120.0]
    assert [118.5 + until_common(118.5, 15.0), 118.5 + until_common(118.5, 60.0)] == [120.0, 120.0]


@given(floats(0, 1e9), sampled_from([15.0, 30.0, 60.0]))
def test_the_next_time_is_ahead_and_at_most_a_period_away(now: float, seconds: float) -> None:
    """Also for a timer that fired a moment too early."""
    left = until_common(now, seconds)
    assert LEAST_SECONDS < left <= seconds + LEAST_SECONDS
    assert until_common(now + left - 1e-6, seconds) == pytest.approx(seconds, abs=1e-4)
