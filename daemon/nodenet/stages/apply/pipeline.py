"""How is a document applied to the network, or the network left as it was?

intent → apply, verified but uncommitted → the caller's own checks → commit → record; or roll back, and report why.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

import structlog

from nodenet.core.apply.intent import ROLLBACK_SECONDS, Intent, Phase, is_ours
from nodenet.core.boot.outcome import Topic, Waiting
from nodenet.core.errors import NodenetError, PublishFailed, Unavailable
from nodenet.core.messages import Message
from nodenet.core.network_manager.availability import ManagerState
from nodenet.core.network_manager.checkpoint import Checkpoint, of_another
from nodenet.core.network_manager.profiles import KEYFILES
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.settings.model import Settings
from nodenet.ports import Clock, Files, Manager, Nmstate, Ovsdb, Transaction
from nodenet.stage_edges import Presence, StageEdges
from nodenet.stages.apply.failures import after, as_failure, with_more
from nodenet.stages.apply.last_record import LastRecord
from nodenet.stages.apply.others import OthersOnLinks
from nodenet.stages.apply.records import BRIDGE_INTENT, INTENT
from nodenet.stages.apply.shielded import shielded

log = structlog.get_logger()

MANAGER = frozenset({Topic.NETWORK_MANAGER, Topic.BUS})
UNTOUCHED = frozenset({FailureKind.BUSY, FailureKind.MISSING, FailureKind.UNLOADED})
"""libnmstate ended before it made a checkpoint: one that is pending belongs to another program."""
REFUSED = frozenset({FailureKind.INVALID, FailureKind.DEPENDENCY, FailureKind.PERMISSION})
"""libnmstate refused an apply, mostly before it made a checkpoint: only one that the record names is ours."""
UNANSWERED = "the rollback is left to NetworkManager, which does not answer"
COMMITTED = "NetworkManager has no checkpoint of this apply any more: it may have been committed all the same"
FORGOTTEN = "NetworkManager was started again meanwhile and has forgotten its checkpoint: nothing was rolled back"


@dataclass(frozen=True, slots=True)
class Before:
    """What is remembered for the way back: which process NetworkManager was, and DNS that its rollback forgets."""

    owner: str
    dns: object | None


@dataclass(frozen=True, slots=True)
class PipelineEdges:
    """The edges an apply works through."""

    files: Files
    manager: Manager
    presence: Presence
    nmstate: Nmstate
    ovsdb: Ovsdb
    clock: Clock
    others: OthersOnLinks

    @classmethod
    def of(cls, edges: StageEdges, settings: Settings) -> PipelineEdges:
        """Return those of *edges*."""
        links = (edges.standing, edges.kernel, edges.profiles, edges.ovsdb)
        others = OthersOnLinks(*links, edges.files, (*settings.api_vips, *settings.ingress_vips))
        return cls(edges.files, edges.manager, edges.presence, edges.nmstate, edges.ovsdb, edges.clock, others)


class Pipeline:
    """One apply at a time, with a way back."""

    def __init__(
        self,
        edges: PipelineEdges,
        boot_id: str,
        apply_seconds: float,
        path: PurePosixPath = INTENT,
        stage: str = "nmstate",
    ) -> None:
        """Keep the record of *stage* in *path*; the process of an apply is killed after *apply_seconds*."""
        self._stage = stage
        self._edges = edges
        self._last = LastRecord(edges.files, path, boot_id)
        self._boot_id = boot_id
        self._seconds = apply_seconds
        self._began = edges.clock.boottime()

    @property
    def others(self) -> OthersOnLinks:
        """What other programs have on the links of this node."""
        return self._edges.others

    @property
    def boot_id(self) -> str:
        """The boot that records of this run belong to."""
        return self._boot_id

    @property
    def record(self) -> Intent | None:
        """What the last apply was going to do, and whether it succeeded. Raises PublishFailed."""
        return self._last.load()

    @property
    def owed(self) -> Intent | None:
        """How the last apply has ended, where the disk has not taken that."""
        return self._last.owed

    @property
    def is_open(self) -> bool:
        """Whether it is not known how an apply of this boot has ended: NetworkManager may still roll it back."""
        last = self.record
        return last is not None and (last.phase, last.boot_id) == (Phase.APPLYING, self._boot_id)

    async def obstacle(self, name: str, *, uses_ovs: bool, early: bool = False) -> Waiting | None:
        """Return what must be waited for before *name* can be applied, if anything.

        *early*: also while NetworkManager is starting, which is waited for START_SECONDS otherwise. Raises Unavailable,
        and RollbackFailed where an interrupted apply cannot be rolled back.
        """
        state, words = await self._edges.presence.look()
        early = state is ManagerState.STARTING and (early or self._edges.presence.starts_endlessly)
        if state is not ManagerState.READY and not early:
            return Waiting(words, MANAGER)
        if uses_ovs and not self._edges.ovsdb.answers():
            return Waiting(f"Open vSwitch's database is not there yet, and {name} needs it", seconds=1.0)
        if waiting := await self._clear_checkpoints():
            return waiting
        await self.others.put_back(calm=self.others.calm_seconds)  # what an apply had set aside that was interrupted
        return None

    async def unanswered(self, reason: str) -> Waiting:
        """Return the wait with *reason*, for which NetworkManager has no answer yet; one that has failed is started."""
        state, words = await self._edges.presence.look()
        return Waiting(words if state is ManagerState.ABSENT else reason, MANAGER)

    async def held_by_another(self) -> Waiting | None:
        """Return the wait for the checkpoint of another program, if there is one. Raises Unavailable, PublishFailed."""
        records = self._records_of_both()
        found = (self._foreign(checkpoint, records) for checkpoint in await self._edges.manager.checkpoints())
        return next(filter(None, found), None)

    def _records_of_both(self) -> list[Intent | None]:
        return [LastRecord(self._edges.files, path, self._boot_id).load() for path in (INTENT, BRIDGE_INTENT)]

    def _foreign(self, checkpoint: Checkpoint, records: Iterable[Intent | None]) -> Waiting | None:
        if any(is_ours(checkpoint, record, self._boot_id, self._began) for record in records):
            return None
        return Waiting(of_another(checkpoint), MANAGER, seconds=2.0)

    async def _clear_checkpoints(self) -> Waiting | None:
        """Roll back what an interrupted apply of ours left; wait for the checkpoint of another program."""
        records = self._records_of_both()  # first: one that cannot be read ends the attempt here
        for checkpoint in await self._edges.manager.checkpoints():
            if waiting := self._foreign(checkpoint, records):
                return waiting
            async with self.others.kept():
                await self._edges.manager.roll_back(checkpoint.path)
            log.warning(
                "Rolled back the checkpoint of an apply that was interrupted",
                message=Message.CHECKPOINT_CLEARED,
                checkpoint=checkpoint.path,
            )
        return None

    async def apply(  # noqa: PLR0913  (the apply, and what the caller does in it)
        self,
        transaction: Transaction,
        text: str,
        record: Intent,
        accept: Callable[[], Awaitable[None]] | None = None,
        committed: Callable[[], None] = lambda: None,
        links: Collection[str] = (),
    ) -> float:
        """Apply, verify and commit *text*; return the seconds it took.

        *record* is the intent, written first. *accept* looks at the uncommitted result, for ROLLBACK_SECONDS at most,
        and raises where it is no success. *committed* is called behind the commit: a disk that fails then undoes
        nothing. Whatever goes wrong before is rolled back first. What others have on *links* is there after it. Raises
        NmstateFailure, also where NetworkManager is silent; RollbackFailed, PublishFailed; Unavailable before all that.
        """
        before = Before(await self._edges.manager.owner(), await self._edges.manager.fragile_dns())
        self.save(record)
        applied = committing = False
        try:
            async with self.others.set_aside(links) as patched, self._noted_checkpoint(record) as made:
                checkpoint = await transaction.apply(text, ROLLBACK_SECONDS, self._seconds, made, patched)
                applied = True
            if accept:
                await accept()
            committing = True
            await transaction.commit(checkpoint)
        except asyncio.CancelledError:
            await self._back_before_the_end(record, before, committing=committing)
            raise
        except Exception as error:
            failure = as_failure(error)
            refused = not applied and getattr(failure, "kind", None) in REFUSED
            await shielded(self._back(record, before, failure, refused=refused, committing=committing))
            if failure is error:
                raise
            raise failure from error
        committed()
        self.sync()
        return self.now() - record.started

    def sync(self) -> None:
        """Let the profiles survive a power cut, before the record says how the apply ended. Raises PublishFailed.

        NetworkManager syncs neither a new keyfile nor that one is gone. With one of several lost the uplink would be a
        port of a bridge that never comes up, and with the keyfile of a refused file the next boot would begin on that
        file's network; until the record says how the apply ended, such a node is repaired.
        """
        self._edges.files.sync(KEYFILES)

    @contextlib.asynccontextmanager
    async def _noted_checkpoint(self, record: Intent) -> AsyncIterator[Callable[[str], None]]:
        """Yield what gets the path of libnmstate's checkpoint; the record names it before this ends."""
        notes: list[asyncio.Task[None]] = []
        try:
            yield lambda path: notes.append(asyncio.create_task(self._note_checkpoint(record, path)))
        finally:
            for note in notes:
                await shielded(note)

    async def _note_checkpoint(self, record: Intent, path: str) -> None:
        with contextlib.suppress(Unavailable, PublishFailed):  # then the time of creation must do
            for checkpoint in await self._edges.manager.checkpoints():
                if checkpoint.path == path:
                    self.save(record.with_checkpoint(checkpoint))

    async def _back_before_the_end(self, record: Intent, before: Before, *, committing: bool) -> None:
        """Roll back because nodenetd stops; there is no caller left for what goes wrong with it."""
        stopped = NmstateFailure(FailureKind.KILLED, "nodenetd was stopped in the middle of an apply")
        try:
            await shielded(self._back(record, before, stopped, committing=committing))
        except NodenetError as error:
            log.error(error.cause, message=error.message, stage=self._stage, remedy=error.remedy)

    async def _back(
        self,
        record: Intent,
        before: Before,
        failure: NodenetError,
        *,
        refused: bool = False,
        committing: bool = False,
    ) -> None:
        """Put the network back as it was before the apply, and its DNS configuration.

        *refused*: libnmstate refused to apply, so a checkpoint that the record does not name is not ours. *committing*:
        the commit was asked for, and may have been made. Raises RollbackFailed, PublishFailed, and *failure* with more
        of its cause where NetworkManager does not answer or has no checkpoint any more: then the state of the network
        is not known, and the record stays as it is.
        """
        known = record
        with contextlib.suppress(PublishFailed):  # then the time of creation must do
            known = self.record or record
        ended = replace(record, checkpoint=known.checkpoint, created=known.created, ended=self.now())
        with contextlib.suppress(PublishFailed):  # the network first; the next write of the record raises it
            self.save(ended)
        if getattr(failure, "kind", None) not in UNTOUCHED:
            try:
                async with self.others.kept():
                    rolled_back = await self._roll_back(ended, before.dns, by_time=not refused)
                owner = await self._edges.manager.owner()
            except Unavailable as error:
                raise with_more(failure, f"{UNANSWERED} ({error.cause})") from error
            if owner != before.owner:
                raise with_more(failure, FORGOTTEN) from failure
            if committing and not rolled_back:
                raise with_more(failure, COMMITTED) from failure
            with after(failure):
                self.sync()
        with after(failure):
            self.save(replace(ended, phase=Phase.ROLLED_BACK))
        log.info("The network is as it was before the apply", message=Message.ROLLED_BACK, stage=self._stage)

    async def _roll_back(self, record: Intent, dns: object | None, *, by_time: bool) -> bool:
        """Roll back at once: NetworkManager's own timer would take ROLLBACK_SECONDS for a child that was killed.

        Without *by_time* only the checkpoint that the record names is rolled back. Return whether there was one.
        """
        there = False
        try:
            for checkpoint in await self._edges.manager.checkpoints():
                named = record.checkpoint is not None
                if (named or by_time) and is_ours(checkpoint, record, self._boot_id, self.now()):
                    there = True
                    await self._edges.manager.roll_back(checkpoint.path)
        finally:
            if dns is not None:
                await self._edges.manager.restore_dns(dns)
        return there

    def now(self) -> float:
        """Return the seconds of CLOCK_BOOTTIME."""
        return self._edges.clock.boottime()

    def intent(self, digest: str, phase: Phase, *, in_force: str | None, brings_bridge: bool) -> Intent:
        """Return a record of now."""
        return Intent(digest, phase, self._boot_id, self.now(), in_force, brings_bridge)

    def save(self, record: Intent) -> None:
        """Write the record. Raises PublishFailed."""
        self._last.save(record)

    def note(self, record: Intent) -> None:
        """Note how an apply has ended for a nodenetd that is started again in this boot."""
        self._last.note(record)
