"""What does NetworkManager say of itself, its checkpoints and its leases?"""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address

import pytest

from nodenet.core.network_manager.state import (
    KEPT_SECONDS,
    OWN_RESTARTS,
    PAUSES,
    Checkpoint,
    LeaseMark,
    Service,
    absence,
    is_due,
    is_held,
    of_another,
    rollback_forgets_dns,
)

YET = "NetworkManager is not on the bus yet"


@pytest.mark.parametrize(
    ("service", "said"),
    [
        (None, YET),
        (Service(active_state="inactive", job="start"), YET),
        (Service(active_state="activating", job="start"), YET),
        (Service(active_state="activating"), YET),  # systemd's own restart, after a failure
        (Service(active_state="failed", job="start", result="exit-code"), YET),
        (Service("masked"), "masked (systemctl unmask NetworkManager; systemctl start NetworkManager)"),
        (Service("not-found"), "NetworkManager is not installed"),
        (Service("bad-setting"), "cannot be loaded: bad-setting (systemctl status NetworkManager)"),
        (Service("masked", "failed"), "masked"),
        (Service(), "NetworkManager is stopped (systemctl start NetworkManager)"),
        (Service(active_state="inactive", job="stop"), "NetworkManager is stopped"),
        (Service(active_state="deactivating", job="stop"), "NetworkManager is being stopped"),
        (Service(active_state="active"), "has lost the bus (systemctl restart NetworkManager)"),
        (Service(active_state="failed", result="start-limit-hit"), "failed: start-limit-hit (journalctl -u"),
    ],
)
def test_the_wait_says_whether_it_can_end_by_itself(service: Service | None, said: str) -> None:
    """`yet` only where systemd is at work; else the command that ends the wait."""
    text = absence(service, 0)
    assert said in text
    assert text.startswith("NetworkManager")
    assert ("yet" in text.split()) == (said == YET)


def test_the_last_word_on_a_failure_is_the_administrator_s() -> None:
    """Before it nodenetd says that it goes on trying."""
    failed = Service(active_state="failed", result="start-limit-hit")
    assert all(absence(failed, starts).endswith("; nodenetd starts it again") for starts in range(len(PAUSES)))
    assert "systemctl reset-failed NetworkManager; systemctl start NetworkManager" in absence(failed, len(PAUSES))


@pytest.mark.parametrize(
    ("result", "restarts", "given_up"),
    [
        ("start-limit-hit", 0, True),
        ("exit-code", OWN_RESTARTS, True),
        ("signal", 0, False),
        ("timeout", 1, False),
        ("timeout", OWN_RESTARTS, False),
    ],
)
def test_what_was_stopped_and_did_not_end_well_is_not_given_up(result: str, restarts: int, *, given_up: bool) -> None:
    """By a signal, or when its time was up, also after crashes of its own; no start is promised then."""
    failed = Service(active_state="failed", result=result, restarts=restarts)
    assert failed.given_up == given_up
    assert absence(failed, 0).endswith("nodenetd starts it again") == given_up
    assert f"has failed: {result} (journalctl -u NetworkManager" in absence(failed, 0)


def test_what_failed_is_started_ever_later_and_a_few_times() -> None:
    """A NetworkManager that cannot run is no reason to try for ever."""
    assert [is_due(starts, PAUSES[starts]) for starts in range(len(PAUSES))] == [True] * len(PAUSES)
    assert not any(is_due(starts, PAUSES[starts] - 0.1) for starts in range(len(PAUSES)))
    assert not is_due(len(PAUSES), 1e9)
    assert list(PAUSES) == sorted(PAUSES)


@pytest.mark.parametrize(
    ("version", "forgets"),
    [("1.42.4", True), ("1.46.0", True), ("1.47.90", True), ("1.48.0", False), ("1.58.1", False), ("2.0", False)],
)
def test_checkpoints_cover_dns_from_1_48_on(version: str, *, forgets: bool) -> None:
    """Read as numbers: 1.100 is newer than 1.48."""
    assert rollback_forgets_dns(version) is forgets


@pytest.mark.parametrize(
    ("seconds", "ends"),
    [
        (7, ", which NetworkManager rolls back 7 s later"),
        (0, ", without a time-out: it stays until that program ends it"),
        (None, ""),
    ],
)
def test_the_checkpoint_of_another_program_is_named_with_its_time(seconds: int | None, ends: str) -> None:
    """The words stay the same while it is waited for: each change of them would be a line of the journal."""
    made = "another program holds NetworkManager's checkpoint /cp/7, made 90 s after the start of this boot"
    assert of_another(Checkpoint("/cp/7", 90.4, seconds)) == made + ends


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
