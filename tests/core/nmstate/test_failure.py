"""Failures of libnmstate: each kind has a remedy, and libnmstate's own words are kept beside ours."""

import pytest

from nodenet.core.nmstate.failure import FailureKind, NmstateFailure


@pytest.mark.parametrize("kind", FailureKind)
def test_every_kind_has_a_remedy(kind: FailureKind) -> None:
    assert NmstateFailure(kind, "x").remedy


def test_the_words_that_were_translated_are_kept() -> None:
    failure = NmstateFailure(FailureKind.INVALID, "`name` is missing", "Add it", "missing field `name`")
    assert (failure.cause, failure.remedy, failure.said) == ("`name` is missing", "Add it", "missing field `name`")
    assert NmstateFailure(FailureKind.INVALID, "x").said == "x"
