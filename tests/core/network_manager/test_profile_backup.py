"""Which file of a kept profile is on the disk."""

from __future__ import annotations

from pathlib import PurePath

import pytest

from nodenet.core.network_manager.objects import KeptProfile


@pytest.mark.parametrize(
    ("path", "in_memory", "file"),
    [("/etc/x", False, PurePath("/etc/x")), ("/run/x", True, None), ("", False, None)],
)
def test_only_a_profile_that_outlives_a_reboot_has_a_file(path: str, file: PurePath | None, *, in_memory: bool) -> None:
    """What was in memory only is given back in memory."""
    assert KeptProfile("u", "n", path, in_memory, {}).file == file
