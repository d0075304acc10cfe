"""Who may keep a stage from starting."""

from __future__ import annotations

import pytest

from nodenet.core.boot.outcome import Topic
from nodenet.core.boot.stage_state import MAX_INHIBITORS, Inhibitor, inhibited, with_inhibitor, without_inhibitor
from nodenet.core.boot.stages import new_boot
from nodenet.core.errors import Busy, UsageInvalid
from nodenet.core.stage_name import StageName

BOOT = new_boot({}, degrade=True)
PENDING = BOOT[StageName.NMSTATE]
HOLD = Inhibitor(StageName.NMSTATE, "backup", "copies the disk", 1)


def test_a_held_stage_waits_and_names_the_holder() -> None:
    """Who and why, and how many beside."""
    second = Inhibitor(StageName.NMSTATE, "admin", "looks", 2)
    inhibitors = with_inhibitor(with_inhibitor((), HOLD, PENDING), second, PENDING)
    wait = inhibited(inhibitors, StageName.NMSTATE)
    assert wait is not None
    assert wait.reason == "inhibited by backup: copies the disk (and 1 more)"
    assert wait.topics == {Topic.INHIBITOR}
    assert inhibited(inhibitors, StageName.NODEIP) is None
    assert inhibited(without_inhibitor(without_inhibitor(inhibitors, HOLD), second), StageName.NMSTATE) is None


def test_two_holds_with_the_same_words_are_two() -> None:
    """One that ends leaves the other."""
    twin = Inhibitor(HOLD.stage, HOLD.who, HOLD.why, 2)
    assert without_inhibitor((HOLD, twin), HOLD) == (twin,)


def test_a_stage_that_runs_cannot_be_held() -> None:
    """Whoever asks is told, and may ask again."""
    with pytest.raises(Busy, match="nmstate runs already"):
        with_inhibitor((), HOLD, PENDING.begun(1.0))


def test_holds_are_bounded() -> None:
    """A program that leaks them is told."""
    with pytest.raises(Busy, match=f"{MAX_INHIBITORS} inhibitors are taken"):
        with_inhibitor((HOLD,) * MAX_INHIBITORS, HOLD, PENDING)


@pytest.mark.parametrize(("who", "why"), [("", "x"), (" ", "x"), ("x", ""), ("x\ny", "x"), ("x", "\x1b[31m")])
def test_words_that_nobody_can_read_are_refused(who: str, why: str) -> None:
    """They go to a terminal and to the journal."""
    with pytest.raises(UsageInvalid, match="is not one line of text"):
        with_inhibitor((), Inhibitor(StageName.NMSTATE, who, why, 1), PENDING)
