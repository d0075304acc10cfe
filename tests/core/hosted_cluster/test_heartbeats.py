"""Which nodes are alive: only the change of a Lease counts, on the reader's clock."""

from typing import Any

import pytest

from nodenet.core.hosted_cluster.leases import LOOK_SECONDS, USUAL_SECONDS, after, started

LASTS = USUAL_SECONDS + LOOK_SECONDS


def lease(name: str, renewed: str, seconds: object = 40) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"renewTime": renewed, "leaseDurationSeconds": seconds}}


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
