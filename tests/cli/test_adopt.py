"""`nodenetctl adopt`: who may run it, and its options; `test_adoption_run` and the lab have the steps."""

from __future__ import annotations

import pytest

import nodenet.cli.adoption.run  # noqa: F401  (before the rights of root are given up)
from nodenet.cli.main import main
from unprivileged import unprivileged


@pytest.mark.parametrize("words", [[], ["--dry-run"]], ids=str)
def test_only_root_may_adopt_a_node(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    """Nothing is printed of what it would do: it is not known without root."""
    with unprivileged():
        assert main(["adopt", *words]) == 77
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("nodenetctl: ")


def test_an_option_of_hand_back_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["adopt", "--uninstall"]) == 64
    assert "unrecognized arguments: --uninstall" in capsys.readouterr().err
