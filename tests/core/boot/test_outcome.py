"""What does an attempt of a stage know, and how does it end?"""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address

import pytest

from nodenet.core.boot.outcome import (
    BUDGET_SECONDS,
    NOT_AGAIN,
    REPORT,
    TRIES,
    Again,
    Done,
    Escapes,
    Facts,
    Failed,
    Problem,
    Skipped,
    Topic,
    Waiting,
    again_of,
    beside,
    detail_of,
    is_unforeseen,
    named,
)
from nodenet.core.errors import NodenetError, PublishFailed, Unavailable
from nodenet.core.messages import Message
from nodenet.core.node_ip.rules import Rule
from nodenet.core.node_ip.select import Candidate, Selection, Verdict
from nodenet.core.stage_name import StageName

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


HERE = Facts(selection=Selection((ip_address("192.0.2.5"),), "eth0"))


def test_the_place_is_addresses_and_link() -> None:
    assert HERE.same_place(replace(HERE, hostname="worker-0", bridge="br-ex"))
    assert not HERE.same_place(Facts(selection=Selection((ip_address("192.0.2.5"),), "br-ex")))
    assert not HERE.same_place(Facts(selection=Selection((ip_address("192.0.2.6"),), "eth0")))


def test_without_a_selection_there_is_no_place() -> None:
    assert Facts().same_place(Facts(hostname="worker-0"))
    assert not Facts().same_place(HERE)


def test_each_node_ip_is_on_its_own_link_where_that_is_known() -> None:
    second = ip_address("2001:db8::5")
    chosen = Candidate(second, 64, "eth1", Verdict.SELECTED, Rule.LINK_DOWN, str)
    selection = Selection((ip_address("192.0.2.5"), second), "eth0")
    assert Facts(selection=selection).node_ip_links == ("eth0", None)
    assert Facts(selection=replace(selection, selected=(chosen,))).node_ip_links == ("eth0", "eth1")
    assert Facts().node_ip_links == ()
    both = tuple(replace(chosen, address=address, link="eth0") for address in selection.node_ips)
    moved = Selection(selection.node_ips, "br-ex", selected=both)
    assert Facts(selection=moved, bridge="br-ex").node_ip_links == ("br-ex", "br-ex")


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
