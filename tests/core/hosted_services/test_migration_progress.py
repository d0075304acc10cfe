"""When a node's part of a phase is done, and what it says until then."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

import pytest

from nodenet.core.hosted_services.health import Answer, Result
from nodenet.core.hosted_services.migration import Migration, Phase
from nodenet.core.hosted_services.migration_progress import (
    BAD_ANSWERS,
    GOOD_ANSWERS,
    VIP_ANSWERS,
    Facts,
    Tries,
    after,
    progress,
)

VIP, LB = ip_address("192.0.2.2"), ip_address("192.0.2.200")


def part(phase: Phase, *, control_plane: bool = True, **facts: Any) -> tuple[bool, str, bool]:
    target = VIP if phase in (Phase.START_HAPROXY, Phase.VERIFY_VIP) else LB
    found = progress(Migration(phase, (VIP,), (target,), 4), Facts(control_plane, **facts))
    assert (found.attempt, found.phase) == (4, phase)
    return found.ready, found.problem, found.lost


def test_answers_in_a_row() -> None:
    bad = Result(Answer.DEAD, problem="status 500")
    assert after(after(Tries(), Result(Answer.GOOD)), Result(Answer.GOOD)) == Tries(good=2)
    assert after(Tries(good=4), bad) == Tries(bad=1, problem="status 500")
    assert after(Tries(bad=4), Result(Answer.GOOD)) == Tries(good=1)
    assert after(Tries(good=4), Result(Answer.SLOW, problem="no answer in 3 s")).good == 0


@pytest.mark.parametrize(
    ("phase", "facts", "wanted"),
    [
        (Phase.VERIFY, {}, (False, "")),
        (Phase.VERIFY, {"tries": {LB: Tries(good=GOOD_ANSWERS - 1)}}, (False, "")),
        (Phase.VERIFY, {"tries": {LB: Tries(good=GOOD_ANSWERS)}}, (True, "")),
        (Phase.VERIFY, {"tries": {LB: Tries(good=GOOD_ANSWERS), VIP: Tries(good=1)}}, (False, "")),
        (Phase.VERIFY, {"tries": {LB: Tries(bad=BAD_ANSWERS - 1, problem="x")}}, (False, "")),
        (Phase.VERIFY, {"tries": {LB: Tries(bad=BAD_ANSWERS, problem="status 500")}}, (False, f"{LB}: status 500")),
        (Phase.START_HAPROXY, {}, (False, "haproxy has no API server that answers yet")),
        (Phase.START_HAPROXY, {"balances": True}, (True, "")),
        (Phase.VERIFY_VIP, {"tries": {VIP: Tries(good=VIP_ANSWERS)}, "holders": {VIP: 1}}, (True, "")),
        (Phase.VERIFY_VIP, {"tries": {VIP: Tries(good=VIP_ANSWERS - 1)}, "holders": {VIP: 1}}, (False, "")),
        (
            Phase.VERIFY_VIP,
            {"tries": {VIP: Tries(good=VIP_ANSWERS)}, "holders": {VIP: 2}},
            (False, f"the VIP {VIP} has 2 holders"),
        ),
        (Phase.SWITCH_DNS, {"named": frozenset({LB})}, (True, "")),
        (
            Phase.SWITCH_DNS,
            {"named": frozenset({VIP})},
            (False, f"DNS of this node answers {VIP} for api-int"),
        ),
        (Phase.SWITCH_DNS, {"named": frozenset()}, (False, "DNS of this node answers nothing for api-int")),
        (Phase.SWITCH_DNS, {"named": None}, (True, "")),
        (Phase.REDIRECT_OFF, {"redirects": True}, (False, "the redirect to haproxy is on")),
        (Phase.REDIRECT_OFF, {}, (True, "")),
        (Phase.DRAIN_HAPROXY, {}, (False, "")),
        (Phase.DRAIN_HAPROXY, {"tries": {LB: Tries(good=1)}}, (True, "")),
        (Phase.DRAIN_HAPROXY, {"tries": {LB: Tries(bad=1, problem="x")}}, (False, "")),
        (Phase.DRAIN_EXTERNAL, {"tries": {LB: Tries(bad=BAD_ANSWERS, problem="x")}}, (False, f"{LB}: x")),
    ],
)
def test_the_part_of_a_control_plane_node(phase: Phase, facts: dict[str, Any], wanted: tuple[bool, str]) -> None:
    assert part(phase, **facts) == (*wanted, False)


@pytest.mark.parametrize("phase", [phase for phase in Phase if phase is not Phase.SWITCH_DNS])
def test_a_worker_has_no_part_but_dns(phase: Phase) -> None:
    assert part(phase, control_plane=False) == (True, "", False)
    assert part(Phase.SWITCH_DNS, control_plane=False, named=frozenset())[0] is False


def test_an_address_that_is_lost_matters_after_the_switch_alone() -> None:
    assert part(Phase.DRAIN_HAPROXY, lost=True) == (False, f"the API does not answer at {LB} any more", True)
    assert part(Phase.SWITCH_DNS, named=frozenset({LB}), lost=True)[2]
    assert part(Phase.VERIFY, tries={LB: Tries(good=GOOD_ANSWERS)}, lost=True) == (True, "", False)
