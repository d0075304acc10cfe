"""The stances of a node, look by look, and the number that keepalived reads."""

import pytest

from nodenet.core.hosted_services.keepalived import PRIORITIES
from nodenet.core.hosted_services.model import Purpose
from nodenet.core.hosted_services.vips import OUT, STAY_OUT_SECONDS, Stance, at_start, next_stance, weight_of


def seen(stance: Stance, *, strangers: bool = False, waited: float = 0.0, leaves: bool = False) -> Stance:
    return next_stance(stance, strangers=strangers, waited=waited, leaves=leaves)


def test_a_free_wire_makes_a_candidate_at_the_first_look() -> None:
    assert seen(Stance.PROBING) is Stance.CANDIDATE


def test_a_stranger_keeps_a_node_out_until_it_goes_and_not_for_ever() -> None:
    """Any host of the LAN may answer for the VIP, and then no node of a cluster that starts would ever hold it."""
    assert seen(Stance.PROBING, strangers=True) is Stance.STAYING_OUT
    assert seen(Stance.STAYING_OUT, strangers=True, waited=STAY_OUT_SECONDS - 1) is Stance.STAYING_OUT
    assert seen(Stance.STAYING_OUT) is Stance.CANDIDATE
    assert seen(Stance.STAYING_OUT, strangers=True, waited=STAY_OUT_SECONDS) is Stance.CANDIDATE


@pytest.mark.parametrize("stance", [Stance.CANDIDATE, Stance.DRAINING])
def test_no_answer_takes_anything_from_a_node_that_takes_part(stance: Stance) -> None:
    assert seen(stance, strangers=True, leaves=stance is Stance.DRAINING) is stance


@pytest.mark.parametrize(
    ("before", "strangers", "leaves", "then"),
    [
        (Stance.CANDIDATE, False, True, Stance.DRAINING),
        (Stance.DRAINING, False, False, Stance.CANDIDATE),
        (Stance.PROBING, False, True, Stance.DRAINING),
        (Stance.PROBING, True, True, Stance.STAYING_OUT),
    ],
)
def test_only_a_node_that_takes_part_is_drained(
    before: Stance,
    strangers: bool,  # noqa: FBT001
    leaves: bool,  # noqa: FBT001
    then: Stance,
) -> None:
    assert seen(before, strangers=strangers, leaves=leaves) is then


@pytest.mark.parametrize(
    ("number", "speaking", "stance"),
    [
        (25, True, Stance.CANDIDATE),
        (0, True, Stance.CANDIDATE),
        (OUT, True, Stance.PROBING),
        (25, False, Stance.PROBING),
        (None, True, Stance.PROBING),
    ],
)
def test_a_companion_that_comes_back_changes_nothing_that_is_right(
    number: int | None,
    speaking: bool,  # noqa: FBT001
    stance: Stance,
) -> None:
    assert at_start(number, speaking=speaking) is stance


@pytest.mark.parametrize("purpose", Purpose)
def test_the_weight_of_each_stance(purpose: Purpose) -> None:
    assert weight_of(Stance.CANDIDATE, purpose, [20, 5]) == 25
    assert weight_of(Stance.CANDIDATE, purpose, []) == 0
    assert PRIORITIES[purpose] + weight_of(Stance.DRAINING, purpose, [20, 5]) == 1
    assert {weight_of(stance, purpose, [20, 5]) for stance in (Stance.PROBING, Stance.STAYING_OUT)} == {OUT}
