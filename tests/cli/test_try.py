"""`nodenetctl try`: bad input, who started it, and what is printed until it has ended."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from cli.test_ask import MINE, OTHER, TRIAL, Reports
from cli.test_main import nodenetctl
from cli.test_reselect import CAUSE, daemon
from edge.private_bus import PrivateBus, private_bus
from nodenet.cli.main import main
from nodenet.cli.try_file import NOT_REPORTED, Shown, interrupted, refuse_beside, who
from nodenet.core.errors import Busy, NodenetError, StageFailed, Unavailable, UsageInvalid
from nodenet.core.trial.trial import APPLY_IT, ONCE_APPLIED, not_applied
from status_cases import GOOD
from unprivileged import unprivileged

__all__ = ["private_bus"]
ROLLED_BACK = {"state": "rolled-back", "until": None, "cause": "an administrator rolled it back"}
FAILED = {"state": "failed", "until": None, "cause": "the gateway is silent"}
ENDED = "nodenetctl: the trial has ended, the network is as before: an administrator rolled it back\n"


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


@pytest.mark.parametrize(
    "name", ["n\udcff.yml", "new\n.yml", "a\x1b[2J.yml"], ids=["not UTF-8", "two lines", "an escape sequence"]
)
def test_a_name_that_cannot_be_shown_is_refused_before_the_preview(tmp_path: Path, name: str) -> None:
    """The status shows the name to every administrator. The error has a remedy, and there is no traceback."""
    (tmp_path / name).write_text("# later\n")
    done = nodenetctl("try", str(tmp_path / name))
    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr == (
        f"nodenetctl: a file on trial cannot have the name {name!a}: wherever the trial is shown, so is the name. "
        "Try a copy of it whose name has printable UTF-8 characters only\n"
    )


@pytest.fixture
def bus(private_bus: PrivateBus, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a bus that is the system bus of this test."""
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", private_bus.address)
    return private_bus.address


@pytest.mark.parametrize(
    ("reported", "end"),
    [
        (OTHER, {"state": "failed", "until": None, "cause": "the cause"}),
        (TRIAL | FAILED | {"edited": "worker-0.yml"}, FAILED | {"edited": "worker-0.yml"}),
    ],
    ids=["another trial", "an edit"],
)
async def test_a_trial_that_fails_before_it_holds_has_an_end(
    bus: str, capsys: pytest.CaptureFixture[str], reported: dict[str, Any], end: dict[str, Any]
) -> None:
    """For programs. People get the error alone, and what is known of an edit."""

    def fails(*, as_json: bool) -> None:
        with Shown(as_json=as_json, terminal=False).an_end_of(MINE):
            raise StageFailed("the cause", remedy="Correct it")

    async with daemon(bus, documents=Reports(reported, first=reported)):
        with pytest.raises(StageFailed):
            await asyncio.to_thread(fails, as_json=True)
        said = capsys.readouterr()
        assert (json.loads(said.out), said.err) == ({"event": "ended", **TRIAL, **end}, "")
        with pytest.raises(StageFailed):
            await asyncio.to_thread(fails, as_json=False)
    said = capsys.readouterr()
    edited = f"nodenetctl: {not_applied('worker-0.yml')}. {APPLY_IT}\n" if "edited" in end else ""
    assert (said.out, said.err) == ("", edited)


async def test_a_nodenetd_that_is_gone_leaves_an_end(bus: str, capsys: pytest.CaptureFixture[str]) -> None:
    def fails() -> None:
        with Shown(as_json=True, terminal=False).an_end_of(MINE):
            raise Unavailable(f"{bus} went away")

    with pytest.raises(Unavailable):
        await asyncio.to_thread(fails)
    assert json.loads(capsys.readouterr().out)["cause"] == f"{bus} went away"


async def ctrl_c(
    bus: str, reports: Reports, error: type[NodenetError] | None = None, *, as_json: bool = True
) -> tuple[int | NodenetError, list[Any]]:
    """Interrupt the trial MINE; return the exit code or the error, and the orders that came. *error* refuses them."""
    code: int | NodenetError
    shown = Shown(as_json=as_json, terminal=False)
    async with daemon(bus, documents=reports, refuses=error is not None, error=error or StageFailed) as calls:
        try:
            code = await asyncio.to_thread(interrupted, MINE, shown)
        except NodenetError as raised:
            code = raised
    return code, [each for each in calls if each[0] != "GetStatus"]


async def test_ctrl_c_rolls_the_trial_back_and_prints_its_end(bus: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With the edit of the node's own file that it found."""
    end = ROLLED_BACK | {"edited": "worker-0.yml"}
    assert await ctrl_c(bus, Reports(end)) == (1, [("RollBackTrial", ["d" * 64])])
    assert json.loads(capsys.readouterr().out) == {"event": "ended", **TRIAL, **end}
    assert (await ctrl_c(bus, Reports(end), as_json=False))[0] == 1
    assert capsys.readouterr().err == f"{ENDED}nodenetctl: {not_applied('worker-0.yml')}. {APPLY_IT}\n"


async def test_ctrl_c_while_the_file_is_applied_says_what_it_waits_for(
    bus: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (await ctrl_c(bus, Reports(ROLLED_BACK, first={"state": "applying"}), as_json=False))[0] == 1
    assert capsys.readouterr().err == f"nodenetctl: {ONCE_APPLIED}\n{ENDED}"


async def test_ctrl_c_does_not_end_the_trial_of_another_program(bus: str, capsys: pytest.CaptureFixture[str]) -> None:
    """This one was stopped with Ctrl-Z, and its own trial is long over. The other one may be of the same file."""
    raised, calls = await ctrl_c(bus, Reports(first=OTHER))
    assert (isinstance(raised, Unavailable), calls) == (True, [])
    assert str(raised).startswith("the trial is over, and another one, of new.yml, has begun since")
    raised, _ = await ctrl_c(bus, Reports(OTHER, first={"state": "confirmed"}), UsageInvalid)  # it begins just then
    assert isinstance(raised, Unavailable)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("end", "code"),
    [({"state": "confirmed", "installed": "/etc/w.yml"}, 0), (ROLLED_BACK | {"cause": "its time is over"}, 1)],
)
async def test_ctrl_c_after_the_end_prints_how_it_ended(
    bus: str, capsys: pytest.CaptureFixture[str], end: dict[str, Any], code: int
) -> None:
    assert (await ctrl_c(bus, Reports(end, first=end), UsageInvalid))[0] == code
    assert json.loads(capsys.readouterr().out) == {"event": "ended", **TRIAL, **end}


async def test_ctrl_c_before_the_trial_begins_is_no_rollback(bus: str, capsys: pytest.CaptureFixture[str]) -> None:
    last = OTHER | {"state": "confirmed"}
    assert (await ctrl_c(bus, Reports(last, first=last), UsageInvalid))[0] == 1
    end = {"state": "failed", "until": None, "cause": NOT_REPORTED}
    assert json.loads(capsys.readouterr().out) == {"event": "ended", **TRIAL, **end}


async def test_a_rollback_that_fails_is_the_answer_to_ctrl_c(bus: str) -> None:
    raised, calls = await ctrl_c(bus, Reports({}), StageFailed)
    assert (str(raised), len(calls)) == (CAUSE, 1)
