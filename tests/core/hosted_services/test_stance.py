"""The positions of a node, look by look, and the number that keepalived reads."""

import pytest

from nodenet.core.hosted_services.keepalived import PRIORITIES
from nodenet.core.hosted_services.model import Purpose
from nodenet.core.hosted_services.stance import OUT, Look, Position, Stance, after, at_start, drained, weight

QUIET = Look()
STRANGER = Look(strangers=True)
LOSES = Look(loses=True)


def walk(position: Position, *looks: Look) -> list[Stance]:
    stances = []
    for look in looks:
        position = after(position, look)
        stances.append(position.stance)
    return stances


def test_a_free_wire_makes_a_candidate_at_the_first_look() -> None:
    assert walk(Position(), QUIET) == [Stance.CANDIDATE]


def test_a_stranger_keeps_this_node_out_until_it_was_missed_twice() -> None:
    stances = walk(Position(), STRANGER, STRANGER, QUIET, STRANGER, QUIET, QUIET)
    assert stances == [*[Stance.STAYING_OUT] * 5, Stance.CANDIDATE]


def test_a_stranger_takes_nothing_from_a_node_that_takes_part() -> None:
    assert walk(Position(Stance.CANDIDATE), STRANGER, STRANGER, STRANGER) == [Stance.CANDIDATE] * 3


def test_a_takeover_with_two_answers_for_a_moment_is_no_split() -> None:
    assert walk(Position(Stance.CANDIDATE), LOSES, QUIET, LOSES, QUIET) == [Stance.CANDIDATE] * 4


def test_the_loser_of_a_split_yields_and_takes_part_again_when_it_hears_the_other() -> None:
    apart, together = Look(), Look(heard=True)
    stances = walk(Position(Stance.CANDIDATE), LOSES, LOSES, apart, apart, together, together)
    assert stances == [Stance.CANDIDATE, *[Stance.YIELDING] * 4, Stance.CANDIDATE]


def test_the_loser_of_a_split_takes_part_again_when_no_host_holds_the_vip() -> None:
    free = Look(held=False)
    assert walk(Position(Stance.YIELDING), free, free) == [Stance.YIELDING, Stance.CANDIDATE]


def test_a_drained_node_stays_drained_whatever_is_seen_for_a_moment() -> None:
    assert walk(Position(Stance.DRAINING), LOSES, STRANGER, Look(held=False)) == [Stance.DRAINING] * 3


def test_a_drained_node_gives_up_what_a_peer_holds_too() -> None:
    """Where its keepalived hangs, or VRRP is filtered, the VIP had two holders for as long as the node was drained."""
    assert walk(Position(Stance.DRAINING), LOSES, LOSES) == [Stance.DRAINING, Stance.YIELDING]


@pytest.mark.parametrize(
    ("before", "leaves", "stays"),
    [
        (Stance.CANDIDATE, True, Stance.DRAINING),
        (Stance.DRAINING, False, Stance.CANDIDATE),
        (Stance.YIELDING, True, Stance.YIELDING),
        (Stance.PROBING, True, Stance.PROBING),
    ],
)
def test_only_a_node_that_takes_part_is_drained(before: Stance, leaves: bool, stays: Stance) -> None:  # noqa: FBT001
    assert drained(Position(before), leaves=leaves).stance is stays
    again = Position(stays, against=1)
    assert drained(again, leaves=leaves) == again


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
    assert at_start(number, speaking=speaking) == Position(stance)


@pytest.mark.parametrize("purpose", Purpose)
def test_the_weight_of_each_stance(purpose: Purpose) -> None:
    assert weight(Stance.CANDIDATE, purpose, [20, 5]) == 25
    assert weight(Stance.CANDIDATE, purpose, []) == 0
    assert PRIORITIES[purpose] + weight(Stance.DRAINING, purpose, [20, 5]) == 1
    out = {weight(stance, purpose, [20, 5]) for stance in (Stance.PROBING, Stance.STAYING_OUT, Stance.YIELDING)}
    assert out == {OUT}


def test_a_node_that_still_holds_what_it_gives_up_goes_on_giving_it_up() -> None:
    """Its keepalived hangs: it took part again for a moment, for as long as two nodes held the VIP."""
    both = Look(loses=True, heard=True)
    assert set(walk(Position(Stance.YIELDING), *[both] * 10)) == {Stance.YIELDING}
    assert walk(Position(Stance.YIELDING), Look(heard=True), Look(heard=True))[-1] is Stance.CANDIDATE
