"""What do `nodenetctl adopt` and `nodenetctl hand-back` have in common? Plan, print, carry out, report."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from nodenet.cli.adoption import gather, run
from nodenet.cli.adoption.effects import Effects
from nodenet.cli.outputs import note
from nodenet.core.adoption.facts import AdoptionFacts
from nodenet.core.adoption.record import AdoptionRecord
from nodenet.core.adoption.steps import Step
from nodenet.core.messages import Message
from nodenet.core.value import frozen
from nodenet.edge.clock import boot_id


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
    with run.alone():
        here, left = boot_id(), run.stored()
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
        run.store(None)
    return 0


def _facts(verb: Verb) -> AdoptionFacts:
    plain = gather.facts(with_bridges=False)
    return gather.facts() if verb.with_bridges(plain) else plain


def _carry_out(verb: Verb, facts: AdoptionFacts, steps: tuple[Step, ...], record: AdoptionRecord) -> None:
    effects = Effects(gather.before())
    try:
        with run.interruptible():
            run.carry_out(steps, effects, record, run.store, _say)
    except run.Undone as error:
        run.log(Message.ADOPTION_UNDONE, f"nodenetctl {verb.name}: {error.cause}", remedy=error.remedy)
        raise
    text = verb.done(facts, steps)
    run.log(verb.message, text)
    print(text)


def _say(number: int, step: Step, undoing: bool) -> None:  # noqa: FBT001  (one caller)
    with suppress(OSError):  # without a reader the steps are done, or undone, all the same
        print(f"undoing {number + 1}: {step.text}" if undoing else f"step {number + 1} ...", flush=True)
