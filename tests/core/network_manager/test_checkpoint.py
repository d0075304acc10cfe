"""What a rollback of NetworkManager's checkpoints leaves out."""

from __future__ import annotations

import pytest

from nodenet.core.network_manager.checkpoint import rollback_forgets_dns


@pytest.mark.parametrize(
    ("version", "forgets"),
    [("1.42.4", True), ("1.46.0", True), ("1.47.90", True), ("1.48.0", False), ("1.58.1", False), ("2.0", False)],
)
def test_checkpoints_cover_dns_from_1_48_on(version: str, *, forgets: bool) -> None:
    """Read as numbers: 1.100 is newer than 1.48."""
    assert rollback_forgets_dns(version) is forgets
