"""Where the API is when no record says so: where the control-plane nodes report that they have it."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address
from itertools import permutations
from typing import Any

import pytest

from core.hosted_cluster.test_conditions import API, LB, OPTIONS, member
from nodenet.core.hosted_cluster.migration_steps import View, first_record, step
from nodenet.core.hosted_cluster.node_report import Member
from nodenet.core.hosted_services.migration import Migration, Outcome, Phase
from nodenet.core.hosted_services.model import Mode, Role, Spec
from nodenet.core.ip import IPAddress

NEW, THIRD = ip_address("192.0.2.8"), ip_address("192.0.2.7")
API6, LB6 = ip_address("2001:db8::2"), ip_address("2001:db8::9")


def at(*addresses: IPAddress, **report: Any) -> dict[str, Any]:
    """Return what a node reports that has ``api-int`` at an external load balancer."""
    return {"mode": Mode.EXTERNAL, "api_int": addresses, **report}


VIP = {"api_int": (API,)}
OLD_VIP: dict[str, Any] = {}
OLD_EXTERNAL = {"mode": Mode.EXTERNAL}
"""The reports of a nodenet that does not name the address."""


def view(*reports: dict[str, Any] | None, asked: tuple[IPAddress, ...] = (NEW,), **changes: Any) -> View:
    """Return what an operator sees of control-plane nodes with these *reports*; None: a node that has none."""
    members = []
    for number, report in enumerate(reports):
        made = member(f"m{number}", **(report or {}))
        members.append(made if report is not None else replace(made, report=None))
    return replace(View(OPTIONS, Spec(api_int_addresses=asked), 2, tuple(members)), **changes)


def place(found: Migration | None) -> tuple[IPAddress, ...] | None:
    if found is None:
        return None
    return found.target if found.phase is Phase.EXTERNAL else (API,)


@pytest.mark.parametrize(
    ("reports", "wanted"),
    [
        ([at(LB), at(LB), at(LB)], (LB,)),
        ([at(NEW), at(NEW), at(NEW)], (NEW,)),
        ([VIP, VIP, VIP], (API,)),
        ([OLD_VIP, OLD_VIP, OLD_VIP], (API,)),
        ([at(LB), at(LB), VIP], (API,)),
        ([at(LB), None, OLD_VIP], (API,)),
        ([at(LB), at(LB), None], (LB,)),
        ([at(LB), at(LB), OLD_EXTERNAL], (LB,)),
        ([at(NEW), at(NEW), at(LB)], (LB,)),
        ([at(LB), at(LB), at(NEW)], (LB,)),
        ([at(LB), at(THIRD), at(THIRD)], (THIRD,)),
        ([at(LB), None, None], None),
        ([at(LB), OLD_EXTERNAL, OLD_EXTERNAL], None),
        ([OLD_EXTERNAL, OLD_EXTERNAL, OLD_EXTERNAL], None),
        ([None, None, None], None),
        ([], None),
        ([at(LB)], (LB,)),
    ],
)
def test_it_is_where_the_nodes_are_and_every_other_address_is_verified(
    reports: list[dict[str, Any] | None], wanted: tuple[IPAddress, ...] | None
) -> None:
    """The object was made again with another address while no operator ran; it was taken without verification."""
    for order in permutations(reports):
        seen = view(*order)
        found = first_record(seen)
        assert place(found) == wanted
        if found is None:
            continue
        assert (found.attempt, found.failed, found.outcome) == (0, 0, Outcome.NONE)
        assert step(found, seen).phase is (Phase.EXTERNAL if wanted == (NEW,) else Phase.VERIFY)


def test_a_report_about_another_object_says_nothing_of_an_external_load_balancer() -> None:
    """As the reports of before in the first minute of an object that was made again: its nodes may be at the VIP."""
    for old in (at(LB, generation=7), at(LB, uid="the one of before")):
        assert first_record(view(old, old, old)) is None
        assert place(first_record(view(old, old, VIP))) == (API,)
        assert place(first_record(view(old, at(LB), at(LB)))) == (LB,)


def test_a_report_of_the_vip_that_is_not_about_the_present_object_moves_no_node() -> None:
    """As that of a node which went off before the API moved: for a minute a new operator cannot know that it is off."""
    for old in ({**VIP, "generation": 1}, {**OLD_VIP, "generation": 1}, {**VIP, "uid": "the one of before"}):
        assert place(first_record(view(old, at(LB), at(LB)))) == (LB,)
        assert first_record(view(old, old, old)) is None
    older = replace(view(OLD_VIP, at(LB, uid="u"), at(LB, uid="u")), uid="u")
    assert place(first_record(older)) == (API,), "an older nodenet names no object"


def test_nodes_that_are_off_and_workers_have_no_say() -> None:
    off = replace(member("m1", **at(LB)), alive=False)
    worker = member("w2", Role.WORKER, **at(LB))
    found = replace(view(at(THIRD)), members=(member("m0", **at(THIRD)), off, replace(off, report=None), worker))
    assert place(first_record(found)) == (THIRD,)
    assert first_record(replace(found, members=(off, worker))) is None


def test_an_address_that_cannot_be_a_load_balancer_is_no_place() -> None:
    node: Member = member("m0")
    for addresses in (node.node.addresses, (API, LB), (LB6,), ()):
        assert first_record(view(at(*addresses), at(*addresses))) is None
        assert place(first_record(view(at(*addresses), at(LB), at(LB)))) == (LB,)


def test_two_families_are_the_same_place_in_whatever_order_they_are_reported() -> None:
    options = replace(OPTIONS, api_vips=(API, API6))
    seen = view(at(LB, LB6), at(LB6, LB), asked=(LB6, LB), options=options)
    found = first_record(seen)
    assert found is not None
    assert found.target == (LB, LB6)
    assert step(found, seen) == found, "no migration to where they are"
    managed = replace(options, user_managed_lb=True)
    found = first_record(view(at(API6, API), at(API, API6), asked=(), options=managed))
    assert found is not None
    assert (found.phase, found.target) == (Phase.EXTERNAL, (API, API6))


def test_without_a_usable_object_nothing_is_known() -> None:
    assert first_record(view(VIP, spec=None)) is None
