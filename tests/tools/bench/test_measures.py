"""Figures that are read out of a time line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / "lab")]

from bench import measures  # noqa: E402 -- found there
from harness import LabError  # noqa: E402

BOOTS = TESTS.parent / "fixtures" / "boot_report"


def boot(name: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((BOOTS / name / "expected.json").read_text())
    return told


def test_a_reaction_is_from_the_managers_word_to_the_end_of_the_wait() -> None:
    assert 0 < measures.reaction(boot("network-manager-late")) < 0.1


def test_a_boot_that_did_not_wait_measures_nothing() -> None:
    with pytest.raises(LabError):
        measures.reaction(boot("file-refused"))
