"""How are the steps carried out one after the other, with a record on disk, and undone when one of them fails?"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Protocol

from nodenet.cli.adoption import gather
from nodenet.cli.adoption.effects import Effects
from nodenet.cli.outputs import note, printable
from nodenet.core.adoption import former_chain
from nodenet.core.adoption.former_chain import AdoptionRecord
from nodenet.core.adoption.steps import AdoptionFacts, Ended, Event, Step, walk
from nodenet.core.errors import AccessDenied, Busy, NodenetError, PublishFailed, StageFailed
from nodenet.core.messages import Message
from nodenet.core.value import frozen
from nodenet.edge.adoption import LOCK
from nodenet.edge.clock import boot_id
from nodenet.edge.files import disk
from nodenet.edge.systemd.journal import Journal

PRIVATE = 0o600
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(NodenetError):
    """The command got a signal that ends it."""

    exit_code = 130


class Undone(NodenetError):
    """A step failed, and the ones before it were undone."""

    exit_code = 1


class Doer(Protocol):
    """Carries one step out."""

    def do(self, step: Step) -> None:
        """Carry *step* out. Raises NodenetError."""


def carry_out(
    steps: Sequence[Step],
    doer: Doer,
    record: AdoptionRecord,
    keep: Callable[[AdoptionRecord | None], None],
    say: Callable[[int, Step, bool], None],
) -> None:
    """Carry all *steps* out, or none: raises Undone when one fails, which names what could not be undone.

    *keep* stores the record before each step, None when there is nothing to remember any more.
    """
    walking = walk(steps)
    answer: NodenetError | None = None
    while True:
        try:
            event, number, step = walking.send(answer)
        except StopIteration as end:
            ended: Ended = end.value
            break
        answer = _one(event, number, step, doer, record, keep, say)
    if ended.error is None:
        keep(None)
        return
    if not ended.left:
        with contextlib.suppress(
            NodenetError
        ):  # a record that stays is mentioned by the next command, which removes it
            keep(None)
    raise _undone(ended)


def _one(  # noqa: PLR0913  (what a step is carried out with)
    event: Event,
    number: int,
    step: Step,
    doer: Doer,
    record: AdoptionRecord,
    keep: Callable[[AdoptionRecord | None], None],
    say: Callable[[int, Step, bool], None],
) -> NodenetError | None:
    """Carry one step out or undo it; return the error that stopped it."""
    undoing = event is Event.UNDO
    try:
        say(number, step, undoing)
        try:
            keep(replace(record, done=number, undoing=undoing))
        except PublishFailed:
            if not undoing:  # on a disk that is full, what was done is undone all the same
                raise
        with _signals(arrive=not undoing):
            doer.do(step)
    except NodenetError as error:
        return error
    except Exception as error:  # noqa: BLE001  (whatever stopped it, the steps before it are undone)
        return StageFailed(f"{type(error).__name__}: {error}")
    return None


def _undone(ended: Ended) -> Undone:
    cause, remedy = (ended.error.cause, ended.error.remedy) if ended.error else ("", "")
    if not ended.left:
        return Undone(f"{cause}; every step was undone", remedy=remedy)
    lost = "; ".join(f"{back.text} ({trouble.cause})" for back, trouble in ended.left)
    return Undone(f"{cause}. NOT undone: {lost}", remedy=remedy)


def store(record: AdoptionRecord | None) -> None:
    """Write the record, or remove it. Raises PublishFailed."""
    if record is None:
        disk.remove(former_chain.PATH)
    else:
        disk.write(former_chain.PATH, former_chain.render(record), PRIVATE)


def stored() -> AdoptionRecord | None:
    """Return the record of a run that never ended. Raises PublishFailed; one that cannot be read is removed."""
    content = disk.read(former_chain.PATH)
    if not content:
        return None
    try:
        return former_chain.parse(content)
    except ValueError as error:
        note(f"nodenetctl: {former_chain.PATH} cannot be read ({error}); it is removed")
        disk.remove(former_chain.PATH)
        return None


def log(message: Message, text: str, **fields: str) -> None:
    """Write one entry to the journal."""
    level = "error" if message is Message.ADOPTION_FAILED else "info"
    Journal("nodenetctl").write(level, {"event": printable(text), "message": message, **fields})


@contextlib.contextmanager
def alone(path: Path = LOCK) -> Iterator[None]:
    """Be the only adoption of this node, by a lock on *path*. Raises AccessDenied, Busy, PublishFailed."""
    if os.geteuid() != 0:
        raise AccessDenied("only root may do this", remedy="Run it with sudo")
    disk.make_directory(path.parent)
    # For root only: flock(2) needs no right to write, and another user could keep the node from being handed back.
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE), "w") as lock:
        os.fchmod(lock.fileno(), PRIVATE)  # an earlier release made it for all
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Busy("another `nodenetctl adopt` or `hand-back` runs", remedy="Wait until it has ended") from error
        yield


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let signals that end a command arrive only while a step is done, as Interrupted; undoing is not interrupted."""

    def interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001  (signal.signal gives both)
        if number in signal.pthread_sigmask(signal.SIG_BLOCK, ()):  # another thread got it, whose mask is not this one
            signal.raise_signal(signal.Signals(number))
            return
        raise Interrupted(f"interrupted by {signal.Signals(number).name}")

    before = {number: signal.signal(number, interrupt) for number in SIGNALS}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        while signal.sigtimedwait(SIGNALS, 0):
            pass  # what came while the steps were undone has had its effect
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


@contextlib.contextmanager
def _signals(*, arrive: bool) -> Iterator[None]:
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        # One that has waited arrives here: what it undoes must not be interrupted by the next one.
        signal.pthread_sigmask(signal.SIG_UNBLOCK if arrive else signal.SIG_BLOCK, SIGNALS)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


# What do `nodenetctl adopt` and `nodenetctl hand-back` have in common? Plan, print, carry out, report.


@frozen
class Verb:
    """One of the two: its *name*, its *plan*, the event and the sentence at its end, and the one without any steps."""

    name: str
    plan: Callable[[AdoptionFacts], tuple[Step, ...]]
    message: Message
    done: Callable[[AdoptionFacts, tuple[Step, ...]], str]
    nothing: str
    with_bridges: Callable[[AdoptionFacts], bool] = lambda _: True


def change(verb: Verb, *, dry_run: bool) -> int:
    """Bring the node to where *verb* leads; with *dry_run* only print how. Raises NodenetError."""
    with alone():
        here, left = boot_id(), stored()
        if left is not None:
            problem = left.interrupted(marker=gather.marked(), same_boot=left.boot_id == here)
            note(f"nodenetctl: {problem.cause}. {problem.remedy}")
        facts = _facts(verb)
        steps = verb.plan(facts)
        for number, step in enumerate(steps, 1):
            print(f"{number}. {step.text}", flush=True)
        if not steps:
            print(verb.nothing)
        if dry_run:
            return 0
        if steps:
            _carry_out(verb, facts, steps, AdoptionRecord(verb.name, here, tuple(map(str, steps))))
        store(None)
    return 0


def _facts(verb: Verb) -> AdoptionFacts:
    plain = gather.facts(with_bridges=False)
    return gather.facts() if verb.with_bridges(plain) else plain


def _carry_out(verb: Verb, facts: AdoptionFacts, steps: tuple[Step, ...], record: AdoptionRecord) -> None:
    effects = Effects(gather.before())
    try:
        with interruptible():
            carry_out(steps, effects, record, store, _say)
    except Undone as error:
        log(Message.ADOPTION_FAILED, f"nodenetctl {verb.name}: {error.cause}", remedy=error.remedy)
        raise
    text = verb.done(facts, steps)
    log(verb.message, text)
    print(text)


def _say(number: int, step: Step, undoing: bool) -> None:  # noqa: FBT001  (one caller)
    with suppress(OSError):  # without a reader the steps are done, or undone, all the same
        print(f"undoing {number + 1}: {step.text}" if undoing else f"step {number + 1} ...", flush=True)
