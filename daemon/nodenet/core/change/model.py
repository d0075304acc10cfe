"""The states of the network's one change, the events that it can meet, and what each event leads to.

Theory of operation
===================

nodenetd changes the network of a node by four means: a node file, a trial of one, the making of br-ex, and its removal.
All four are the same thing, a *change*, and there is one at a time.

Before the network is touched, a record of the change is on the disk (``change.json``). It has what the change is, who
began it in which boot, and the network before it: every profile of NetworkManager with its secrets, and which link used
which. While that record is there, and no result says that the change is over, the change is OPEN.

There are two ways out of OPEN. *Commit*: the keyfiles are synced, the result ``good`` is written, and the record is
removed. The result is one write of one file, so there is no moment in which a change is half committed. *Undo*:
NetworkManager rolls its checkpoint back if it still has it; then profiles and links are made what the record says. That
second part is a difference (``way_back``) between a record and what there is, so it may be interrupted anywhere and run
again. It needs no note of how far it came but for links whose profile has its settings again and is not in force yet.
After a power cut the keyfiles come back as files, before NetworkManager reads them (``keyfiles_back``); the difference
is empty then.

Who undoes? The process that has the change open, where the change fails in its hands. Everything else is one case: a
change is open and no process works on it, because nodenetd was killed, stopped, or lost its power, or because the
process that had it could not undo it (NetworkManager was away, or was started again and forgot its checkpoint). That
case is looked for in one place, by the loop, before each stage, so no stage repairs what another one began.

NetworkManager is not part of the transaction, and that shapes the rest. It forgets checkpoints when it ends, so a
checkpoint is a shortcut and never the only way back. It deletes, with a rollback, every profile that is newer than the
checkpoint, so the profiles of other programs are written into the record before the rollback and belong to the network
that comes back. It rolls back by itself after ROLLBACK_SECONDS when nodenetd is dead: then the difference is empty.

The disk may refuse. Ahead of a change that refuses the change. Afterwards it undoes nothing: what has happened is true,
in memory and in /run, until the disk takes it. So no other state is needed for it.

NetworkManager may refuse, too. An undo is tried again for a bounded time; then the stages run, the status names what is
not back, and the undo is tried at each further look. A stage that changes the network meanwhile takes over the record:
the network before its change is the one that the record has, and its commit ends both.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class State(StrEnum):
    """Where the network's change is."""

    NONE = "none"
    OPEN = "open"
    """A process works on it."""
    LEFT = "left"
    """No process works on it: it is to be undone."""


class Event(StrEnum):
    """What a change can meet."""

    BEGIN = "begin"
    COMMIT = "commit"
    FAIL = "fail"
    """It fails, or is refused."""
    END = "end"
    """The process ends: a kill, a panic, a power cut."""
    FORGOTTEN = "forgotten"
    """NetworkManager ends, or is started again, and forgets its checkpoint."""
    UNDONE = "undone"
    """Profiles and links are what they were."""
    NOT_UNDONE = "not undone"
    """NetworkManager refuses that, or does not answer."""
    DISK_REFUSES = "disk refuses"
    """It takes no record."""


TABLE: Mapping[tuple[State, Event], State] = {
    (State.NONE, Event.BEGIN): State.OPEN,
    (State.NONE, Event.END): State.NONE,
    (State.NONE, Event.FORGOTTEN): State.NONE,
    (State.NONE, Event.DISK_REFUSES): State.NONE,  # and the change does not begin
    (State.OPEN, Event.COMMIT): State.NONE,
    (State.OPEN, Event.FAIL): State.LEFT,  # and undone by the process itself, at once
    (State.OPEN, Event.END): State.LEFT,
    (State.OPEN, Event.FORGOTTEN): State.OPEN,  # its undo goes by the profiles
    (State.OPEN, Event.DISK_REFUSES): State.OPEN,
    (State.LEFT, Event.BEGIN): State.OPEN,  # only once patience is over: with the network before the first of both
    (State.LEFT, Event.END): State.LEFT,
    (State.LEFT, Event.FORGOTTEN): State.LEFT,
    (State.LEFT, Event.UNDONE): State.NONE,
    (State.LEFT, Event.NOT_UNDONE): State.LEFT,
    (State.LEFT, Event.DISK_REFUSES): State.LEFT,
}
"""What is not in it cannot happen: while a change is open the loop runs nothing else that could begin one."""
