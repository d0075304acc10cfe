"""Which failures may pass, and how often and how long an apply is tried again."""

from __future__ import annotations

import pytest

from nodenet.core.apply.new_file import BUDGET_SECONDS, TRIES, may_try_again
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure


@pytest.mark.parametrize(
    ("kind", "tries", "seconds", "again"),
    [
        (FailureKind.PLUGIN, 1, 5.0, True),
        (FailureKind.PLUGIN, TRIES, 5.0, False),
        (FailureKind.PLUGIN, 1, BUDGET_SECONDS, False),
        (FailureKind.VERIFICATION, 1, 5.0, False),
        (FailureKind.INVALID, 1, 5.0, False),
        (FailureKind.KILLED, 1, 240.0, True),
    ],
)
def test_what_may_pass_is_tried_again_within_bounds(
    kind: FailureKind, tries: int, seconds: float, *, again: bool
) -> None:
    """Three tries, five minutes."""
    assert may_try_again(NmstateFailure(kind, "it failed"), tries, seconds) is again


@pytest.mark.parametrize("kind", FailureKind)
def test_every_failure_has_a_remedy(kind: FailureKind) -> None:
    """An administrator is never left with a cause alone."""
    assert NmstateFailure(kind, "it failed").remedy
