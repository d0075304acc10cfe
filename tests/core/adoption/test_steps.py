"""Steps are done in their order, and undone from the one that failed back to the first."""

from __future__ import annotations

import pytest

from nodenet.core.adoption.steps import Ended, Event, Kind, Step, walk
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
