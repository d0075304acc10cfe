"""`nodenetctl hand-back`: who may run it, and its options; `test_adoption_run` and the lab have the steps."""

from __future__ import annotations

import pytest

import nodenet.cli.adoption.run  # noqa: F401  (before the rights of root are given up)
from nodenet.cli.main import main
from unprivileged import unprivileged


@pytest.mark.parametrize("words", [[], ["--dry-run"], ["--uninstall"]], ids=str)
def test_only_root_may_hand_a_node_back(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    """Nothing is printed of what it would do: it is not known without root."""
    with unprivileged():
        assert main(["hand-back", *words]) == 77
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("nodenetctl: ")


def test_an_argument_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hand-back", "now"]) == 64
    assert "unrecognized arguments: now" in capsys.readouterr().err
