"""Steps are done in their order, and undone from the one that failed back to the first."""

from __future__ import annotations

import pytest

from nodenet.core.adoption import steps as adoption_steps
from nodenet.core.adoption.former_chain import MARKER
from nodenet.core.adoption.steps import (
    Ended,
    Event,
    Kind,
    Step,
    bridge_in_memory,
    bridge_saved,
    drop_ins_removed,
    drop_ins_written,
    listed,
    walk,
)
from nodenet.core.errors import StageFailed

STEPS = (
    Step(Kind.DROP_INS, forward=True, text="write", back_text="remove"),
    Step(Kind.OLD_RECORD, forward=True, text="forget"),
    Step(Kind.MARKER, forward=True, text="mark", back_text="unmark"),
)


def run(failing: dict[str, StageFailed]) -> tuple[list[tuple[Event, int, str]], Ended]:
    """Walk; a step whose text is in *failing* fails."""
    seen: list[tuple[Event, int, str]] = []
    walking = walk(STEPS)
    answer = None
    while True:
        try:
            event, number, step = walking.send(answer)
        except StopIteration as end:
            return seen, end.value
        seen.append((event, number, step.text))
        answer = failing.get(step.text)


def test_all_are_done_in_their_order() -> None:
    seen, ended = run({})
    assert seen == [(Event.DO, number, step.text) for number, step in enumerate(STEPS)]
    assert ended == Ended()


@pytest.mark.parametrize(
    ("text", "undone"), [("write", ["remove"]), ("forget", ["remove"]), ("mark", ["unmark", "remove"])]
)
def test_the_step_that_failed_is_undone_too(text: str, undone: list[str]) -> None:
    error = StageFailed("no")
    seen, ended = run({text: error})
    assert [word for event, _, word in seen if event is Event.UNDO] == undone
    assert (ended.error, ended.step and ended.step.text, ended.left) == (error, text, ())


def test_undoing_goes_on_behind_a_step_that_cannot_be_undone() -> None:
    first, second = StageFailed("one"), StageFailed("two")
    seen, ended = run({"mark": first, "unmark": second})
    assert seen[-1] == (Event.UNDO, 0, "remove")
    assert [(back.text, error) for back, error in ended.left] == [("unmark", second)]


def test_a_step_undoes_what_undoes_it() -> None:
    back = STEPS[0].undone
    assert back is not None
    assert (str(STEPS[0]), str(back)) == ("drop-ins+", "drop-ins-")
    assert back.undone == STEPS[0]
    assert STEPS[1].undone is None


# The sentences that an administrator reads before each step.


def test_names_are_listed_as_in_a_sentence() -> None:
    assert [listed(names) for names in (("a",), ("a", "b"), ("a", "b", "c"))] == ["a", "a and b", "a, b and c"]


def test_the_drop_ins_are_explained() -> None:
    units = ("nodeip-configuration.service", "ovs-configuration.service")
    text = (
        f"Write drop-ins that let nodeip-configuration.service and ovs-configuration.service start only while {MARKER} "
        "does not exist, and nodenetd.service and nodenet-ready.service only while it does, and a copy of "
        "nodenet-ready.service for the case that nodenet gets lost"
    )
    assert drop_ins_written(units, adopted=False).text == f"{text}; they have no effect yet"
    again = drop_ins_written(units, adopted=True)
    assert again.text == f"{text}; some of them are missing, or from another version"
    assert again.undone is None


def test_the_drop_ins_are_explained_where_the_units_of_the_former_chain_are_gone() -> None:
    assert drop_ins_written((), adopted=True).text == (
        f"Write drop-ins that let nodenetd.service and nodenet-ready.service start only while {MARKER} exists, and a "
        "copy of nodenet-ready.service for the case that nodenet gets lost; some of them are missing, or from another "
        "version"
    )


def test_what_undoes_a_step_is_the_step_the_other_way() -> None:
    steps = [step for step in vars(adoption_steps).values() if isinstance(step, Step)]
    steps += [bridge_saved(("br-ex",)), bridge_in_memory(("br-ex",)), drop_ins_removed(("a",))]
    for step in steps:
        back = step.undone
        assert back is None or (back.kind, back.names, back.forward) == (step.kind, step.names, not step.forward)
    assert all(text[0].isupper() and not text.endswith(".") for step in steps for text in (step.text,))
