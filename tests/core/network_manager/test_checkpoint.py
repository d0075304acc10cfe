"""What a rollback of NetworkManager's checkpoints leaves out."""

from __future__ import annotations

import pytest

from nodenet.core.network_manager.state import Checkpoint, of_another, rollback_forgets_dns


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
