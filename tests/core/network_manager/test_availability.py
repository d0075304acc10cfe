"""What is said of a NetworkManager that is not on the bus, with the way out."""

from __future__ import annotations

import pytest

from nodenet.core.network_manager.state import OWN_RESTARTS, PAUSES, Service, absence, is_due

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
