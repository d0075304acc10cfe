"""One trial: the order of its states, and the sentences that describe it."""

from __future__ import annotations

import pytest

from nodenet.core.errors import UsageInvalid
from nodenet.core.trial.trial import Trial, TrialState, checked, described, held, no_trial, order

DIGEST = "0123456789abcdef" * 4
TRIAL = Trial("new.yml", DIGEST, "root on pts/0 (process 7)")


def test_an_order_has_its_file_its_time_and_who_gave_it() -> None:
    found = order("new.yml", DIGEST, "90", "root")
    assert (found.name, found.digest, found.seconds, found.who) == ("new.yml", DIGEST, 90.0, "root")
    assert order("new.yml", DIGEST, "90", "a\nb").who == "?"


@pytest.mark.parametrize(
    ("name", "digest"),
    [("", DIGEST), ("a/b", DIGEST), ("a\nb", DIGEST), ("new.yml", "x"), ("new.yml", DIGEST[:-1] + "G")],
    ids=str,
)
def test_arguments_that_name_no_file_are_refused(name: str, digest: str) -> None:
    """The digest becomes a part of a path."""
    with pytest.raises(UsageInvalid, match=r"argument of Try is not|cannot have the name"):
        order(name, digest, "90", "root")


@pytest.mark.parametrize("seconds", [0.0, 4.9, 3601.0, float("inf"), float("nan"), -5.0], ids=str)
def test_a_time_out_of_range_is_refused(seconds: float) -> None:
    with pytest.raises(UsageInvalid, match=r"is not possible\. Give a time between 5 s and 3600 s with --for"):
        checked(seconds)


def test_every_other_order_is_refused_with_who_holds_the_network() -> None:
    assert str(held(TRIAL.holding(190.0), 100.0)) == (
        "a trial of new.yml holds the network for 90 s more; root on pts/0 (process 7) started it. "
        "End it with `nodenetctl confirm` or `nodenetctl rollback`"
    )
    assert held(TRIAL, 100.0).cause == "a trial of new.yml holds the network; root on pts/0 (process 7) started it"
    assert str(no_trial()).startswith("no trial of a node file is running. Start one with")


def test_a_trial_runs_until_it_has_ended() -> None:
    assert TRIAL.runs
    assert TRIAL.holding(190.0).runs
    for state in (TrialState.CONFIRMED, TrialState.ROLLED_BACK, TrialState.FAILED):
        assert not TRIAL.holding(190.0).ended(state).runs


def test_the_status_document_has_the_trial() -> None:
    assert described(None) is None
    assert described(TRIAL.ended(TrialState.CONFIRMED, installed="/etc/nmstate/openshift/worker-0.yml")) == {
        "node_file": "new.yml",
        "digest": DIGEST,
        "who": "root on pts/0 (process 7)",
        "state": "confirmed",
        "until": None,
        "cause": None,
        "installed": "/etc/nmstate/openshift/worker-0.yml",
        "edited": None,
    }
