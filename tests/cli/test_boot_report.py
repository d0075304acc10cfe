"""`nodenetctl boot-report`: what it asks for, and what it says when there is nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nodenet.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_boot_that_the_journal_does_not_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 69, and where older boots are kept."""
    assert main(["boot-report", "-b", "-3", "--directory", str(tmp_path)]) == 69
    assert "Storage=persistent" in capsys.readouterr().err


def test_no_boots_are_a_mistake(tmp_path: Path) -> None:
    assert main(["boot-report", "--boots", "0", "--directory", str(tmp_path)]) == 64
