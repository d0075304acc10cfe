"""Which outcome has a stage that raised an unexpected error? One with a cause, a count and a budget.

Such an error never ends the daemon. The stage is tried again with a back-off. When the budget is spent the stage has
failed; after that it is tried again more rarely.
"""

from __future__ import annotations

from dataclasses import replace

from nodenet.core.backoff import backoff
from nodenet.core.boot.facts import Facts
from nodenet.core.boot.outcome import Again, Failed, Problem, Waiting
from nodenet.core.errors import NodenetError, Unavailable
from nodenet.core.messages import Message
from nodenet.core.since import NEVER, Since
from nodenet.core.stage_name import StageName
from nodenet.core.value import frozen

TRIES = 5
BUDGET_SECONDS = 300.0
"""Kubelet waits: no further try holds the boot back once so much time has passed since the first error."""
REQUIRED = frozenset({StageName.HOSTNAME, StageName.NODEIP})
"""Kubelet cannot start without them: they are tried until they succeed."""
REPORT = "This is a fault of nodenetd: report it with the output of `journalctl -b -u nodenetd`"


@frozen
class Escapes:
    """The errors in a row that nothing in a stage has caught, and since when."""

    number: int = 0
    since: Since = NEVER

    def another(self, now: float) -> Escapes:
        """Return the count with one more at *now*."""
        return replace(self, number=self.number + 1, since=self.since.holds(now))

    def outcome(self, name: StageName, error: NodenetError, facts: Facts, now: float) -> Waiting | Failed:
        """Return the outcome of stage *name* after *error*, which is counted already."""
        within = self.number < TRIES and self.since.left(now, BUDGET_SECONDS) > 0
        if within or name in REQUIRED:
            bound = "" if name in REQUIRED else f" of {TRIES}"
            return Waiting(f"try {self.number + 1}{bound}, after: {error}", seconds=backoff(self.number, 2.0, 30.0))
        pause = backoff(max(self.number - TRIES, 0) + 1, 30.0, 900.0)
        return Failed(Problem.of(error, f"{error.cause} ({TRIES} tries)"), facts, Again(seconds=pause))


def named(error: BaseException, where: str) -> NodenetError:
    """Return any *error* as one with a cause and a remedy; *where* it happened."""
    if isinstance(error, NodenetError):
        return error
    if isinstance(error, OSError):
        reason = error.strerror or str(error)
        return Unavailable(f"{where}: {reason}", remedy="Look at `journalctl -b -u nodenetd`")
    text = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    return NodenetError(f"{where} had an unexpected error: {text}{_place(error)}", remedy=REPORT)


def is_unforeseen(error: NodenetError) -> bool:
    """Return whether *error* is a fault of nodenetd itself, worth a traceback in the journal."""
    return error.message is Message.INTERNAL_ERROR and type(error) is NodenetError


def _place(error: BaseException) -> str:
    """Return the line of the code that raised."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    if frame is None:
        return ""
    return f" ({frame.tb_frame.f_code.co_filename.rpartition('/nodenet/')[2]}, line {frame.tb_lineno})"
