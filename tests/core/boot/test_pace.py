"""How often a stage may be attempted."""

from __future__ import annotations

from nodenet.core.boot.stage_state import BURST, FRESH, LONGEST_SECONDS, WINDOW_SECONDS


def test_a_failure_makes_a_stage_deaf_to_events_for_longer_each_time() -> None:
    """An apply that fails wakes NetworkManager's listeners, itself among them (R7)."""
    pace, waits = FRESH, []
    now = 100.0
    for _ in range(12):
        pace = pace.after(now, failed=True)
        waits.append(pace.wakes(now) - now)
        now = pace.wakes(now)
    assert waits[:5] == [10.0, 20.0, 40.0, 80.0, 160.0]
    assert waits[-1] == LONGEST_SECONDS
    assert pace.after(now, failed=None).failures == 12
    assert pace.after(now, failed=False).wakes(now) == now


def test_a_few_attempts_in_a_second_are_answers_and_more_are_a_spin() -> None:
    """Then the stage rests until the second is over (R9)."""
    pace = FRESH
    for number in range(BURST - 1):
        pace = pace.after(5.0 + number / 100, failed=False)
        assert pace.wakes(5.5) == 5.5
    pace = pace.after(5.5, failed=None)
    assert pace.wakes(5.6) == pace.rests_until == 5.0 + WINDOW_SECONDS
    assert pace.after(6.0, failed=False).wakes(6.1) == 6.1
