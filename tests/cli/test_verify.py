"""`nodenetctl verify` prints what the status has, value by value."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nodenet.cli.main import main
from status_cases import DEGRADED, GOOD

CHANGED = ["eth0 mtu is 1400, not 1500", "eth1 is set down"]


@pytest.mark.parametrize(
    ("document", "code", "printed"),
    [(GOOD, 0, ""), (GOOD | {"changed": CHANGED}, 1, "\n".join([*CHANGED, ""])), (DEGRADED, 69, "")],
)
def test_it_prints_each_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], document: dict[str, object], code: int, printed: str
) -> None:
    state = tmp_path / "state.json"
    state.write_text(json.dumps(document))
    assert main(["verify", "--file", str(state)]) == code
    assert capsys.readouterr().out == printed


def test_without_a_daemon_nothing_is_known(tmp_path: Path) -> None:
    assert main(["verify", "--file", str(tmp_path / "state.json")]) == 69
