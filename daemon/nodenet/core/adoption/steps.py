"""What are the steps of an adoption, which step undoes which, and what happens when one fails?"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from enum import StrEnum

from nodenet.core.errors import NodenetError
from nodenet.core.value import frozen


class Kind(StrEnum):
    """What a step is about; each is done forward (towards nodenet) or backward (towards the former chain)."""

    DROP_INS = "drop-ins"
    ENABLED = "enabled"
    BRIDGE_ON_DISK = "bridge-on-disk"
    OLD_RECORD = "old-record"
    MARKER = "marker"
    NOT_HELD = "not-held"
    PREPENDER_STOPPED = "prepender-stopped"
    RESOLV_CONF = "resolv-conf"
    NODENETD = "nodenetd"
    CHECK = "check"
    FILES_GONE = "files-gone"


class Event(StrEnum):
    """What is to be done with a step."""

    DO = "do"
    UNDO = "undo"


@frozen
class Step:
    """One step: *forward* is towards nodenet. *text* says what it does, *names* what it is about (units, bridges)."""

    kind: Kind
    forward: bool
    text: str
    names: tuple[str, ...] = ()
    back_text: str = ""
    """What undoes it; "": nothing has to."""

    @property
    def undone(self) -> Step | None:
        """The step that undoes this one, None where nothing has to."""
        if not self.back_text:
            return None
        return replace(self, forward=not self.forward, text=self.back_text, back_text=self.text)

    def __str__(self) -> str:
        """Return its name in the record."""
        return f"{self.kind}{'+' if self.forward else '-'}"


@frozen
class Ended:
    """How it ended: the *error* that stopped it, at which *step*, and what could not be undone."""

    error: NodenetError | None = None
    step: Step | None = None
    left: tuple[tuple[Step, NodenetError], ...] = ()


def walk(steps: Sequence[Step]) -> Generator[tuple[Event, int, Step], NodenetError | None, Ended]:
    """Yield each step to do; send the error of a step that failed, and each done step is yielded to be undone.

    The step that failed is undone too: it may be half done. Undoing goes on when it fails: each step that is undone
    is one less to do by hand.
    """
    for index, step in enumerate(steps):
        error = yield Event.DO, index, step
        if error is None:
            continue
        left: list[tuple[Step, NodenetError]] = []
        for number in range(index, -1, -1):
            back = steps[number].undone
            if back is not None and (trouble := (yield Event.UNDO, number, back)) is not None:
                left.append((back, trouble))
        return Ended(error, step, tuple(left))
    return Ended()
