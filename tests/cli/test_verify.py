"""`nodenetctl verify` prints what the status has, value by value."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nodenet.cli.main import main
from status_cases import DEGRADED, GOOD

CHANGED = ["eth0 mtu is 1400, not 1500", "eth1 is set down"]
COMPARED = GOOD | {"compared": 30.0}


@pytest.mark.parametrize(
    ("document", "code", "printed"),
    [
        (COMPARED, 0, ""),
        (COMPARED | {"changed": CHANGED}, 1, "\n".join([*CHANGED, ""])),
        (DEGRADED, 69, ""),
    ],
)
def test_it_prints_each_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], document: dict[str, object], code: int, printed: str
) -> None:
    state = tmp_path / "state.json"
    state.write_text(json.dumps(document))
    assert main(["verify", "--file", str(state)]) == code
    assert capsys.readouterr().out == printed


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (GOOD | {"changed": CHANGED}, "has just started or applied the file"),
        (GOOD | {"digest": "b" * 64}, "another one than the one in force"),
        (DEGRADED | {"applied_digest": "b" * 64}, "worker-0.yml: mtu is 1500"),
        (COMPARED | {"ready": False, "stage": "nodeip"}, "the stage nodeip is not over"),
        ({key: value for key, value in GOOD.items() if key != "compared"}, "nodenetd looks twice a minute"),
    ],
    ids=["not yet", "another file", "refused", "not ready", "an earlier version"],
)
def test_a_network_that_is_not_compared_is_not_said_to_be_as_the_file_asks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], document: dict[str, object], reason: str
) -> None:
    """The exit code is neither 0 nor 1, and the reason is printed."""
    state = tmp_path / "state.json"
    state.write_text(json.dumps(document))
    assert main(["verify", "--file", str(state)]) == 69
    printed = capsys.readouterr()
    assert printed.out == ""
    assert reason in printed.err


def test_without_a_daemon_nothing_is_known(tmp_path: Path) -> None:
    assert main(["verify", "--file", str(tmp_path / "state.json")]) == 69
