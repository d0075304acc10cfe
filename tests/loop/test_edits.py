"""Edits are looked for once a second at the most, however often the loop asks."""

from __future__ import annotations

from typing import Any, cast

from structlog.testing import capture_logs

from fakes import FakeClock
from nodenet.core.boot.stages import new_boot
from nodenet.core.messages import Message
from nodenet.core.status.document import BootStatus
from nodenet.loop.watches import EDIT_SECONDS, EditWatch

STATUS = BootStatus(new_boot({}, degrade=True))


class InForce:
    """Says what the test wants, and counts how often it is asked."""

    calm_seconds = 1.0

    def __init__(self, *answers: bool | Exception) -> None:
        self.answers = list(answers)

    def edited(self, status: BootStatus, now: float) -> bool:  # noqa: ARG002
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def watch(*answers: bool | Exception) -> tuple[EditWatch, FakeClock, InForce]:
    in_force, clock = InForce(*answers), FakeClock()
    return EditWatch(cast("Any", in_force), clock), clock, in_force


def test_the_files_are_looked_at_once_a_second() -> None:
    edits, clock, in_force = watch(False, False)
    for _ in range(10):
        assert not edits.seen(STATUS)
    clock.now += EDIT_SECONDS
    assert not edits.seen(STATUS)
    assert in_force.answers == []


def test_an_edit_is_in_the_journal() -> None:
    edits, _, _ = watch(True)
    with capture_logs() as logs:
        assert edits.seen(STATUS)
    assert logs[0]["message"] is Message.EDITED
    assert logs[0]["event"] == "Settings or node file were edited while the boot waits: read again, unchanged for 1 s"


def test_a_look_that_fails_is_no_edit() -> None:
    """R23: the file system may raise anything."""
    edits, clock, _ = watch(OSError(5, "Input/output error"), True)
    assert not edits.seen(STATUS)
    clock.now += EDIT_SECONDS
    assert edits.seen(STATUS)
