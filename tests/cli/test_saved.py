"""Files that were saved on another host."""

from __future__ import annotations

from pathlib import Path

import pytest

from nodenet.cli import saved
from nodenet.core.errors import SnapshotInvalid


def refuse(_: bytes) -> bytes:
    raise SnapshotInvalid("a cause", remedy="a remedy")


def test_at_most_one_byte_too_much_is_read(tmp_path: Path) -> None:
    """It is enough to refuse the file."""
    file = tmp_path / "node.json"
    file.write_bytes(b"x" * 100)
    assert saved.read(str(file), 10, lambda content: content) == b"x" * 11
    assert saved.read(str(file), 100, lambda content: content) == b"x" * 100


def test_an_error_names_the_file_and_keeps_its_remedy(tmp_path: Path) -> None:
    file = tmp_path / "node.json"
    file.touch()
    with pytest.raises(SnapshotInvalid) as caught:
        saved.read(str(file), 10, refuse)
    assert (caught.value.cause, caught.value.remedy) == (f"{file}: a cause", "a remedy")
    with pytest.raises(SnapshotInvalid) as caught:
        saved.read(str(tmp_path / "none"), 10, refuse)
    assert caught.value.cause == f"{tmp_path}/none cannot be read: No such file or directory"
