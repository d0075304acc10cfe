"""A cluster that follows each record, and what happens to a migration when a part of the cluster fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.hosted_cluster.test_cluster_status import API, LB, OPTIONS, member
from nodenet.core.hosted_cluster.migration_steps import WAIT_SECONDS, View, first_record, seconds, step
from nodenet.core.hosted_cluster.node_report import Member
from nodenet.core.hosted_services.migration import Migration, Outcome, Phase
from nodenet.core.hosted_services.migration_progress import Progress
from nodenet.core.hosted_services.model import Mode, Role, Spec
from nodenet.core.ip import IPAddress

OTHER = ip_address("192.0.2.8")
Reports = Callable[[Migration, str], Progress | None]
SELF = Migration(Phase.SELF_HOSTED, (API,), (API,), message=f"The API is at its VIP {API}", vips=(API,))
EXTERNAL = Migration(
    Phase.EXTERNAL, (LB,), (LB,), message=f"The API is at the external load balancer {LB}", vips=(API,)
)
OUT = [Phase.VERIFY, Phase.SWITCH_DNS, Phase.REDIRECT_OFF, Phase.DRAIN_HAPROXY, Phase.EXTERNAL]
IN = [Phase.START_HAPROXY, Phase.VERIFY_VIP, Phase.SWITCH_DNS, Phase.DRAIN_EXTERNAL, Phase.SELF_HOSTED]


def ready(record: Migration, name: str) -> Progress | None:
    del name
    return Progress(record.attempt, record.phase, ready=True)


@dataclass
class Simulation:
    """Three control-plane nodes and a worker; drains, and waits in vain, take a step each."""

    asked: tuple[IPAddress, ...]
    reports: Reports = ready
    generation: int = 2
    off: set[str] = field(default_factory=set)
    options: Any = OPTIONS
    phases: list[Phase] = field(default_factory=list)

    def view(self, record: Migration, *, is_due: bool = False) -> View:
        spec = Spec(api_int_addresses=self.asked)
        return View(self.options, spec, self.generation, tuple(self._members(record)), is_due, is_due)

    def _members(self, record: Migration) -> list[Member]:
        found = []
        for name, role in (*((f"m{number}", Role.CONTROL_PLANE) for number in range(3)), ("w3", Role.WORKER)):
            alive = name not in self.off
            part = self.reports(record, name) if alive else None
            found.append(member(name, role, alive=alive, migration=part))
        return found

    def run(self, record: Migration, *, until: Phase | None = None) -> Migration:
        """Return the record at rest, or when *until* begins."""
        for _ in range(20):
            after = step(record, self.view(record))
            if (after.phase, after.attempt) == (record.phase, record.attempt):
                after = step(after, self.view(after, is_due=not after.at_rest))
            if after.phase is not record.phase or not self.phases:
                self.phases.append(after.phase)
            record = after
            if record.at_rest or record.phase is until:
                return record
        raise AssertionError(f"it does not end: {self.phases}")


def test_nothing_moves_without_an_edit() -> None:
    for asked in ((), (API,)):
        assert step(SELF, Simulation(asked).view(SELF)) == SELF
    assert step(EXTERNAL, Simulation((LB,)).view(EXTERNAL)) == EXTERNAL
    unknown = replace(Simulation(()).view(EXTERNAL), spec=None)
    assert step(EXTERNAL, unknown) == EXTERNAL, "an object that could never be used asks for nothing"


def failing(phase: Phase, name: str, **changes: Any) -> Reports:
    """Return reports of which that of one node in one phase is another one; None: it has none."""

    def reports(record: Migration, who: str) -> Progress | None:
        if (record.phase, who) != (phase, name):
            return ready(record, who)
        return Progress(record.attempt, phase, **changes) if changes else None

    return reports


@pytest.mark.parametrize("start", [SELF, EXTERNAL])
@pytest.mark.parametrize("name", ["m0", "m1", "m2"])
@pytest.mark.parametrize("phase", list(dict.fromkeys(OUT + IN)))
@pytest.mark.parametrize("fault", [{}, {"problem": "x"}, {"lost": True, "problem": "gone"}])
def test_whatever_one_node_reports_each_migration_ends_in_one_of_the_two_states(
    phase: Phase, name: str, start: Migration, fault: dict[str, Any]
) -> None:
    asked, phases = ((LB,), OUT) if start is SELF else ((API,), IN)
    found = Simulation(asked, failing(phase, name, **fault))
    end = found.run(start)
    assert end.at_rest
    moved = end.target == asked
    assert moved is (end.outcome is Outcome.COMPLETED)
    assert (end.failed == 0) is moved
    assert moved or start.message in end.message
    assert not moved or found.phases == phases
    assert moved is (phase not in phases[:-1])


def test_a_cluster_whose_control_plane_is_silent_moves_nothing() -> None:
    end = Simulation((LB,), off={"m0", "m1", "m2"}).run(SELF)
    assert (end.target, end.outcome) == ((API,), Outcome.VERIFY_FAILED)
    assert "no control-plane node is alive" in end.message
    old = Simulation((LB,), lambda *_: None).run(SELF)
    assert "m0: it has reported nothing about this" in old.message


def test_a_drain_ends_when_every_control_plane_node_still_gets_good_answers() -> None:
    found = Simulation((LB,))
    record = found.run(SELF, until=Phase.DRAIN_HAPROXY)
    assert step(record, found.view(record)) == record, "not before its time"
    found.reports = failing(Phase.DRAIN_HAPROXY, "m1", problem=f"{LB}: refused")
    due = replace(found.view(record, is_due=True), is_late=False)
    assert step(record, due).message == "haproxy serves the connections that it has. Waiting for m1"
    assert step(record, found.view(record, is_due=True)).outcome is Outcome.ROLLED_BACK
    found.reports = ready
    over = replace(found.view(record, is_due=True), is_late=False)
    assert step(record, over).phase is Phase.EXTERNAL


def test_an_address_that_cannot_be_a_load_balancer_is_refused_at_once() -> None:
    taken = ip_address("192.0.2.11")
    found = Simulation((taken,))
    end = found.run(SELF)
    assert end.outcome is Outcome.INVALID
    assert end.message == (
        f"The address is not used: apiintIpAddress {taken} is the address of node m1: name the load balancer's "
        f"address. The API is at its VIP {API}"
    )
    assert step(end, found.view(end)) == end
    # In the middle: before the switch nothing was changed, after it the migration goes on.
    for phase, wanted in ((Phase.VERIFY, (API,)), (Phase.DRAIN_HAPROXY, (LB,))):
        record = Simulation((LB,)).run(SELF, until=phase)
        late = Simulation((taken,), generation=3)
        end = late.run(late.run(record))
        assert (end.target, end.outcome) == (wanted, Outcome.INVALID)


def test_how_long_each_phase_lasts() -> None:
    options = replace(OPTIONS, drain_seconds=7)
    assert seconds(Migration(Phase.VERIFY), options) == WAIT_SECONDS
    assert seconds(Migration(Phase.START_HAPROXY), options) == WAIT_SECONDS + 7, "it may still drain"
    assert seconds(Migration(Phase.DRAIN_HAPROXY), options) == 7
    assert seconds(Migration(Phase.DRAIN_EXTERNAL), options) == 7
    assert seconds(Migration(Phase.EXTERNAL, outcome=Outcome.COMPLETED), options) is None


def now_of(record: Migration) -> tuple[IPAddress, ...]:
    return record.addresses or (API,)


def everywhere(part: dict[str, Any]) -> Reports:
    return lambda record, _: Progress(record.attempt, record.phase, **part)


@given(
    st.lists(
        st.tuples(
            st.sampled_from([(), (API,), (LB,), (OTHER,), (ip_address("192.0.2.11"),)]),
            st.sets(st.sampled_from(["m0", "m1", "m2", "w3"])),
            st.sampled_from(["ready", "silent", "problem", "lost"]),
            st.booleans(),
        ),
        max_size=12,
    )
)
def test_whatever_happens_in_whatever_order_it_ends_at_rest(events: list[Any]) -> None:
    record, generation = SELF, 2
    kinds: dict[str, dict[str, Any]] = {"problem": {"problem": "x"}, "lost": {"lost": True, "problem": "y"}}
    for asked, off, kind, is_due in events:
        generation += 1
        found = Simulation(asked, generation=generation, off=off)
        if kind == "silent":
            found.reports = lambda *_: None
        elif kind in kinds:
            found.reports = everywhere(kinds[kind])
        before, record = record, step(record, found.view(record, is_due=is_due))
        assert record.addresses in {(), (API,), (LB,), (OTHER,)}
        # api-int moves only where the address was verified, or back to the one that still serves.
        if now_of(record) != now_of(before):
            assert before.phase in (Phase.VERIFY, Phase.VERIFY_VIP) or now_of(record) == before.origin
    calm = Simulation(record.target, generation=generation + 1)
    assert calm.run(record).at_rest


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
