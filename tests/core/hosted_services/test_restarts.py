"""Starts after failures: each later than the one before, never later than a minute."""

from nodenet.core.hosted_services.units import FIRST_SECONDS, LONGEST_SECONDS, Restarts


def test_the_first_start_is_due_at_once() -> None:
    assert Restarts().left(100.0) <= 0


def test_each_start_that_fails_puts_the_next_one_off() -> None:
    pauses, restarts, now = [], Restarts(), 100.0
    for _ in range(8):
        restarts = restarts.after_start(now)
        pauses.append(restarts.left(now))
        now += pauses[-1]
    assert pauses[0] == FIRST_SECONDS
    assert pauses == sorted(pauses)
    assert pauses[-1] == LONGEST_SECONDS
