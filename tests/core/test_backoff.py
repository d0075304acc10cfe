"""How long a retry is put off."""

from __future__ import annotations

from nodenet.core.since import backoff, spread


def test_each_failure_doubles_the_pause_up_to_the_longest() -> None:
    """From the first one on."""
    assert [backoff(failures, 2.0, 30.0) for failures in range(1, 7)] == [2.0, 4.0, 8.0, 16.0, 30.0, 30.0]


def test_no_number_of_failures_overflows() -> None:
    """A stage that fails for weeks goes on being tried (R10)."""
    assert backoff(1025, 30.0, 900.0) == backoff(10**9, 30.0, 900.0) == 900.0


def test_hosts_that_wait_for_one_server_do_not_ask_together() -> None:
    assert [spread(60.0, share) for share in (0.0, 0.5, 1.0)] == [60.0, 45.0, 30.0]
