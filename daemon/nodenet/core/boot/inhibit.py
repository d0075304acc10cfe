"""Who keeps a stage from starting, and may they?

A hold is taken with ``Inhibit`` over the bus and lasts as long as its file descriptor is open. It stops what has not
begun: a stage that waits is held from its next attempt on, one that is over from its next run on (reload, RunStage).
A stage that runs at that moment cannot be held any more, and whoever asks is told so.
"""

from __future__ import annotations

from dataclasses import dataclass

from nodenet.core.boot.outcome import Topic, Waiting
from nodenet.core.boot.stages import StageName, StageState, Status
from nodenet.core.errors import Busy, UsageInvalid

MOST_HOLDS = 64
"""More at once are a program that leaks."""


@dataclass(frozen=True, slots=True)
class Hold:
    """One holder of a stage; *number* tells two of the same words apart."""

    stage: StageName
    who: str
    why: str
    number: int

    def __str__(self) -> str:
        """As status and journal name it."""
        return f"{self.who}: {self.why}"


Holds = tuple[Hold, ...]


def with_another(holds: Holds, hold: Hold, stage: StageState) -> Holds:
    """Return *holds* and *hold*. Raises UsageInvalid for unreadable words, Busy when it is too late or too many."""
    for name, text in (("who", hold.who), ("why", hold.why)):
        if not text.strip() or not text.isprintable():
            raise UsageInvalid(f"{name} = {text!r} names nobody", remedy=f"Give {name} as one line of text")
    if stage.status is Status.RUNNING:
        raise Busy(f"{hold.stage} runs already", remedy="Wait until it is over; a hold then concerns its next run")
    if len(holds) >= MOST_HOLDS:
        raise Busy(f"{len(holds)} holds are taken", remedy="Close some; `nodenetctl status` names them")
    return (*holds, hold)


def without(holds: Holds, hold: Hold) -> Holds:
    """Return *holds* but for *hold*."""
    return tuple(other for other in holds if other.number != hold.number)


def held(holds: Holds, name: StageName) -> Waiting | None:
    """Return what stage *name* waits for while somebody holds it, else None."""
    holders = [str(hold) for hold in holds if hold.stage is name]
    if not holders:
        return None
    more = f" (and {len(holders) - 1} more)" if len(holders) > 1 else ""
    return Waiting(f"held by {holders[0]}{more}", frozenset({Topic.INHIBITOR}), 60.0)
