"""Statuses, and the times of a stage."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nodenet.core.boot.outcome import Done, Facts, Failed, Problem, Skipped, Waiting
from nodenet.core.boot.stage_state import TRANSITIONS, Status
from nodenet.core.boot.stages import new_boot
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
