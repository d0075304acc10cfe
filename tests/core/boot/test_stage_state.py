"""Where does a stage stand: its status, its times, who asked for it, and who inhibits it?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from nodenet.core.boot.outcome import Done, Facts, Failed, Problem, Skipped, Topic, Waiting
from nodenet.core.boot.stage_state import (
    BURST,
    FRESH,
    LONGEST_SECONDS,
    MAX_INHIBITORS,
    TRANSITIONS,
    WINDOW_SECONDS,
    Inhibitor,
    Status,
    inhibited,
    with_inhibitor,
    without_inhibitor,
)
from nodenet.core.boot.stages import new_boot
from nodenet.core.errors import Busy, UsageInvalid
from nodenet.core.messages import Message
from nodenet.core.stage_name import StageName

DONE = Done("done", Facts(), Message.STARTED)
WAITING = Waiting("something")


@pytest.mark.parametrize("status", [Status.DONE, Status.SKIPPED, Status.FAILED, Status.RUNNING])
def test_only_a_pending_or_waiting_stage_begins(status: Status) -> None:
    """A pair that is not in the table is a mistake of the program, and is told; a second look begins nothing."""
    assert (status, None) not in TRANSITIONS


def test_the_time_a_stage_waits_is_told_apart() -> None:
    """From each end of an attempt that has to wait to the beginning of the next."""
    name = StageName.HOSTNAME
    boot = new_boot({}, degrade=True)
    for begun, told, outcome in ((1.0, 1.5, WAITING), (4.0, 4.25, WAITING), (5.25, 6.0, DONE)):
        boot = boot.begun(name, begun).after(name, outcome, told)
    stage = boot[name]
    assert (stage.started, stage.ended, stage.waited) == (1.0, 6.0, 3.5)


def test_a_stage_that_runs_shows_no_reason_to_wait() -> None:
    """The reason was that of its last attempt; it is kept to know whether the next is another."""
    name = StageName.HOSTNAME
    waiting = new_boot({}, degrade=True).begun(name, 1.0).after(name, WAITING, 1.5)
    running = waiting.begun(name, 2.0)[name]
    assert (waiting[name].detail, running.detail, running.waited_for) == ("something", "", "something")


def test_the_time_in_which_others_work_is_that_of_all_attempts() -> None:
    """Until the stage is over: a second look changes none of its times."""
    name = StageName.HOSTNAME
    boot = new_boot({}, degrade=True).begun(name, 1.0).after(name, WAITING, 2.0, 0.25)
    boot = boot.begun(name, 3.0).after(name, DONE, 4.0, 0.5)
    assert boot[name].elsewhere == 0.75
    assert boot.after(name, DONE, 9.0, 1.0)[name].elsewhere == 0.75


S, EVENTS = Status, {"begins": None, "Done": Done, "Skipped": Skipped, "Waiting": Waiting, "Failed": Failed}
TABLE = {
    # status:    begins     Done    Skipped    Waiting    Failed; None: a mistake of the program
    S.PENDING: (S.RUNNING, None, None, None, None),
    S.WAITING: (S.RUNNING, None, None, None, None),
    S.RUNNING: (None, S.DONE, S.SKIPPED, S.WAITING, S.FAILED),
    S.DONE: (None, S.DONE, S.SKIPPED, S.DONE, S.FAILED),
    S.SKIPPED: (None, S.DONE, S.SKIPPED, S.SKIPPED, S.FAILED),
    S.FAILED: (None, S.DONE, S.SKIPPED, S.FAILED, S.FAILED),
}


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("status", Status)
def test_every_event_in_every_status_is_decided(status: Status, event: str) -> None:
    """All thirty pairs: where each leads, or that it cannot be."""
    assert TRANSITIONS.get((status, EVENTS[event])) is TABLE[status][tuple(EVENTS).index(event)]
    assert len(TABLE) == len(Status)


def test_a_problem_that_stays_is_known_when_the_node_ips_are_published_again() -> None:
    """So its line in the journal is not repeated with each try; once it is gone, it is forgotten."""
    name, problem = StageName.NODEIP, Problem(Message.PUBLISH_FAILED, "a file cannot be written", "")
    boot = new_boot({}, degrade=True).begun(name, 1.0).after(name, replace(DONE, problem=problem), 2.0)
    boot = boot.put_off(name, "not yet", 3.0, 1.0).begun(name, 4.0).after(name, WAITING, 5.0)
    assert (boot[name].problem, boot[name].logged) == (None, problem)
    assert boot.begun(name, 6.0).after(name, DONE, 7.0)[name].logged is None


def test_a_failure_makes_a_stage_deaf_to_events_for_longer_each_time() -> None:
    """An apply that fails wakes NetworkManager's listeners, itself among them (R7)."""
    pace, waits = FRESH, []
    now = 100.0
    for _ in range(12):
        pace = pace.after(now, failed=True)
        waits.append(pace.wakes(now) - now)
        now = pace.wakes(now)
    assert waits[:5] == [10.0, 20.0, 40.0, 80.0, 160.0]
    assert waits[-1] == LONGEST_SECONDS
    assert pace.after(now, failed=None).failures == 12
    assert pace.after(now, failed=False).wakes(now) == now


def test_a_few_attempts_in_a_second_are_answers_and_more_are_a_spin() -> None:
    """Then the stage rests until the second is over (R9)."""
    pace = FRESH
    for number in range(BURST - 1):
        pace = pace.after(5.0 + number / 100, failed=False)
        assert pace.wakes(5.5) == 5.5
    pace = pace.after(5.5, failed=None)
    assert pace.wakes(5.6) == pace.rests_until == 5.0 + WINDOW_SECONDS
    assert pace.after(6.0, failed=False).wakes(6.1) == 6.1


BOOT = new_boot({}, degrade=True)
PENDING = BOOT[StageName.NMSTATE]
HOLD = Inhibitor(StageName.NMSTATE, "backup", "copies the disk", 1)


def test_a_held_stage_waits_and_names_the_holder() -> None:
    """Who and why, and how many beside."""
    second = Inhibitor(StageName.NMSTATE, "admin", "looks", 2)
    inhibitors = with_inhibitor(with_inhibitor((), HOLD, PENDING), second, PENDING)
    wait = inhibited(inhibitors, StageName.NMSTATE)
    assert wait is not None
    assert wait.reason == "inhibited by backup: copies the disk (and 1 more)"
    assert wait.topics == {Topic.INHIBITOR}
    assert inhibited(inhibitors, StageName.NODEIP) is None
    assert inhibited(without_inhibitor(without_inhibitor(inhibitors, HOLD), second), StageName.NMSTATE) is None


def test_two_holds_with_the_same_words_are_two() -> None:
    """One that ends leaves the other."""
    twin = Inhibitor(HOLD.stage, HOLD.who, HOLD.why, 2)
    assert without_inhibitor((HOLD, twin), HOLD) == (twin,)


def test_a_stage_that_runs_cannot_be_held() -> None:
    """The caller gets an answer, and may ask again."""
    with pytest.raises(Busy, match="nmstate runs already"):
        with_inhibitor((), HOLD, PENDING.begun(1.0))


def test_holds_are_bounded() -> None:
    """A program that leaks them gets an error."""
    with pytest.raises(Busy, match=f"{MAX_INHIBITORS} inhibitors are taken"):
        with_inhibitor((HOLD,) * MAX_INHIBITORS, HOLD, PENDING)


@pytest.mark.parametrize(("who", "why"), [("", "x"), (" ", "x"), ("x", ""), ("x\ny", "x"), ("x", "\x1b[31m")])
def test_words_that_nobody_can_read_are_refused(who: str, why: str) -> None:
    """They go to a terminal and to the journal."""
    with pytest.raises(UsageInvalid, match="is not one line of text"):
        with_inhibitor((), Inhibitor(StageName.NMSTATE, who, why, 1), PENDING)
