"""Whose is a checkpoint, what may pass, and how long is it tried."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nodenet.core.apply.intent import Intent, Phase, is_ours
from nodenet.core.apply.retry import BUDGET_SECONDS, TRIES, may_try_again
from nodenet.core.network_manager.checkpoint import Checkpoint, rollback_forgets_dns
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure

OURS = Intent("d", Phase.APPLYING, "boot1", 50.0)


@pytest.mark.parametrize(
    ("created", "record", "ours"),
    [
        (51.0, OURS, True),
        (50.0, OURS, True),
        (49.0, OURS, False),
        (51.0, None, False),
        (51.0, replace(OURS, phase=Phase.GOOD), False),
        (51.0, replace(OURS, phase=Phase.REFUSED), False),
        (51.0, replace(OURS, boot_id="boot0"), False),
    ],
)
def test_only_a_checkpoint_made_after_our_intent_is_ours(created: float, record: Intent | None, *, ours: bool) -> None:
    """Somebody else's is never rolled back."""
    assert is_ours(Checkpoint("/cp/1", created), record, "boot1") is ours


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
    assert may_try_again(kind, tries, seconds) is again


@pytest.mark.parametrize("kind", FailureKind)
def test_every_failure_has_a_remedy(kind: FailureKind) -> None:
    """An administrator is never left with a cause alone."""
    assert NmstateFailure(kind, "it failed").remedy


@pytest.mark.parametrize(
    ("version", "forgets"),
    [("1.42.4", True), ("1.46.0", True), ("1.47.90", True), ("1.48.0", False), ("1.58.1", False), ("2.0", False)],
)
def test_checkpoints_cover_dns_from_1_48_on(version: str, *, forgets: bool) -> None:
    """Read as numbers: 1.100 is newer than 1.48."""
    assert rollback_forgets_dns(version) is forgets
