"""What a stage can say of itself: the words it is shown with, and when it is looked at again."""

from nodenet.core.boot.outcome import (
    NOT_AGAIN,
    Again,
    Done,
    Facts,
    Failed,
    Problem,
    Skipped,
    Topic,
    Waiting,
    again_of,
    beside,
    detail_of,
)
from nodenet.core.errors import PublishFailed
from nodenet.core.messages import Message

PROBLEM = Problem(Message.APPLY_FAILED, "mtu is 1500", "Compare it")
FACTS = Facts()


def test_every_outcome_has_words() -> None:
    outcomes = (
        Done("did it", FACTS, Message.NETWORK_APPLIED),
        Skipped("nothing to do", FACTS),
        Waiting("the bus"),
        Failed(PROBLEM, FACTS),
    )
    assert [detail_of(outcome) for outcome in outcomes] == ["did it", "nothing to do", "the bus", "mtu is 1500"]


def test_a_wait_is_always_looked_at_again_and_others_where_they_ask() -> None:
    assert again_of(Waiting("x", frozenset({Topic.BUS}), 3.0)) == Again(frozenset({Topic.BUS}), 3.0)
    assert again_of(Skipped("x", FACTS)) == NOT_AGAIN
    assert again_of(Failed(PROBLEM, FACTS, Again(seconds=7.0))) == Again(seconds=7.0)


def test_an_error_becomes_a_problem_with_its_words() -> None:
    error = PublishFailed("the disk is full", remedy="Free some space")
    assert Problem.of(error) == Problem(error.message, "the disk is full", "Free some space")
    assert Problem.of(error, "another cause").cause == "another cause"


def test_work_that_was_done_has_its_problem_beside_it() -> None:
    """Also where there was nothing to do; a wait has a reason of its own."""
    done, waiting = Done("applied", FACTS, Message.NETWORK_APPLIED), Waiting("NetworkManager")
    skipped = Skipped("it matches", FACTS, Message.NETWORK_UNCHANGED)
    assert beside(done, None) is done
    assert beside(done, PROBLEM) == Done("applied", FACTS, Message.NETWORK_APPLIED, PROBLEM)
    assert beside(skipped, PROBLEM) == Done("it matches", FACTS, Message.NETWORK_UNCHANGED, PROBLEM)
    assert beside(waiting, PROBLEM) is waiting
