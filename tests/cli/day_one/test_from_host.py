"""`nodenetctl day-one from-host STATE`: golden files for states of the lab's nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from nodenet.cli.main import main

STATES = sorted((Path(__file__).parents[3] / "fixtures" / "day_one" / "states").glob("*.json"))


@pytest.mark.parametrize("path", STATES, ids=lambda path: path.stem)
def test_the_node_file_of_a_saved_state(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing that the file cannot express is reported, and the file breaks no rule of the second step."""
    assert main(["day-one", "from-host", str(path)]) == 0
    said = capsys.readouterr()
    assert said.out == path.with_suffix(".yml").read_text()
    assert said.err == ""
    assert main(["day-one", "check", str(path.with_suffix(".yml")), "--step", "second"]) == 0


def test_what_is_no_state_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.json"
    path.write_text("[1")
    assert main(["day-one", "from-host", str(path)]) == 65
    path.write_text("{}")
    assert main(["day-one", "from-host", str(path)]) == 65
    assert capsys.readouterr().err.endswith(
        "not a state of NMState: it has no list of interfaces with names. Correct it and run the command again\n"
    )
