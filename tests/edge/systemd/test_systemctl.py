"""systemctl(1) as a command of an administrator runs it; a program in its place stands for systemd."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nodenet.core.errors import Unavailable
from nodenet.edge.systemd.systemctl import PROPERTIES, show, systemctl


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return where systemctl is looked for first."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return tmp_path / "systemctl"


def write(program: Path, script: str) -> None:
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def test_it_returns_what_was_printed(program: Path) -> None:
    write(program, 'echo "$LC_ALL:$*"')
    assert systemctl("daemon-reload") == "C:daemon-reload\n"
    assert show(("a.service", "b.path")) == f"C:show --property={PROPERTIES} -- a.service b.path\n"


@pytest.mark.parametrize(
    ("script", "cause"),
    [
        ("echo 'Failed to start x.service:' >&2; echo 'no' >&2; exit 5", "failed: Failed to start x.service: no"),
        ("exit 3", "failed: exit code 3"),
        ("exec sleep 60", "did not end within 0.3 s"),
    ],
)
def test_its_reason_is_reported(program: Path, script: str, cause: str) -> None:
    write(program, script)
    with pytest.raises(Unavailable) as failed:
        systemctl("start", "x.service", seconds=0.3 if "sleep" in script else 30)
    assert failed.value.cause == f"`systemctl start x.service` {cause}"


def test_a_node_without_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match="`systemctl stop x` cannot be run: No such file"):
        systemctl("stop", "x")
