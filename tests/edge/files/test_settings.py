"""Which settings files there are, and which are trusted."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from nodenet.core.errors import SettingsInvalid, Unavailable
from nodenet.edge.files.settings import MAX_BYTES, _unreadable, read


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "nodenet.toml").write_bytes(b"a")
    (tmp_path / "nodenet.toml.d").mkdir()
    return tmp_path


def refusal(place: Path) -> str:
    with pytest.raises(SettingsInvalid) as caught:
        read(str(place))
    assert caught.value.remedy
    return caught.value.cause


def test_drop_ins_come_after_the_file_by_name(place: Path) -> None:
    for name in ("20-b.toml", "10-a.toml", ".hidden.toml", "notes.txt"):
        (place / "nodenet.toml.d" / name).write_bytes(name.encode())
    assert [(Path(path).name, content) for path, content in read(str(place))] == [
        ("nodenet.toml", b"a"),
        ("10-a.toml", b"10-a.toml"),
        ("20-b.toml", b"20-b.toml"),
    ]


def test_without_files_there_are_no_settings(tmp_path: Path) -> None:
    assert read(str(tmp_path)) == []


def test_settings_that_others_may_write_are_refused(place: Path) -> None:
    (place / "nodenet.toml").chmod(0o666)
    assert refusal(place) == f"{place}/nodenet.toml is writable by others than root"


def test_a_fifo_does_not_hang_the_boot(place: Path) -> None:
    os.mkfifo(place / "nodenet.toml.d" / "10-pipe.toml", 0o600)
    assert refusal(place) == f"{place}/nodenet.toml.d/10-pipe.toml is not a regular file"


def test_the_size_has_a_limit(place: Path) -> None:
    (place / "nodenet.toml").write_bytes(b"#" * (MAX_BYTES + 1))
    assert "larger than 1 MiB" in refusal(place)


@pytest.mark.parametrize("number", [errno.ENFILE, errno.ENOMEM, errno.EINTR])
def test_what_says_nothing_of_the_file_is_no_mistake_of_the_file(number: int) -> None:
    """The daemon would end with exit code 78, and would not be started again (R53)."""
    error = _unreadable("/etc/nodenet/nodenet.toml", OSError(number, os.strerror(number)))
    assert isinstance(error, Unavailable)
    assert not error.permanent
    assert error.cause == f"/etc/nodenet/nodenet.toml cannot be read: {os.strerror(number)}"


def test_a_directory_in_place_of_the_file_is_named(place: Path) -> None:
    (place / "nodenet.toml").unlink()
    (place / "nodenet.toml").mkdir()
    assert refusal(place) == f"{place}/nodenet.toml is not a regular file"


def test_a_file_in_place_of_the_directory_is_named(place: Path) -> None:
    (place / "nodenet.toml.d").rmdir()
    (place / "nodenet.toml.d").write_bytes(b"")
    assert refusal(place).startswith(f"{place}/nodenet.toml.d cannot be read: ")
