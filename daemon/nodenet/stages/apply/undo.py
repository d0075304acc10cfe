"""When is an open change undone that no process works on any more?

Before any stage runs, and again after one that left a change open. It is asked again while NetworkManager refuses, for
a bounded time; then the stages run, and the status names what is not back.
"""

from __future__ import annotations

from pathlib import PurePosixPath

import structlog

from nodenet.core.boot.outcome import Problem, Waiting
from nodenet.core.br_ex.uplink import BRIDGE
from nodenet.core.change.record import RESULT, UNDONE_AT_ONCE, Change, interrupted, is_confirmed
from nodenet.core.errors import PublishFailed, RollbackFailed, Unavailable
from nodenet.core.ip import IPAddress
from nodenet.core.messages import Message
from nodenet.core.network_manager.state import ManagerState
from nodenet.core.node_ip.published_files import BRIDGE_UP
from nodenet.core.since import NEVER
from nodenet.stage_edges import StageEdges
from nodenet.stages.apply.changes import Changes, shielded
from nodenet.stages.apply.pipeline import MANAGER
from nodenet.stages.apply.records import BRIDGE_INTENT

log = structlog.get_logger()

AGAIN_SECONDS = 5.0
"""When a NetworkManager that refuses, or a disk that fails, is asked again."""
STARTING_SECONDS = 10.0
"""How long a NetworkManager that is starting is waited for: it may wait for the lease of a link that the file ended."""
PATIENCE_SECONDS = 60.0
"""After so long the stages run though NetworkManager or the disk refuses. Not a number of tries: events wake too."""
LONGEST_SECONDS = 300.0
"""After so long they run whatever the undo waits for: kubelet waits no longer for a node file either."""


class Undo:
    """Undoes an open change; one for the whole process, so that a reload does not begin its patience again."""

    def __init__(self, edges: StageEdges) -> None:
        """Work through *edges*."""
        self._edges = edges
        self.vips: tuple[IPAddress, ...] = ()
        """See `OthersOnLinks`; empty before there are settings."""
        self._began = edges.clock.boottime()
        self._logged: Change | None = None
        self._waits = self._refused = self._unread = self._starting = NEVER
        self._why = ""

    @property
    def _changes(self) -> Changes:
        return Changes(self._edges, self.vips)

    async def first(self) -> Waiting | None:
        """Undo the change that is open; return what that waits for, if anything.

        Once patience is over it is tried all the same before each attempt of a stage, and waited for no more.
        """
        try:
            change = self._changes.open
        except PublishFailed as error:
            return self._unreadable(error)
        self._unread = NEVER
        if change is None:
            self._changes.forget_closed()
        waiting = None
        if change and self._is_confirmed(change):
            self._changes.close(change, interrupted(change, None))
        elif change and not self._is_bridge_above(change):
            waiting = await self._network_manager() or await self._undone(change)
        if waiting is None:
            self._waits = self._refused = NEVER
            return None
        self._why = waiting.reason
        self._waits = self._waits.holds(self._now())
        return None if self._is_over else waiting

    @property
    def problem(self) -> Problem | None:
        """Why the network from before a change is not back and is waited for no longer, if so."""
        if not self._is_over:
            return None
        remedy = "Look at `systemctl status NetworkManager`; then run `nodenetctl reload --wait`, or reboot"
        return Problem(Message.ROLLBACK_FAILED, f"what a change has left is not undone: {self._why}", remedy)

    @property
    def _is_over(self) -> bool:
        now = self._now()
        return self._refused.left(now, PATIENCE_SECONDS) <= 0 or self._waits.left(now, LONGEST_SECONDS) <= 0

    def _now(self) -> float:
        return self._edges.clock.boottime()

    def _unreadable(self, error: PublishFailed) -> Waiting | None:
        """Return the wait for a disk that does not say what is open, None where that has lasted for too long."""
        self._unread = self._unread.holds(self._now())
        if self._unread.left(self._now(), PATIENCE_SECONDS) <= 0:
            return None
        return Waiting(f"what an interrupted apply may have left comes first: {error.cause}", seconds=AGAIN_SECONDS)

    def _is_bridge_above(self, change: Change) -> bool:
        """Return whether br-ex was made since: its uplink is taken from it before kubelet starts, or not at all."""
        if RESULT[change.what] == BRIDGE_INTENT or BRIDGE in change.before.active:
            return False
        try:
            return self._edges.files.read(BRIDGE_UP) is not None
        except PublishFailed:
            return False

    def _is_confirmed(self, change: Change) -> bool:
        try:
            installed = self._edges.files.read(PurePosixPath(change.installs)) if change.installs else None
        except PublishFailed:
            return False
        return is_confirmed(change, installed)

    async def _network_manager(self) -> Waiting | None:
        """Return the wait for NetworkManager, if any."""
        state, words = await self._edges.presence.look()
        if state not in (ManagerState.READY, ManagerState.STARTING):
            self._refused = self._starting = NEVER  # one that is away has refused nothing
            return Waiting(words, MANAGER)
        self._starting = self._starting.holds(self._now()) if state is ManagerState.STARTING else NEVER
        if self._starting is not NEVER and not self._edges.presence.starts_endlessly:
            left = self._starting.left(self._now(), STARTING_SECONDS)
            if left > 0:  # a link that it has not found yet would be missed, and one that it activates activated twice
                return Waiting(words, MANAGER, left)
        return None

    async def _undone(self, change: Change) -> Waiting | None:
        self._log_once(change)
        try:
            if another := await self._changes.held_by_another(change, self._began):  # it would undo what comes back
                return Waiting(another, MANAGER, seconds=2.0)
            await shielded(self._changes.undo(change, self._began), "An undo")
        except (Unavailable, RollbackFailed) as error:
            self._refused = self._refused.holds(self._now())
            reason = f"the network from before an interrupted {_words(change)}: {error.cause}"
            return Waiting(reason, MANAGER, AGAIN_SECONDS)
        self._logged = None
        return None

    def _log_once(self, change: Change) -> None:
        if change.what in UNDONE_AT_ONCE:
            return  # it was logged when it began
        if self._logged is None or self._logged.apply.started != change.apply.started:
            self._logged = change
            text = f"The {_words(change)} was interrupted; the network from before it comes back first"
            log.warning(text, message=Message.CHANGE_UNDONE)


def _words(change: Change) -> str:
    return f"{change.what} of {change.name}"
