"""How often is a file tried, and when is its time over?"""

from __future__ import annotations

from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.stages.nmstate.in_force import Tries

PASSES = NmstateFailure(FailureKind.UNAVAILABLE, "NetworkManager does not answer")
STAYS = NmstateFailure(FailureKind.VERIFICATION, "no answer from eth0")


def test_what_may_pass_is_tried_three_times() -> None:
    tries = Tries()
    assert [tries.another("a", PASSES, began=10.0, now=20.0) for _ in range(4)] == [1, 2, None, 1]


def test_what_stays_is_not_tried_again() -> None:
    tries = Tries()
    assert tries.another("a", STAYS, began=10.0, now=20.0) is None
    assert tries.used_up("a", 1000.0) is None


def test_the_time_of_a_file_begins_with_its_first_try() -> None:
    tries = Tries()
    tries.another("a", PASSES, began=10.0, now=20.0)
    tries.another("a", PASSES, began=200.0, now=210.0)
    assert tries.used_up("a", 309.0) is None
    assert tries.used_up("b", 311.0) is None
    assert tries.used_up("a", 311.0) is PASSES
    assert tries.used_up("a", 311.0) is None


def test_each_file_is_counted_for_itself() -> None:
    tries = Tries()
    tries.another("a", PASSES, began=10.0, now=20.0)
    tries.another("b", PASSES, began=10.0, now=20.0)
    tries.over("a")
    assert tries.another("a", PASSES, began=30.0, now=40.0) == 1
    tries.clear()
    assert tries.used_up("a", 1000.0) is None
