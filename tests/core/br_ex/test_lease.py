"""May a static copy of a lease stay? Decided by CLOCK_BOOTTIME within a boot, with doubt across boots (R3, R4)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from br_ex_cases import CASES, facts_of
from nodenet.core.br_ex.lease import REMOVED, Moment, StaticLease, Verdict, lease_of, verdict

THEN = Moment("boot-1", 100.0, 1_700_000_000.0)
LEASE = StaticLease("192.0.2.5", THEN, 3600.0)


@pytest.mark.parametrize(
    ("given", "now", "expected"),
    [
        (None, Moment("boot-1", 200.0, 1_700_000_100.0), Verdict.KEEP),
        ("192.0.2.5", Moment("boot-1", 200.0, 1_700_000_100.0), Verdict.CONFIRMED),
        ("192.0.2.6", Moment("boot-1", 200.0, 1_700_000_100.0), Verdict.OTHER),
        (None, Moment("boot-1", 3701.0, 1_700_003_601.0), Verdict.ENDED),
        (None, Moment("boot-1", 200.0, 1_900_000_000.0), Verdict.KEEP),
        (None, Moment("boot-1", 200.0, 0.0), Verdict.KEEP),
        (None, Moment("boot-2", 5.0, 1_700_000_600.0), Verdict.KEEP),
        (None, Moment("boot-2", 5.0, 1_700_600_000.0), Verdict.ENDED),
        (None, Moment("boot-2", 5.0, 1_600_000_000.0), Verdict.UNKNOWN),
        ("192.0.2.6", Moment("boot-2", 5.0, 1_700_000_600.0), Verdict.REPLACED),
        ("192.0.2.5", Moment("boot-2", 5.0, 1_600_000_000.0), Verdict.CONFIRMED),
    ],
)
def test_the_verdict_on_a_lease(given: str | None, now: Moment, expected: Verdict) -> None:
    """A step of the wall clock within a boot means nothing (R4); in another boot it may prove an end (R3)."""
    assert verdict(LEASE, given, now) is expected


def test_a_lease_without_a_known_end_lasts_for_the_boot_only() -> None:
    """Another boot cannot know how old it is."""
    endless = replace(LEASE, seconds=None)
    assert verdict(endless, None, Moment("boot-1", 9e9, 0.0)) is Verdict.KEEP
    assert verdict(endless, None, Moment("boot-2", 1.0, 1_700_000_001.0)) is Verdict.UNKNOWN


def test_a_lease_noted_again_is_the_new_boot_s() -> None:
    """What the wall clock does from then on changes nothing."""
    later = Moment("boot-2", 5.0, 1_700_000_600.0)
    assert LEASE.at(later) == StaticLease("192.0.2.5", later, 3000.0)
    assert verdict(LEASE.at(later), None, Moment("boot-2", 6.0, 1_900_000_000.0)) is Verdict.KEEP


def test_what_is_removed_is_all_that_may_belong_to_another_host() -> None:
    """And what DHCP has by itself."""
    assert set(Verdict) - REMOVED == {Verdict.KEEP, Verdict.OTHER}


def test_the_kernel_s_lifetime_comes_before_the_date_of_expiry() -> None:
    """NetworkManager's date is of the clock that the lease was got with (R4)."""
    facts = facts_of(CASES / "dhcp4")
    wrong_clock = Moment("boot-1", 50.0, 1_900_000_000.0)
    assert lease_of(facts, "eth0", wrong_clock) == StaticLease("10.88.0.113", wrong_clock, 3596.0)


def test_a_lease_that_networkmanager_does_not_know_has_the_kernel_s_lifetime() -> None:
    """The server answered between two looks; a static copy without a lease would be removed at once."""
    facts = facts_of(CASES / "dhcp4")
    asked_before = replace(facts, devices=tuple(replace(each, lease4=None) for each in facts.devices))
    assert lease_of(asked_before, "eth0", THEN) == StaticLease("10.88.0.113", THEN, 3596.0)
    assert lease_of(replace(asked_before, state={}), "eth0", THEN) is None


@pytest.mark.parametrize(
    ("expires", "unix", "expected"),
    [(1_000.0, 900.0, 100.0), (1_000.0, 5_000.0, 3600.0), (90_000.0, 900.0, 3600.0), (None, 900.0, None)],
)
def test_a_date_that_the_length_of_the_lease_contradicts_is_another_clock_s(
    expires: float | None, unix: float, expected: float | None
) -> None:
    """Then the whole length is what is known."""
    facts = facts_of(CASES / "dhcp4")
    devices = tuple(
        replace(each, lease4=replace(each.lease4, expires=expires)) if each.lease4 else each for each in facts.devices
    )
    now = Moment("boot-1", 50.0, unix)
    found = lease_of(replace(facts, devices=devices, state={}), "eth0", now)
    assert found
    assert found.seconds == expected


def test_a_link_without_a_lease_has_none() -> None:
    """Nor one that does not exist."""
    assert lease_of(facts_of(CASES / "static4"), "eth0", THEN) is None
    assert lease_of(facts_of(CASES / "static4"), "eth9", THEN) is None
