"""Which nodes are alive: only the change of a Lease counts, on the reader's clock."""

from typing import Any

import pytest

from nodenet.core.hosted_cluster.leases import LOOK_SECONDS, USUAL_SECONDS, Heartbeats, after, started

LASTS = USUAL_SECONDS + LOOK_SECONDS


def lease(name: str, renewed: str, seconds: object = 40) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"renewTime": renewed, "leaseDurationSeconds": seconds}}


def test_a_lease_that_is_renewed_is_alive_and_one_that_is_not_ends() -> None:
    known = after(started(()), [lease("a", "1"), lease("b", "1")], 100.0)
    assert known.alive("a")
    known = after(known, [lease("a", "2"), lease("b", "1")], 100.0 + LASTS)
    assert (known.alive("a"), known.alive("b")) == (True, False)


def test_leases_that_could_not_be_read_for_an_hour_have_not_ended() -> None:
    known = after(started(()), [lease("a", "1"), lease("b", "1")], 0.0)
    assert known.alive("a")
    again = after(known, [lease("a", "2"), lease("b", "1")], 3600.0)
    assert (again.alive("a"), again.alive("b")) == (True, False)


@pytest.mark.parametrize("time", ["1970-01-01T00:00:00Z", "2999-01-01T00:00:00Z", "whenever"])
def test_the_clock_of_a_node_does_not_matter(time: str) -> None:
    known = after(started(()), [lease("a", time)], 5.0)
    assert known.alive("a")
    assert not after(known, [lease("a", time)], 5.0 + LASTS).alive("a")


def test_a_node_without_a_lease_is_not_alive_and_neither_is_one_whose_lease_has_gone() -> None:
    assert not Heartbeats().alive("a")
    known = after(started(()), [lease("a", "1")], 0.0)
    assert not after(known, [], 1.0).alive("a")


def test_a_node_that_was_silent_before_a_restart_is_so_until_it_renews() -> None:
    known = after(started({"a"}), [lease("a", "1"), lease("b", "1")], 0.0)
    assert (known.alive("a"), known.alive("b")) == (False, True)
    assert after(known, [lease("a", "2")], 15.0).alive("a")


def test_a_lease_of_another_length_lasts_so_long() -> None:
    leases = [lease("a", "1", 100), lease("b", "1", "x"), lease("c", "1", 10**9)]
    known = after(after(started(()), leases, 0.0), leases, LASTS)
    assert [known.alive(name) for name in "abc"] == [True, False, False]


@pytest.mark.parametrize("wrong", [None, [], {}, {"metadata": 5}, {"metadata": {"name": "a"}}, lease(5, "1")])  # type: ignore[arg-type]
def test_a_lease_of_another_shape_is_left_out(wrong: object) -> None:
    assert after(started(()), [wrong], 0.0).beats == {}
