"""What a unit that does a stage asks for, state by state."""

from __future__ import annotations

import pytest

from nodenet.core.boot.outcome import Problem, Waiting
from nodenet.core.unit_stage import Move, Unit, plan


def unit(active_state: str = "inactive", *, ran: bool = False, job: int | None = None, **other: object) -> Unit:
    values = {"name": "ovs-configuration.service", "id": "ovs-configuration.service", **other}
    return Unit(active_state=active_state, ran=ran, job=job, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "move"),
    [
        (unit(), Move.START),
        (unit(ran=True), Move.OVER),
        (unit(ran=True, oneshot=False), Move.START),
        (unit("active"), Move.OVER),
        (unit("reloading"), Move.OVER),
        (unit("failed", ran=True), Move.START),
    ],
    ids=["never-ran", "oneshot-that-ran", "service-that-was-stopped", "active", "reloading", "failed-by-itself"],
)
def test_a_unit_is_started_once_and_not_when_it_did_its_work(found: Unit, move: Move) -> None:
    """Whoever started it."""
    assert plan(found, None, tried=False) is move


@pytest.mark.parametrize("found", [unit(job=7), unit("activating", job=7), unit("activating"), unit("deactivating")])
@pytest.mark.parametrize("tried", [True, False])
def test_a_unit_on_its_way_is_waited_for_by_name_and_job(found: Unit, tried: bool) -> None:  # noqa: FBT001
    """A unit that hangs is seen."""
    wait = plan(found, None, tried=tried)
    assert isinstance(wait, Waiting)
    assert "ovs-configuration.service" in wait.reason
    assert ("job 7" in wait.reason) == (found.job == 7)


@pytest.mark.parametrize("tried", [True, False])
def test_a_job_that_waits_for_nodenetd_is_a_problem_and_no_wait(tried: bool) -> None:  # noqa: FBT001
    """The boot would wait for ever; without the unit nodenetd gets ready, and the job begins (R62)."""
    found = unit(job=7, behind=("kdump.service", "network-online.target", "nodenetd.service"))
    problem = plan(found, None, tried=tried)
    assert isinstance(problem, Problem)
    assert problem.cause == (
        "ovs-configuration.service waits for kdump.service, which waits for network-online.target, "
        "which waits for nodenetd.service, which waits for this stage"
    )
    assert problem.remedy == (
        "Take kdump.service out of After= in ovs-configuration.service, or name another provider in the settings"
    )


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        ("failed", "failed (exit-code)"),
        ("timeout", "was not started in time"),
        ("canceled", "was cancelled"),
        ("dependency", "requires failed"),
    ],
)
def test_a_start_that_ended_badly_is_a_problem_that_names_the_unit(ended: str, words: str) -> None:
    """One cause line, and where to look."""
    problem = plan(unit(result="exit-code"), ended, tried=True)
    assert isinstance(problem, Problem)
    assert words in problem.cause
    assert "ovs-configuration.service" in problem.cause
    assert "journalctl -u ovs-configuration.service" in problem.remedy


@pytest.mark.parametrize(
    ("found", "ended", "move"),
    [
        (unit(ran=True), "done", Move.OVER),
        (unit(ran=True), "skipped", Move.OVER),
        (unit(ran=True, oneshot=False), "done", Move.OVER),
        (unit(condition=False), "done", Move.UNMET),
        (unit("active"), "failed", Move.OVER),
        (unit(ran=True), None, Move.OVER),
    ],
    ids=["done", "skipped", "short-service", "condition", "started-again-by-hand", "signal-lost"],
)
def test_a_start_that_ended_well_is_over(found: Unit, ended: str | None, move: Move) -> None:
    """By its job, or by its state where the signal was lost with the bus."""
    assert plan(found, ended, tried=True) is move


def test_a_unit_that_failed_without_a_word_is_a_problem() -> None:
    """The signal was lost."""
    assert isinstance(plan(unit("failed", ran=True), None, tried=True), Problem)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (unit(load_state="not-found"), "there is no ovs-configuration.service"),
        (unit(load_state="masked"), "masked"),
        (unit(load_state="bad-setting"), "cannot be loaded (bad-setting)"),
        (unit(id="nodenet-compat-ovs-configuration.service"), "itself waits for this stage"),
        (unit(after=frozenset({"nodenetd.service"})), "ordered after nodenetd.service"),
    ],
    ids=["not-found", "masked", "bad", "stand-in", "circle"],
)
def test_a_unit_that_can_never_be_started_is_not_started(found: Unit, words: str) -> None:
    """Nor waited for: its remedy is told."""
    problem = plan(found, None, tried=False)
    assert isinstance(problem, Problem)
    assert words in problem.cause
    assert problem.remedy
