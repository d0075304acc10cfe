"""An error that ended an apply, in words."""

from __future__ import annotations

from structlog.testing import capture_logs

from nodenet.core.errors import PublishFailed, Unavailable
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.stages.apply.changes import as_failure, with_more


def test_what_does_not_answer_in_an_apply_is_a_failed_try() -> None:
    failure = as_failure(Unavailable("NetworkManager does not answer", remedy="Look at it"))
    assert isinstance(failure, NmstateFailure)
    assert (failure.kind, failure.cause, failure.remedy) == (
        FailureKind.UNAVAILABLE,
        "NetworkManager does not answer",
        "Look at it",
    )


def test_an_unexpected_error_is_logged_and_named() -> None:
    with capture_logs() as logs:
        failure = as_failure(IndexError("out of range"))
    assert failure.cause == "unexpected error of nodenetd: IndexError('out of range')"
    assert [entry["log_level"] for entry in logs] == ["error"]


def test_why_nothing_was_rolled_back_follows_the_cause() -> None:
    refused = NmstateFailure(FailureKind.PROBE, "the gateway does not answer", "Correct it")
    failure = with_more(refused, "NetworkManager was started again")
    assert failure.kind is FailureKind.PROBE
    assert (failure.cause, failure.remedy) == (
        "the gateway does not answer; NetworkManager was started again",
        "Correct it",
    )
    assert with_more(PublishFailed("full"), "and more").kind is FailureKind.UNAVAILABLE
