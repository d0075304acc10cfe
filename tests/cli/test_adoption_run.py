"""Carrying steps out: all or none, with a record on disk of where it is."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from core.adoption.nodes import BEFORE, adopted
from nodenet.cli.adoption.run import Undone, alone, carry_out, interruptible
from nodenet.core.adoption import plan
from nodenet.core.adoption.former_chain import AdoptionRecord, parse, render
from nodenet.core.adoption.steps import Kind, Step
from nodenet.core.errors import Busy, PublishFailed, StageFailed

PLANS = [plan.adoption(BEFORE), plan.hand_back(adopted())]
EVERY_STEP = [(steps, number) for steps in PLANS for number in range(len(steps))]


class Killed(BaseException):
    """SIGKILL: nothing is cleaned up."""


@dataclass
class Node:
    """Carries steps out in memory; step *failing* and what undoes *stuck* fail, *killed* never ends."""

    failing: Kind | None = None
    stuck: Kind | None = None
    killed: Kind | None = None
    broken: Kind | None = None
    done: list[str] = field(default_factory=list)
    kept: list[AdoptionRecord | None] = field(default_factory=list)
    full: bool = False
    said: list[tuple[int, str, bool]] = field(default_factory=list)

    def do(self, step: Step) -> None:
        assert self.kept[-1] is not None, "the record is written first"
        if step.kind is self.killed:
            raise Killed
        self.done.append(str(step))
        if step.kind is self.failing and not self.kept[-1].undoing:
            raise StageFailed("it failed", remedy="Look")
        if step.kind is self.stuck and self.kept[-1].undoing:
            raise StageFailed("stuck")
        if step.kind is self.broken and not self.kept[-1].undoing:
            raise RuntimeError("a bug")

    def keep(self, record: AdoptionRecord | None) -> None:
        if self.full and record is not None and record.undoing:
            raise PublishFailed("the disk is full")
        self.kept.append(record and parse(render(record)))

    def say(self, number: int, step: Step, undoing: bool) -> None:  # noqa: FBT001  (as carry_out calls it)
        self.said.append((number, step.text, undoing))


def run(steps: tuple[Step, ...], node: Node) -> None:
    carry_out(steps, node, AdoptionRecord("adopt", "b" * 32, tuple(map(str, steps))), node.keep, node.say)


@pytest.mark.parametrize("steps", PLANS)
def test_each_step_is_done_once_and_nothing_is_remembered_at_the_end(steps: tuple[Step, ...]) -> None:
    node = Node()
    run(steps, node)
    assert node.done == [str(step) for step in steps]
    assert node.said == [(number, step.text, False) for number, step in enumerate(steps)]
    assert node.kept[-1] is None
    assert [record.done for record in node.kept if record] == list(range(len(steps)))


@pytest.mark.parametrize(("steps", "number"), EVERY_STEP, ids=lambda value: "" if isinstance(value, tuple) else value)
def test_when_a_step_fails_it_and_all_before_it_are_undone(steps: tuple[Step, ...], number: int) -> None:
    node = Node(failing=steps[number].kind)
    with pytest.raises(Undone) as failed:
        run(steps, node)
    backwards = [str(back) for step in steps[number::-1] if (back := step.undone)]
    assert node.done[number + 1 :] == backwards
    assert node.kept[-1] is None
    assert failed.value.cause == "it failed; every step was undone"
    assert failed.value.remedy == "Look"


@pytest.mark.parametrize(("steps", "number"), EVERY_STEP, ids=lambda value: "" if isinstance(value, tuple) else value)
def test_a_kill_leaves_the_record_of_the_step_that_had_begun(steps: tuple[Step, ...], number: int) -> None:
    node = Node(killed=steps[number].kind)
    with pytest.raises(Killed):
        run(steps, node)
    last = node.kept[-1]
    assert last is not None
    assert (last.done, last.undoing, last.steps) == (number, False, tuple(map(str, steps)))


def test_what_cannot_be_undone_is_named_and_remembered() -> None:
    node = Node(failing=Kind.NODENETD, stuck=Kind.MARKER)
    with pytest.raises(Undone) as failed:
        run(PLANS[0], node)
    assert failed.value.cause == (
        "it failed. NOT undone: Remove /etc/nodenet/adopted and adopted-bridges: the former chain configures this "
        "node from the next boot on (stuck)"
    )
    assert node.done[-1] == "drop-ins-"
    assert node.kept[-1] is not None


def test_a_disk_that_is_full_keeps_nothing_from_being_undone() -> None:
    node = Node(failing=Kind.NODENETD, full=True)
    with pytest.raises(Undone):
        run(PLANS[0], node)
    assert node.done[-1] == "drop-ins-"


@dataclass
class FullDisk(Node):
    """No record can be written from the step *number* on, nor while steps are undone."""

    number: int = 0

    def do(self, step: Step) -> None:
        self.done.append(str(step))

    def keep(self, record: AdoptionRecord | None) -> None:
        if record is not None and (record.undoing or record.done >= self.number):
            raise PublishFailed("the disk is full", remedy="Free space")
        self.kept.append(record)


@pytest.mark.parametrize(("steps", "number"), EVERY_STEP, ids=lambda value: "" if isinstance(value, tuple) else value)
def test_a_disk_that_fills_up_in_the_middle_gets_no_further_step(steps: tuple[Step, ...], number: int) -> None:
    """A step whose record cannot be written is not done; those before it are undone."""
    node = FullDisk(number=number)
    with pytest.raises(Undone) as failed:
        run(steps, node)
    forward = [str(step) for step in steps[:number]]
    assert node.done == [*forward, *(str(back) for step in steps[number::-1] if (back := step.undone))]
    assert node.kept[-1:] == [None]
    assert (failed.value.cause, failed.value.remedy) == ("the disk is full; every step was undone", "Free space")


def test_an_error_that_nobody_foresaw_undoes_the_steps_too() -> None:
    node = Node(broken=Kind.MARKER)
    with pytest.raises(Undone, match="RuntimeError: a bug; every step was undone"):
        run(PLANS[0], node)
    assert node.done[-1] == "drop-ins-"


Sender = Callable[[], contextlib.AbstractContextManager[Callable[[], None]]]


@dataclass
class Signalled(Node):
    """Gets a signal while each step is done or undone."""

    send: Callable[[], None] = lambda: None

    def do(self, step: Step) -> None:
        super().do(step)
        self.send()


@contextlib.contextmanager
def in_this_thread() -> Iterator[Callable[[], None]]:
    """Yield what sends SIGTERM to this thread."""
    yield partial(signal.raise_signal, signal.SIGTERM)


@contextlib.contextmanager
def in_another_thread() -> Iterator[Callable[[], None]]:
    """Yield what sends SIGTERM to another thread; Python runs the handler in the main thread all the same."""
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()

    def send() -> None:
        assert thread.ident is not None
        signal.pthread_kill(thread.ident, signal.SIGTERM)
        for _ in range(20):  # the handler runs between two of these
            time.sleep(0.01)

    try:
        yield send
    finally:
        ended.set()
        thread.join()


@pytest.mark.parametrize("sender", [in_this_thread, in_another_thread])
def test_a_signal_undoes_the_steps_and_undoing_is_not_interrupted(sender: Sender) -> None:
    before = signal.getsignal(signal.SIGTERM)
    undone = pytest.raises(Undone, match=r"^interrupted by SIGTERM; every step was undone$")
    with sender() as send, undone, interruptible():
        run(PLANS[0][1:], node := Signalled(send=send))
    assert node.done == ["enabled+", "enabled-"]
    assert signal.getsignal(signal.SIGTERM) == before
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []).isdisjoint({signal.SIGTERM, signal.SIGHUP, signal.SIGINT})


@dataclass
class Impatient(Signalled):
    """Gets the signal before each step is done or undone: Ctrl-C that is held down."""

    def say(self, number: int, step: Step, undoing: bool) -> None:  # noqa: FBT001  (as carry_out calls it)
        super().say(number, step, undoing)
        self.send()


def test_a_signal_that_waits_for_a_step_does_not_let_the_next_one_interrupt_undoing() -> None:
    undone = pytest.raises(Undone, match=r"^interrupted by SIGTERM; every step was undone$")
    send = partial(signal.raise_signal, signal.SIGTERM)
    with undone, interruptible():
        run(PLANS[0][1:], node := Impatient(send=send))
    assert node.done == ["enabled-"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root adopts a node")
def test_one_adoption_runs_at_a_time_and_no_other_user_can_take_its_lock(tmp_path: Path) -> None:
    """flock(2) needs a descriptor that reads, no more."""
    lock = tmp_path / "adoption.lock"
    lock.touch(0o644)
    with alone(lock):
        assert lock.stat().st_mode & 0o777 == 0o600
        with pytest.raises(Busy), alone(lock):
            pytest.fail("two of them run")
    with alone(lock):
        pass
