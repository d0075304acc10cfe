"""How is a document applied to the network, or the network left as it was?

open a change → apply, verified but uncommitted → the caller's own checks → commit → close; or undo, and report why.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

import structlog

from nodenet.core.apply.intent import ROLLBACK_SECONDS, Intent, Phase, is_end_of, is_ours
from nodenet.core.boot.outcome import Topic, Waiting
from nodenet.core.change.record import RESULT, Change, What
from nodenet.core.errors import NodenetError, PublishFailed, Unavailable
from nodenet.core.messages import Message
from nodenet.core.network_manager.state import Checkpoint, ManagerState
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.settings.model import Settings
from nodenet.ports import Transaction
from nodenet.stage_edges import StageEdges
from nodenet.stages.apply.changes import Changes, as_failure, shielded, with_more
from nodenet.stages.apply.hand_over import HandOver
from nodenet.stages.apply.others import OthersOnLinks
from nodenet.stages.apply.records import INTENT

log = structlog.get_logger()

MANAGER = frozenset({Topic.NETWORK_MANAGER, Topic.BUS})
UNTOUCHED = frozenset({FailureKind.BUSY, FailureKind.MISSING, FailureKind.UNLOADED})
"""libnmstate ended before it made a checkpoint: one that is pending belongs to another program."""
REFUSED = frozenset({FailureKind.INVALID, FailureKind.DEPENDENCY, FailureKind.PERMISSION})
"""libnmstate refused an apply, mostly before it made a checkpoint: only one that it named is ours."""
UNANSWERED = "the rollback is left to NetworkManager, which does not answer"
COMMITTED = "NetworkManager has no checkpoint of this apply any more: it may have been committed all the same"
FORGOTTEN = "NetworkManager was started again meanwhile and has forgotten its checkpoint: nothing was rolled back"


@dataclass(slots=True)
class Course:
    """How far an apply came: NetworkManager's *owner* and fragile *dns* before it, and what libnmstate has done.

    *checkpoint*: the path that libnmstate named. *committing*: the commit was asked for, and may have been made.
    """

    owner: str
    dns: object | None
    checkpoint: str | None = None
    applied: bool = False
    committing: bool = False

    def names(self, path: str) -> None:
        """Take note of the checkpoint."""
        self.checkpoint = path


class Pipeline:
    """One apply at a time, as a change with a way back."""

    def __init__(
        self, edges: StageEdges, settings: Settings, path: PurePosixPath = INTENT, stage: str = "nmstate"
    ) -> None:
        """Keep the result for *stage* in *path*."""
        self._stage = stage
        self._edges = edges
        self._path = path
        self._seconds = float(settings.apply_timeout)
        self.others = OthersOnLinks.of(edges, settings.vips)
        """What other programs have on the links of this node."""
        self._hand_over = HandOver.of(edges)
        self._began = edges.clock.boottime()
        self.changes = Changes(edges, settings.vips)

    @property
    def boot_id(self) -> str:
        """The boot that records of this run belong to."""
        return self._edges.boot_id

    @property
    def record(self) -> Intent | None:
        """What the last apply was going to do, and whether it succeeded. Raises PublishFailed."""
        change = self.changes.open
        if change is not None and RESULT[change.what] == self._path:
            result = self.changes.result(self._path)
            return result if result and is_end_of(result, change.apply) else change.apply
        return self.changes.result(self._path)

    async def obstacle(self, name: str, *, uses_ovs: bool, early: bool = False) -> Waiting | None:
        """Return what must be waited for before *name* can be applied, if anything.

        *early*: also while NetworkManager is starting, which is waited for START_SECONDS otherwise. A change whose undo
        was given up is taken over (`core.change.model`). Raises Unavailable.
        """
        state, words = await self._edges.presence.look()
        early = state is ManagerState.STARTING and (early or self._edges.presence.starts_endlessly)
        if state is not ManagerState.READY and not early:
            return Waiting(words, MANAGER)
        if uses_ovs and not self._edges.ovsdb.answers():
            return Waiting(f"Open vSwitch's database is not there yet, and {name} needs it", seconds=1.0)
        change = self.changes.open
        if words_of_another := await self.changes.held_by_another(change, self._began):
            return Waiting(words_of_another, MANAGER, seconds=2.0)
        await self.others.put_back()  # what an apply had set aside that was interrupted
        return None

    async def unanswered(self, reason: str) -> Waiting:
        """Return the wait with *reason*, for which NetworkManager has no answer yet; one that has failed is started."""
        state, words = await self._edges.presence.look()
        return Waiting(words if state is ManagerState.ABSENT else reason, MANAGER)

    async def apply(
        self,
        transaction: Transaction,
        text: str,
        change: Change,
        good: Intent,
        accept: Callable[[], Awaitable[None]] | None = None,
    ) -> float:
        """Apply, verify and commit *text*; return the seconds it took.

        *change* is recorded first, and *good* is its result. *accept* looks at the uncommitted network, for
        ROLLBACK_SECONDS at most, and raises where it is no success. A disk that fails behind the commit undoes nothing.
        Whatever goes wrong before, the network is put back first. What others have on the links of the change is there
        after it. Raises NmstateFailure with the cause, also where NetworkManager no longer answers; RollbackFailed;
        PublishFailed and Unavailable only before the network is touched.
        """
        course = Course(await self._edges.manager.owner(), await self._edges.manager.fragile_dns())
        change = self.changes.begin(change)
        try:
            links = change.before.links
            async with self._hand_over.watched(frozenset(links)), self.others.set_aside(links) as patched:
                checkpoint = await transaction.apply(text, ROLLBACK_SECONDS, self._seconds, course.names, patched)
                course.checkpoint, course.applied = checkpoint or course.checkpoint, True
            if accept:
                await accept()
            course.committing = True
            await transaction.commit(checkpoint)
        except asyncio.CancelledError:
            await self._back_before_the_end(change, course)
            raise
        except Exception as error:
            failure = as_failure(error)
            await shielded(self._back(change, course, failure))
            if failure is error:
                raise
            raise failure from error
        self.changes.close(change, good)
        return self.now() - change.apply.started

    async def _back_before_the_end(self, change: Change, course: Course) -> None:
        """Put the network back because nodenetd stops; there is no caller left for what goes wrong with it."""
        stopped = NmstateFailure(FailureKind.KILLED, "nodenetd was stopped in the middle of an apply")
        try:
            await shielded(self._back(change, course, stopped, is_failed=False))
        except NodenetError as error:
            log.error(error.cause, message=error.message, stage=self._stage, remedy=error.remedy)

    async def _back(self, change: Change, course: Course, failure: NodenetError, *, is_failed: bool = True) -> None:
        """Put the network back as it was before the change, and its DNS configuration; note why if it has failed.

        Raises RollbackFailed, and *failure* with more of its cause where NetworkManager does not answer or has no
        checkpoint any more: then the state of the network is not known, and the change stays open.
        """
        with suppress(PublishFailed):  # of a trial it has the checkpoint, whose time-out is another one by now
            change = self.changes.open or change
        change = replace(change, apply=replace(change.apply, ended=self.now()))
        if getattr(failure, "kind", None) not in UNTOUCHED:
            self.changes.save(change)
            try:
                async with self._hand_over.watched(frozenset(change.before.links)), self.others.kept():
                    change = await self._rolled_back(change, course, failure)
            except Unavailable as error:
                raise with_more(failure, f"{UNANSWERED} ({error.cause})") from error
        of_trial = change.what is What.TRIAL
        failed = replace(change.apply, phase=Phase.ROLLED_BACK, cause=failure.cause if is_failed else "")
        self.changes.close(change, None if of_trial else failed)
        log.info("The network is as it was before the apply", message=Message.ROLLED_BACK, stage=self._stage)

    async def _rolled_back(self, change: Change, course: Course, failure: NodenetError) -> Change:
        """Roll back at once: NetworkManager's own timer would take ROLLBACK_SECONDS for a child that was killed.

        Raises as `_back` does.
        """
        refused = not course.applied and getattr(failure, "kind", None) in REFUSED
        there = None
        try:
            found = await self._edges.manager.checkpoints()
            named = [one for one in found if one.path == course.checkpoint]
            ours = [one for one in found if is_ours(one, change.apply, self.boot_id, self.now())]
            there = next(iter(named or ([] if refused or course.checkpoint else ours)), None)
            if there:
                change = await self.changes.with_others(change)
                await self._edges.manager.roll_back(there.path)
        finally:
            if course.dns is not None:
                await self._edges.manager.restore_dns(course.dns)
        if await self._edges.manager.owner() != course.owner:
            raise with_more(failure, FORGOTTEN) from failure
        if course.committing and there is None:
            raise with_more(failure, COMMITTED) from failure
        await self.changes.put_back(change, rolled_back=there is not None)
        return change

    async def has_checkpoint(self) -> bool:
        """Return whether NetworkManager can still roll the open change back. Raises Unavailable."""
        return await self._checkpoint(self.changes.open) is not None

    async def extend(self, seconds: int) -> None:
        """Let NetworkManager wait *seconds* from now before it rolls the open change back. Raises Unavailable."""
        change = self.changes.open
        found = await self._checkpoint(change)
        if change is None or found is None:
            raise Unavailable("NetworkManager has no checkpoint of this apply any more")
        # Its time-out says nothing any more.
        self.changes.save(replace(change, apply=change.apply.with_checkpoint(found)))
        await self._edges.manager.extend(found.path, seconds)

    async def _checkpoint(self, change: Change | None) -> Checkpoint | None:
        found = await self._edges.manager.checkpoints() if change else ()
        return next((one for one in found if change and is_ours(one, change.apply, self.boot_id, self.now())), None)

    def now(self) -> float:
        """Return the seconds of CLOCK_BOOTTIME."""
        return self._edges.clock.boottime()

    def intent(self, digest: str, phase: Phase, *, in_force: str | None, brings_bridge: bool) -> Intent:
        """Return a record of now."""
        return Intent(digest, phase, self.boot_id, self.now(), in_force, brings_bridge)

    def save(self, record: Intent | None) -> None:
        """Let *record* be the result of the last apply."""
        self.changes.save_result(self._path, record)
