"""`nodenetctl settings`: every setting, its value and the file that sets it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cli.test_main import nodenetctl
from nodenet import __version__
from nodenet.cli import outputs
from nodenet.core.errors import SnapshotInvalid


@pytest.fixture
def configured(tmp_path: Path) -> Path:
    (tmp_path / "nodenet.toml").write_text('hint = "eth0"\nhint_required = true\n')
    (tmp_path / "nodenet.toml.d").mkdir()
    (tmp_path / "nodenet.toml.d/20-later.toml").write_text('hint = "eth2"\n')
    for number in range(11, 20):  # whatever order the file system lists them in, it is hardly this one
        (tmp_path / f"nodenet.toml.d/{number}-site.toml").write_text('hint = "eth1"\n')
    (tmp_path / "nodenet.toml.d/README").write_text("not a settings file")
    return tmp_path


def test_settings_say_where_each_value_comes_from(configured: Path) -> None:
    lines = nodenetctl("settings", "--directory", str(configured)).stdout.splitlines()
    shown = {line.split()[0]: line.split()[1:] for line in lines}
    assert shown["hint"] == ['"eth2"', f"{configured}/nodenet.toml.d/20-later.toml"]
    assert shown["hint_required"] == ["true", f"{configured}/nodenet.toml"]
    assert shown["bridge.datapath"] == ['"system"', "default"]


def test_settings_as_json(configured: Path) -> None:
    document = json.loads(nodenetctl("settings", "--json", "--directory", str(configured)).stdout)
    assert document["schema_version"] == 1
    (hint,) = [entry for entry in document["settings"] if entry["key"] == "hint"]
    assert hint == {"key": "hint", "value": "eth2", "origin": f"{configured}/nodenet.toml.d/20-later.toml"}


def spoil(path: Path, how: str) -> None:
    if how == "writable":
        path.chmod(0o666)
    elif how == "large":
        path.write_bytes(b"#" * (1 << 20) + b"\n")
    else:
        path.unlink()
        if how == "directory":
            path.mkdir()
        else:
            os.mkfifo(path, 0o600)


@pytest.mark.parametrize(
    ("how", "cause"),
    [
        ("writable", "writable by others"),
        ("directory", "not a regular file"),
        ("fifo", "not a regular file"),
        ("large", "larger than 1 MiB"),
    ],
)
def test_settings_that_cannot_be_trusted_are_refused(configured: Path, how: str, cause: str) -> None:
    spoil(configured / "nodenet.toml", how)
    done = nodenetctl("settings", "--directory", str(configured))
    assert done.returncode == 78
    assert cause in done.stderr
    assert "nodenet.toml" in done.stderr


# `nodenetctl version`: one line.


def test_version() -> None:
    done = nodenetctl("version")
    assert (done.returncode, done.stdout) == (0, f"nodenet {__version__}\n")


# Files that were saved on another host.


def refuse(_: bytes) -> bytes:
    raise SnapshotInvalid("a cause", remedy="a remedy")


def test_at_most_one_byte_too_much_is_read(tmp_path: Path) -> None:
    """It is enough to refuse the file."""
    file = tmp_path / "node.json"
    file.write_bytes(b"x" * 100)
    assert outputs.read(str(file), 10, lambda content: content) == b"x" * 11
    assert outputs.read(str(file), 100, lambda content: content) == b"x" * 100


def test_an_error_names_the_file_and_keeps_its_remedy(tmp_path: Path) -> None:
    file = tmp_path / "node.json"
    file.touch()
    with pytest.raises(SnapshotInvalid) as caught:
        outputs.read(str(file), 10, refuse)
    assert (caught.value.cause, caught.value.remedy) == (f"{file}: a cause", "a remedy")
    with pytest.raises(SnapshotInvalid) as caught:
        outputs.read(str(tmp_path / "none"), 10, refuse)
    assert caught.value.cause == f"{tmp_path}/none cannot be read: No such file or directory"
