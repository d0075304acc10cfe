"""`nodenetctl try`: bad input, who started it, and what is printed until it has ended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.test_main import nodenetctl
from nodenet.cli.main import main
from nodenet.cli.try_file import Shown, refuse_beside, who
from nodenet.core.errors import Busy
from nodenet.core.trial.trial import APPLY_IT, not_applied
from status_cases import GOOD
from unprivileged import unprivileged

TRIAL = {
    "node_file": "new.yml",
    "digest": "d" * 64,
    "who": "root on pts/0 (process 7)",
    "state": "holding",
    "until": 160.0,
    "cause": None,
    "installed": None,
    "edited": None,
}


@pytest.mark.parametrize("time", ["0", "4", "2h", "1e9", "soon", "-5", ""])
def test_a_time_that_is_not_possible_is_wrong_usage(tmp_path: Path, time: str) -> None:
    """Before the file is looked at."""
    done = nodenetctl("try", str(tmp_path / "none.yml"), f"--for={time}")
    assert (done.returncode, done.stdout) == (64, "")
    assert "is not possible. Give a time between 5 s and 3600 s" in done.stderr or "not a valid number" in done.stderr


def test_only_root_may_try_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    with unprivileged():
        assert main(["try", "new.yml"]) == 77
    assert capsys.readouterr().err == "nodenetctl: only root may try a node file. Run it with sudo\n"


def test_a_second_trial_is_refused_before_anything_is_printed() -> None:
    """One that has ended, or whose nodenetd is gone, refuses nothing."""
    with pytest.raises(Busy, match=r"a trial of new\.yml holds the network; root on pts/0 \(process 7\) started it"):
        refuse_beside(GOOD | {"trial": TRIAL})
    refuse_beside(GOOD | {"trial": TRIAL | {"state": "confirmed"}})
    refuse_beside(GOOD | {"trial": TRIAL, "running": {"age": 3}})
    refuse_beside(GOOD)
    refuse_beside(None)


def test_who_started_it_is_one_line() -> None:
    assert "(process " in who()
    assert who().isprintable()


def test_without_a_terminal_a_line_comes_every_half_minute(capsys: pytest.CaptureFixture[str]) -> None:
    shown = Shown(as_json=False, terminal=False)
    for left in (95, 95, 94, 90, 61, 60, 60, 1):
        shown.holds(TRIAL, left)
    shown.ended(TRIAL | {"state": "confirmed", "installed": "/etc/nmstate/openshift/worker-0.yml"})
    assert capsys.readouterr().out.splitlines() == [
        *(f"Applied. Rolled back in {left} s unless you run `nodenetctl confirm`" for left in (95, 90, 60)),
        "Confirmed; installed as /etc/nmstate/openshift/worker-0.yml",
    ]


def test_a_terminal_has_a_countdown_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    shown = Shown(as_json=False, terminal=True)
    for left in (95, 95, 94):
        shown.holds(TRIAL, left)
    shown.ended(TRIAL | {"state": "confirmed", "installed": "/etc/nmstate/openshift/worker-0.yml"})
    assert capsys.readouterr().out == (
        "\rApplied. Rolled back in   95 s unless you run `nodenetctl confirm` "
        "\rApplied. Rolled back in   94 s unless you run `nodenetctl confirm` "
        "\nConfirmed; installed as /etc/nmstate/openshift/worker-0.yml\n"
    )


def test_an_end_without_a_confirmation_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    Shown(as_json=False, terminal=False).ended(
        TRIAL | {"state": "rolled-back", "cause": "its time is over, and it was not confirmed"}
    )
    said = capsys.readouterr()
    assert (said.out, said.err) == (
        "",
        "nodenetctl: the trial has ended, the network is as before: its time is over, and it was not confirmed\n",
    )


def test_an_edit_meanwhile_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    Shown(as_json=False, terminal=False).ended(
        TRIAL | {"state": "rolled-back", "cause": "an administrator rolled it back", "edited": "worker-0.yml"}
    )
    assert capsys.readouterr().err.splitlines()[1:] == [f"nodenetctl: {not_applied('worker-0.yml')}. {APPLY_IT}"]


def test_a_failure_does_not_say_that_the_network_is_as_before(capsys: pytest.CaptureFixture[str]) -> None:
    Shown(as_json=False, terminal=False).ended(TRIAL | {"state": "failed", "cause": "NetworkManager does not answer"})
    assert capsys.readouterr().err == "nodenetctl: the trial has failed: NetworkManager does not answer\n"


def test_programs_get_a_document_for_each_event(capsys: pytest.CaptureFixture[str]) -> None:
    shown = Shown(as_json=True, terminal=True)
    shown.preview({"changes": []}, "text")
    shown.holds(TRIAL, 60)
    shown.ended(TRIAL | {"state": "confirmed"})
    events: list[dict[str, Any]] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [event["event"] for event in events] == ["changes", "holding", "ended"]
    assert (events[1]["seconds_left"], events[2]["state"]) == (60, "confirmed")
