"""`nodenetctl boot-report`: which journal it reads, and what it prints when there is none."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from nodenet.cli import boot_report
from nodenet.cli.main import main
from nodenet.core.errors import NotAllowed
from nodenet.edge.systemd import journal_reader
from unprivileged import unprivileged


def test_a_boot_that_the_journal_does_not_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 69, and where older boots are kept."""
    assert main(["boot-report", "-b", "-3", "--directory", str(tmp_path)]) == 69
    assert capsys.readouterr().err == (
        "nodenetctl: the journal does not contain this boot. `journalctl --list-boots` lists the boots in the journal; "
        "journald keeps earlier boots only with Storage=persistent in journald.conf\n"
    )


def test_no_boots_are_a_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["boot-report", "--boots", "0", "--directory", str(tmp_path)]) == 64
    assert capsys.readouterr().err == "nodenetctl: --boots 0: the number must be 1 or more\n"


def test_a_journal_that_this_user_may_not_read_is_not_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 77, and who may; the files of users' own sessions are no journal of a boot."""
    inside = tmp_path / ("a" * 32)
    inside.mkdir()
    for name in ("system.journal", "user-1000.journal"):
        (inside / name).write_bytes(b"")
        (inside / name).chmod(0o600)
    with unprivileged(), pytest.raises(NotAllowed, match="may not read the journal in") as refused:
        journal_reader.must_read(inside)
    assert "systemd-journal" in refused.value.remedy
    journal_reader.must_read(tmp_path)
    with unprivileged():
        assert main(["boot-report", "--directory", str(tmp_path)]) == 77
    assert "Storage=persistent" not in capsys.readouterr().err


def test_a_journal_that_this_user_may_read_is_read() -> None:
    """The directory is everybody's, and the file too; that a user's own is closed does not matter."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        directory.chmod(0o755)
        for file, mode in (("system.journal", 0o644), ("user-1000.journal", 0o600)):
            (directory / file).write_bytes(b"")
            (directory / file).chmod(mode)
        with unprivileged():
            journal_reader.must_read(directory)
        (directory / "system.journal").chmod(0o640)
        with unprivileged(), pytest.raises(NotAllowed):
            journal_reader.must_read(directory)


def test_a_picture_makes_no_directory(tmp_path: Path) -> None:
    """A directory that does not exist is a typing error (R59)."""
    with pytest.raises(FileNotFoundError):
        boot_report.write_picture(tmp_path / "typo/boot.svg", "<svg/>")
    assert list(tmp_path.iterdir()) == []
    boot_report.write_picture(tmp_path / "boot.svg", "<svg/>")
    assert (tmp_path / "boot.svg").read_text() == "<svg/>"
