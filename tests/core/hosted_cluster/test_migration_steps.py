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
from nodenet.core.hosted_cluster.migration_steps import RETRY_SECONDS, WAIT_SECONDS, View, first_record, seconds, step
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


def test_to_an_external_load_balancer_and_back() -> None:
    out = Simulation((LB,))
    there = out.run(SELF)
    assert out.phases == OUT
    assert there == replace(EXTERNAL, origin=(API,), attempt=1, outcome=Outcome.COMPLETED, message=EXTERNAL.message)
    back = Simulation((), generation=3)
    assert back.run(there) == replace(SELF, origin=(LB,), attempt=2, outcome=Outcome.COMPLETED)
    assert back.phases == IN


def test_from_one_external_load_balancer_to_another() -> None:
    found = Simulation((OTHER,))
    assert found.run(EXTERNAL).target == (OTHER,)
    assert found.phases == [Phase.VERIFY, Phase.SWITCH_DNS, Phase.DRAIN_EXTERNAL, Phase.EXTERNAL]


def test_a_user_managed_vip_is_an_external_load_balancer() -> None:
    found = Simulation((LB,), options=replace(OPTIONS, user_managed_lb=True))
    assert found.run(replace(EXTERNAL, origin=(API,), target=(API,))).target == (LB,)
    assert Phase.REDIRECT_OFF not in found.phases


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


def test_a_load_balancer_that_one_node_cannot_verify_changes_nothing() -> None:
    found = Simulation((LB,), failing(Phase.VERIFY, "m1", problem=f"{LB}: no answer in 3 s"))
    end = found.run(SELF)
    assert found.phases == [Phase.VERIFY, Phase.SELF_HOSTED]
    assert (end.target, end.outcome, end.failed) == ((API,), Outcome.VERIFY_FAILED, 2)
    assert end.message == (
        f"The verification failed, and nothing was changed: m1: {LB}: no answer in 3 s. The API is at its VIP {API}"
    )
    assert seconds(end, OPTIONS) == RETRY_SECONDS
    # It is tried again after the pause, and after an edit at once.
    assert step(end, found.view(end)) == end
    assert step(end, found.view(end, is_due=True)).phase is Phase.VERIFY
    assert step(end, replace(found.view(end), generation=3)).attempt == 2
    # An edit back forgets it.
    calm = step(end, Simulation((), generation=3).view(end))
    assert calm == replace(SELF, attempt=1)


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


@pytest.mark.parametrize("phase", OUT[:-1] + IN[:-1])
def test_a_node_that_goes_off_in_a_phase_is_not_waited_for(phase: Phase) -> None:
    for start, asked, phases in ((SELF, (LB,), OUT), (EXTERNAL, (API,), IN)):
        if phase not in phases:
            continue
        found = Simulation(asked)
        record = found.run(start, until=phase)
        found.off = {"m2"}
        end = found.run(record)
        assert end.target == asked
        assert found.phases == phases


def test_the_nodes_that_are_off_are_named() -> None:
    found = Simulation((LB,), off={"m2"})
    assert found.run(SELF, until=Phase.SWITCH_DNS).message == (
        "The nodes answer the new address for api-int. Nodes that are off follow when they are back: m2"
    )


def test_a_cluster_whose_control_plane_is_silent_moves_nothing() -> None:
    end = Simulation((LB,), off={"m0", "m1", "m2"}).run(SELF)
    assert (end.target, end.outcome) == ((API,), Outcome.VERIFY_FAILED)
    assert "no control-plane node is alive" in end.message
    old = Simulation((LB,), lambda *_: None).run(SELF)
    assert "m0: it has reported nothing about this" in old.message


def test_a_worker_that_does_not_follow_delays_dns_and_ends_nothing() -> None:
    found = Simulation((LB,), failing(Phase.SWITCH_DNS, "w3"))
    record = found.run(SELF, until=Phase.SWITCH_DNS)
    waits = step(record, found.view(record))
    assert waits.message == "The nodes answer the new address for api-int. Waiting for w3"
    assert step(record, found.view(record, is_due=True)).phase is Phase.REDIRECT_OFF


def test_what_a_worker_says_moves_nothing_back() -> None:
    found = Simulation((LB,), failing(Phase.DRAIN_HAPROXY, "w3", lost=True, problem="gone"))
    assert found.run(SELF).target == (LB,)


def test_a_report_of_an_earlier_migration_counts_for_nothing() -> None:
    found = Simulation((LB,), lambda record, _: Progress(record.attempt - 1, record.phase, ready=True))
    assert found.run(SELF).outcome is Outcome.VERIFY_FAILED


def test_a_load_balancer_that_dies_before_the_drain_ends_is_left() -> None:
    found = Simulation((LB,), failing(Phase.DRAIN_HAPROXY, "m1", lost=True, problem="the API does not answer"))
    end = found.run(SELF)
    assert (end.target, end.outcome) == ((API,), Outcome.ROLLED_BACK)
    assert end.message == (f"The migration was rolled back: m1: the API does not answer. The API is at its VIP {API}")
    assert seconds(end, OPTIONS) is None
    assert step(end, found.view(end, is_due=True)) == end, "only an edit begins it again"


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


@pytest.mark.parametrize("phase", OUT[:-1] + IN[:-1])
def test_an_object_that_is_edited_back_in_the_middle(phase: Phase) -> None:
    """Before the switch that is an abort; after it, the way back is a verified migration."""
    for start, asked, phases in ((SELF, (LB,), OUT), (EXTERNAL, (API,), IN)):
        if phase not in phases:
            continue
        found = Simulation(asked)
        record = found.run(start, until=phase)
        found.asked, found.generation, found.phases = start.target, 3, []
        end = found.run(record)
        assert end.target == start.target
        assert end.failed == 0
        assert end.outcome is (Outcome.COMPLETED if record.switched else Outcome.ABORTED)


@pytest.mark.parametrize("phase", OUT[:-1])
def test_an_object_that_is_edited_to_a_third_address_in_the_middle(phase: Phase) -> None:
    found = Simulation((LB,))
    record = found.run(SELF, until=phase)
    found.asked, found.generation = (OTHER,), 3
    following = step(record, found.view(record))
    assert (following.phase, following.attempt, following.target) == (Phase.VERIFY, 2, (OTHER,))
    assert following.addresses == record.addresses
    assert found.run(following).target == (OTHER,)


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


@pytest.mark.parametrize("phase", OUT[:-1] + IN[:-1])
@pytest.mark.parametrize("changes", [{"user_managed_lb": True}, {"api_vips": (OTHER,)}])
def test_settings_that_change_in_the_middle_stop_no_migration(phase: Phase, changes: dict[str, Any]) -> None:
    """The phase had no place among those of the new settings, and nodenet-operator wrote no status any more."""
    for start, asked, phases in ((SELF, (LB,), OUT), (EXTERNAL, (API,), IN)):
        if phase in phases:
            found = Simulation(asked)
            record = found.run(start, until=phase)
            found.options = replace(OPTIONS, **changes)
            assert found.run(record).target == asked


def test_vips_of_other_settings_are_no_migration() -> None:
    """At rest the VIPs are those of the settings, whatever the record says."""
    old = Migration(Phase.SELF_HOSTED, (OTHER,), (OTHER,), 4)
    assert old.addresses == ()
    after = step(old, Simulation(()).view(old))
    assert after == replace(SELF, attempt=4)
    assert step(after, Simulation((API,)).view(after)) == after
    moved = replace(SELF, origin=(OTHER,), target=(OTHER,), vips=(OTHER,), message=f"The API is at its VIP {OTHER}")
    assert step(moved, Simulation(()).view(moved)) == SELF


@pytest.mark.parametrize("start", [SELF, EXTERNAL])
def test_vips_that_change_in_the_middle_stay_the_vips(start: Migration) -> None:
    """A new operator with other VIPs took those of before for an external load balancer."""
    found = Simulation((LB,) if start is SELF else ())
    for phase in OUT[:-1] if start is SELF else IN[:-1]:
        record = found.run(start, until=phase)
        late = Simulation(found.asked, options=replace(OPTIONS, api_vips=(OTHER,)))
        end = late.run(record)
        assert end.phase is (Phase.EXTERNAL if start is SELF else Phase.SELF_HOSTED)
        assert (end.origin, end.target) == (((OTHER,), (LB,)) if start is SELF else ((LB,), (OTHER,)))
        assert end.vips == (OTHER,)


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
