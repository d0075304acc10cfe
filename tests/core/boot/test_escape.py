"""An error that nothing caught is one outcome: counted, bounded, with a cause; nothing ends the daemon (R10, R23)."""

from __future__ import annotations

import pytest

from nodenet.core.boot.outcome import (
    BUDGET_SECONDS,
    REPORT,
    TRIES,
    Escapes,
    Facts,
    Failed,
    Waiting,
    is_unforeseen,
    named,
)
from nodenet.core.errors import NodenetError, Unavailable
from nodenet.core.stage_name import StageName

ERROR = Unavailable("the bus is gone")


def after(number: int, name: StageName, now: float = 0.0) -> Waiting | Failed:
    escapes = Escapes()
    for _ in range(number):
        escapes = escapes.another(now)
    return escapes.outcome(name, ERROR, Facts(), now)


def test_the_first_errors_are_waits_that_count() -> None:
    outcome = after(1, StageName.NMSTATE)
    assert isinstance(outcome, Waiting)
    assert outcome.reason == f"try 2 of {TRIES}, after: the bus is gone"
    second = after(2, StageName.NMSTATE)
    assert isinstance(second, Waiting)
    assert second.seconds > outcome.seconds


def test_when_the_tries_are_spent_the_stage_has_failed_and_is_looked_at_again() -> None:
    outcome = after(TRIES, StageName.CONFIGURE_OVS)
    assert isinstance(outcome, Failed)
    assert outcome.again is not None
    assert outcome.again.seconds is not None
    assert outcome.problem.cause == f"the bus is gone ({TRIES} tries)"


def test_when_the_time_is_spent_too() -> None:
    first = Escapes().another(0.0)
    assert isinstance(first.outcome(StageName.NMSTATE, ERROR, Facts(), BUDGET_SECONDS + 1), Failed)


@pytest.mark.parametrize("number", [1, TRIES, 2000])
def test_what_kubelet_cannot_do_without_is_tried_until_it_succeeds(number: int) -> None:
    outcome = after(number, StageName.NODEIP)
    assert isinstance(outcome, Waiting)
    assert outcome.seconds <= 30.0


def test_every_error_gets_a_cause() -> None:
    assert named(ERROR, "a stage") is ERROR
    assert str(named(FileNotFoundError(2, "No such file"), "a stage")).startswith("a stage: No such file")
    known = named(ValueError("two\nlines"), "a stage")
    assert known.cause.startswith("a stage had an unexpected error: ValueError: two lines")
    assert (known.remedy, is_unforeseen(known), is_unforeseen(ERROR)) == (REPORT, True, False)
    assert isinstance(known, NodenetError)
