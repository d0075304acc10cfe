"""Which network does a node get back whose apply of a node file was interrupted, and what if NetworkManager forgot it?

NetworkManager rolls its checkpoint back by itself when nodenetd is killed. It forgets it when it is started again, and
in a power cut; what it wrote to disk stays, and may give no link an address. Another apply of the file need not
succeed, and its own way back would lead to these remains. So the profiles from before are put back first.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import structlog

from nodenet.core.apply.intent import Phase
from nodenet.core.boot.outcome import Problem, Waiting
from nodenet.core.br_ex.uplink import BRIDGE
from nodenet.core.change.way_back import Kept
from nodenet.core.errors import PublishFailed, RollbackFailed, Unavailable
from nodenet.core.messages import Message
from nodenet.core.network_manager.availability import ManagerState
from nodenet.core.node_file.content import Desired
from nodenet.core.node_file.find import NodeFile
from nodenet.core.node_ip.published_files import BRIDGE_UP
from nodenet.core.since import NEVER
from nodenet.stage_edges import Presence, StageEdges
from nodenet.stages.apply.network_before import NetworkBefore, What
from nodenet.stages.apply.open_checkpoint import OpenCheckpoint
from nodenet.stages.apply.pipeline import MANAGER, Pipeline

log = structlog.get_logger()

AGAIN_SECONDS = 5.0
"""When a NetworkManager that refuses, or a disk that fails, is asked again."""
STARTING_SECONDS = 10.0
"""How long a NetworkManager that is starting is waited for: it may wait for the lease of a link that the file ended."""
PATIENCE_SECONDS = 60.0
"""After so long the file is applied all the same, or the disk is a failure. Not a number of tries: events wake too."""


class WayBack:
    """Keeps the network from before an apply of a node file until that apply has ended."""

    def __init__(self, before: NetworkBefore, presence: Presence, pipeline: Pipeline) -> None:
        """Keep it with *before*; the record of *pipeline* says how the last apply ended."""
        self._before = before
        self._presence = presence
        self._pipeline = pipeline
        self._undone: Kept | None = None
        """What is back, where its record could not be removed: not to be put back once more."""
        self._told: Kept | None = None
        """Logged once."""
        self._refused_since: float | None = None
        self._refused = ""
        self._starting = NEVER
        self._unread_since: float | None = None
        self._look: asyncio.Future[Kept] | None = None
        """A look at the network that has begun."""

    @classmethod
    def of(cls, edges: StageEdges, pipeline: Pipeline) -> WayBack:
        """Return the one that works through *edges*."""
        before = NetworkBefore.of(edges, OpenCheckpoint(edges.manager, pipeline), What.APPLY)
        return cls(before, edges.presence, pipeline)

    @asynccontextmanager
    async def looking(self, file: NodeFile, wish: Desired, *, applies: bool) -> AsyncIterator[None]:
        """Look at the network while libnmstate starts, where *file* probably *applies*: that costs no time."""
        look = asyncio.ensure_future(self._before.look(file, wish)) if applies and self._before.kept is None else None
        self._look = look
        try:
            yield
        finally:
            self._look = None
            if look:
                look.cancel()
                with suppress(asyncio.CancelledError, Unavailable, PublishFailed):  # raised where it was needed
                    await look

    @asynccontextmanager
    async def kept(self, file: NodeFile, wish: Desired) -> AsyncIterator[None]:
        """Keep the network for an apply of *file*; forget it once that has succeeded, was rolled back, or never began.

        What an interrupted apply has kept and could not be put back stays. Raises Unavailable, PublishFailed.
        """
        own, last = self._before.kept is None, self._pipeline.record
        if own:
            self._before.store(await (self._look or self._before.look(file, wish)))
        self._undone = None  # from here on the network is to be put back again, also if it is the same one
        try:
            yield
        except BaseException:
            with suppress(PublishFailed):  # the next start sees that it has ended
                record = self._pipeline.record
                is_as_before = record == last or (record is not None and record.phase is Phase.ROLLED_BACK)
                if own and is_as_before:  # what is not its own leads to what an earlier one left
                    self._before.forget()
            raise
        with suppress(PublishFailed):
            self._before.forget()

    @property
    def before(self) -> NetworkBefore:
        """What keeps the network and puts it back."""
        return self._before

    def begin(self, kept: Kept) -> None:
        """Keep another network than the present one, which `restored` puts back. Raises PublishFailed."""
        self._before.store(kept)
        self._undone, self._told, self._refused_since = None, kept, None

    async def restored(self) -> Waiting | None:
        """Put the network back from before an apply that was interrupted; return what that waits for, if anything.

        A disk that fails for a moment is asked again: the node may have no address. Raises PublishFailed.
        """
        try:
            waiting = await self._restored()
        except PublishFailed as error:
            if waiting := self.unread(error):
                return waiting
            raise
        self._unread_since = None
        return waiting

    def unread(self, error: PublishFailed) -> Waiting | None:
        """Return the wait for a disk that failed with *error*, None where it has failed for too long or none is due."""
        if self._unread_since is None:
            self._unread_since = self._pipeline.now()
        if self._undone or self._is_over(self._unread_since) or not self._may_have_left:
            return None
        return Waiting(f"what an interrupted apply may have left comes first: {error.cause}", seconds=AGAIN_SECONDS)

    @property
    def _may_have_left(self) -> bool:
        """Whether there is something to put back that was not given up, or the disk does not say."""
        with suppress(PublishFailed):
            return self._due() is not None
        return True

    def _is_over(self, since: float | None) -> bool:
        return since is not None and self._pipeline.now() - since >= PATIENCE_SECONDS

    async def _restored(self) -> Waiting | None:
        self._forget_what_has_ended()
        kept = self._due()
        if kept is None:
            return None
        state, words = await self._presence.look()
        if state not in (ManagerState.READY, ManagerState.STARTING):
            self._refused_since, self._starting = None, NEVER  # one that is away has refused nothing
            return Waiting(words, MANAGER)
        self._starting = self._starting.holds(self._pipeline.now()) if state is ManagerState.STARTING else NEVER
        if self._starting is not NEVER and not self._presence.starts_endlessly:
            left = self._starting.left(self._pipeline.now(), STARTING_SECONDS)
            if left > 0:  # a link that it has not found yet would be missed, and one that it activates activated twice
                return Waiting(words, MANAGER, left)
        if self._told != kept:
            self._told = kept
            text = f"An apply of {kept.name} was interrupted; the network from before it comes back first"
            log.warning(text, message=Message.CHECKPOINT_CLEARED, stage="nmstate")
        try:
            if waiting := await self._pipeline.held_by_another():  # its rollback would undo what comes back
                return waiting
            await self._before.restore(kept)
        except (Unavailable, RollbackFailed) as error:
            if self._refused_since is None:
                self._refused_since = self._pipeline.now()
            self._refused = error.cause
            reason = f"the network from before an interrupted apply of {kept.name}: {error.cause}"
            return Waiting(reason, MANAGER, AGAIN_SECONDS)
        self._undone, self._told, self._refused_since = kept, None, None
        self._before.end(kept)
        return None

    def _due(self) -> Kept | None:
        """Return what is to be put back, None where that is done or given up. Raises PublishFailed."""
        kept = self._before.kept
        if kept is None or kept == self._undone or self._is_over(self._refused_since) or self._is_committed:
            return None
        if BRIDGE not in kept.active and self._before.files.read(BRIDGE_UP) is not None:
            return None  # br-ex was made since: its uplink is taken from it before kubelet starts, or not at all
        return kept

    @property
    def problem(self) -> Problem | None:
        """Why the network from before is not back and is waited for no longer, if so. Raises PublishFailed."""
        kept = self._before.kept if self._is_over(self._refused_since) else None
        if kept is None:
            return None
        cause = f"the network from before an interrupted apply of {kept.name} could not be put back: {self._refused}"
        remedy = "Look at `systemctl status NetworkManager`; then run `nodenetctl reload --wait`, or reboot"
        return Problem(Message.ROLLBACK_FAILED, cause, remedy)

    @property
    def _is_committed(self) -> bool:
        """Whether the last apply has succeeded, whatever the disk has taken of that. Raises PublishFailed."""
        record = self._pipeline.record
        return record is not None and record.phase is Phase.GOOD

    def _forget_what_has_ended(self) -> None:
        """Remove what was kept where the record on the disk has an end of the apply. Raises PublishFailed."""
        kept = self._before.kept
        if kept and (kept == self._undone or (self._is_committed and not self._pipeline.owed)):
            self._before.forget()
