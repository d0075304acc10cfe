"""Which inhibitors keep a stage from starting, and when may a program take one?

A program takes an inhibitor with the bus method ``Inhibit`` and keeps it as long as the file descriptor is open. An
inhibitor stops a stage that has not begun: a waiting stage from its next attempt, a finished one from its next run
(reload, RunStage). A stage that is running cannot be inhibited; the caller gets the error ``Busy``.
"""

from __future__ import annotations

from nodenet.core.boot.outcome import Topic, Waiting
from nodenet.core.boot.stage_state import StageState, Status
from nodenet.core.errors import Busy, UsageInvalid
from nodenet.core.stage_name import StageName
from nodenet.core.value import frozen

MAX_INHIBITORS = 64
"""More at once are a program that leaks."""


@frozen
class Inhibitor:
    """One holder of a stage; *number* distinguishes two with the same words."""

    stage: StageName
    who: str
    why: str
    number: int

    def __str__(self) -> str:
        """As status and journal name it."""
        return f"{self.who}: {self.why}"


Inhibitors = tuple[Inhibitor, ...]


def with_inhibitor(inhibitors: Inhibitors, inhibitor: Inhibitor, stage: StageState) -> Inhibitors:
    """Return *inhibitors* with *inhibitor* added.

    Raises UsageInvalid when *who* or *why* is not one line of text, Busy when the stage runs or there are too many.
    """
    for name, text in (("who", inhibitor.who), ("why", inhibitor.why)):
        if not text.strip() or not text.isprintable():
            raise UsageInvalid(f"{name} = {text!r} is not one line of text", remedy=f"Give {name} as one line of text")
    if stage.status is Status.RUNNING:
        raise Busy(
            f"{inhibitor.stage} runs already",
            remedy="Wait until the stage is over; an inhibitor then holds its next run",
        )
    if len(inhibitors) >= MAX_INHIBITORS:
        raise Busy(f"{len(inhibitors)} inhibitors are taken", remedy="Close some; `nodenetctl status` names them")
    return (*inhibitors, inhibitor)


def without_inhibitor(inhibitors: Inhibitors, inhibitor: Inhibitor) -> Inhibitors:
    """Return *inhibitors* but for *inhibitor*."""
    return tuple(other for other in inhibitors if other.number != inhibitor.number)


def inhibited(inhibitors: Inhibitors, name: StageName) -> Waiting | None:
    """Return what stage *name* waits for while it is inhibited, else None."""
    holders = [str(inhibitor) for inhibitor in inhibitors if inhibitor.stage is name]
    if not holders:
        return None
    more = f" (and {len(holders) - 1} more)" if len(holders) > 1 else ""
    return Waiting(f"inhibited by {holders[0]}{more}", frozenset({Topic.INHIBITOR}), 60.0)
