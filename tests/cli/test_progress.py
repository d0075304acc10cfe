"""What is printed while a verb waits for the daemon."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

from nodenet.cli import progress
from nodenet.core.status.document import last_known
from status_cases import GOOD, WAITING

if TYPE_CHECKING:
    import pytest


def test_the_stage_that_runs_or_waits_is_printed_once_and_then_its_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On standard error (R59)."""
    state = tmp_path / "state.json"
    state.write_text(json.dumps(WAITING))
    expected = ["nodenetctl: nmstate is waiting: NetworkManager is not on the bus yet"]
    printed = ""
    with progress.shown(state, quiet_seconds=0.0):
        for stages in (WAITING["stages"], [stage | {"status": "running"} for stage in WAITING["stages"]]):
            fresh = tmp_path / "fresh"
            fresh.write_text(json.dumps(WAITING | {"stages": stages}))
            fresh.rename(state)
            deadline = time.monotonic() + 20
            while not printed.endswith(f"{expected[-1]}\n") and time.monotonic() < deadline:
                time.sleep(0.01)
                captured = capsys.readouterr()
                printed += captured.err
                assert captured.out == ""
            expected.append("nodenetctl: hostname is running")
    assert printed.splitlines() == expected[:2]


def test_an_answer_that_comes_soon_prints_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = tmp_path / "state.json"
    state.write_text(json.dumps(WAITING))
    with progress.shown(state, quiet_seconds=60.0):
        pass
    assert capsys.readouterr() == ("", "")


def test_without_an_open_stage_nothing_is_under_way() -> None:
    """Neither without a document, nor while nodenetd is not running."""
    assert progress.under_way(GOOD) == ""
    assert progress.under_way(None) == ""
    assert progress.under_way(WAITING) != ""
    assert progress.under_way(last_known(WAITING, 1.0)) == ""
