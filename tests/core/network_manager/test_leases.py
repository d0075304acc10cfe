"""Whether NetworkManager holds a lease, or only shows the one that it has given up."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address

import pytest

from nodenet.core.network_manager.state import KEPT_SECONDS, LeaseMark, is_held

ADDRESS = ip_address("192.0.2.9")
MARK = LeaseMark(ADDRESS, "active 1", "config 0")
AGAIN = replace(MARK, applied="active 2")
AWAITED = replace(MARK, address=None)


@pytest.mark.parametrize(
    ("before", "now", "held"),
    [
        (MARK, MARK, True),
        (MARK, AGAIN, False),
        (MARK, replace(AGAIN, given="config 1"), True),
        (MARK, replace(MARK, address=None), False),
        (AWAITED, replace(AGAIN, given="config 1"), False),
        (AWAITED, replace(MARK, given="config 1"), True),
        (replace(AWAITED, asks=False), replace(AGAIN, given="config 1"), True),
        (None, MARK, True),
        (None, replace(MARK, address=None), False),
    ],
    ids=[
        *("nothing was applied", "given up", "another lease", "none any more"),
        *("perhaps from before the apply", "a lease that was on its way", "a static link asks for one"),
        *("a new link", "a new link without one"),
    ],
)
def test_a_lease_counts_where_it_came_after_the_profile_was_applied_again(
    before: LeaseMark | None, now: LeaseMark, *, held: bool
) -> None:
    assert is_held(before, now, 1.0, {ADDRESS}) is held


def test_an_address_that_stays_is_held() -> None:
    """NetworkManager takes a lease that it has given up off the link after 15 s."""
    assert not is_held(MARK, AGAIN, KEPT_SECONDS - 1, {ADDRESS})
    assert is_held(MARK, AGAIN, KEPT_SECONDS, {ADDRESS})
    assert not is_held(MARK, AGAIN, KEPT_SECONDS, set())
    assert is_held(AWAITED, replace(AGAIN, given="config 1"), KEPT_SECONDS, {ADDRESS})
