"""How does a document become the network's state, or leave it as it was?

intent → apply, verified but uncommitted → what the caller calls success → commit → record; or roll back, and say why.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import PurePosixPath

import structlog

from nodenet.core.apply import intent
from nodenet.core.apply.intent import Intent, Phase, is_ours
from nodenet.core.boot.outcome import Topic, Waiting
from nodenet.core.errors import NodenetError
from nodenet.core.messages import Message
from nodenet.core.network_manager.availability import ManagerState
from nodenet.ports import Clock, Files, Manager, Nmstate, Ovsdb, Transaction
from nodenet.stages.apply.network_manager import NetworkManagerStarter
from nodenet.stages.apply.records import BRIDGE_INTENT, INTENT, Records

log = structlog.get_logger()

ROLLBACK_SECONDS = 60
"""NetworkManager reverts by itself an apply that was not committed and not heard of for so long."""
MANAGER = frozenset({Topic.NETWORK_MANAGER, Topic.BUS})


@dataclass(frozen=True, slots=True)
class PipelineEdges:
    """The edges an apply works through."""

    files: Files
    manager: Manager
    presence: NetworkManagerStarter
    nmstate: Nmstate
    ovsdb: Ovsdb
    clock: Clock


class Pipeline:
    """One apply at a time, with a way back."""

    def __init__(
        self,
        outside: PipelineEdges,
        boot_id: str,
        apply_seconds: float,
        path: PurePosixPath = INTENT,
        stage: str = "nmstate",
    ) -> None:
        """Keep the record of *stage* in *path*; one apply may take *apply_seconds* before its process is killed."""
        self._path = path
        self._stage = stage
        self._out = outside
        self._records = Records(outside.files)
        self._boot_id = boot_id
        self._seconds = apply_seconds

    @property
    def record(self) -> Intent | None:
        """What the last apply set out to do, and whether it got there."""
        return self._records.load(self._path, intent.parse)

    async def obstacle(self, name: str, *, uses_ovs: bool) -> Waiting | None:
        """Return what must be waited for before *name* can be applied, if anything. Raises Unavailable."""
        state, words = await self._out.presence.look()
        if state is not ManagerState.READY:
            return Waiting(words, MANAGER)
        if uses_ovs and not self._out.ovsdb.answers():
            return Waiting(f"Open vSwitch's database is not there yet, and {name} needs it", seconds=1.0)
        return await self._clear_checkpoints()

    async def _clear_checkpoints(self) -> Waiting | None:
        """Roll back what an interrupted apply of ours left; wait for what belongs to somebody else."""
        records = [self._records.load(path, intent.parse) for path in (INTENT, BRIDGE_INTENT)]
        for checkpoint in await self._out.manager.checkpoints():
            if not any(is_ours(checkpoint, record, self._boot_id) for record in records):
                reason = f"another program holds NetworkManager's checkpoint {checkpoint.path}"
                return Waiting(reason, MANAGER, seconds=2.0)
            await self._out.manager.roll_back(checkpoint.path)
            log.warning(
                "Rolled back the checkpoint of an apply that was interrupted",
                message=Message.CHECKPOINT_CLEARED,
                checkpoint=checkpoint.path,
            )
        return None

    async def apply(
        self,
        transaction: Transaction,
        text: str,
        record: Intent,
        accept: Callable[[], Awaitable[None]] | None = None,
    ) -> float:
        """Apply, verify and commit *text*; return the seconds it took.

        *record* is the intent, written first. *accept* looks at the uncommitted result, for ROLLBACK_SECONDS at most,
        and raises NmstateFailure or Unavailable if it is no success. Raises either with the network as it was, or
        RollbackFailed, PublishFailed.
        """
        dns = await self._out.manager.fragile_dns()
        self.save(record)
        try:
            checkpoint = await transaction.apply(text, ROLLBACK_SECONDS, self._seconds)
            if accept:
                await accept()
            await transaction.commit(checkpoint)
        except (NodenetError, asyncio.CancelledError):
            await self._back(record)
            if dns is not None:
                await self._out.manager.restore_dns(dns)
            raise
        return self.now() - record.started

    async def _back(self, record: Intent) -> None:
        """Put the network back at once where a killed child left that to NetworkManager's timer."""
        for checkpoint in await self._out.manager.checkpoints():
            if is_ours(checkpoint, record, self._boot_id):
                await self._out.manager.roll_back(checkpoint.path)
        log.info("The network is as it was before the apply", message=Message.ROLLED_BACK, stage=self._stage)

    def now(self) -> float:
        """Return the seconds of CLOCK_BOOTTIME."""
        return self._out.clock.boottime()

    def intent(self, digest: str, phase: Phase, *, in_force: str | None, brings_bridge: bool) -> Intent:
        """Return a record of now."""
        return Intent(digest, phase, self._boot_id, self.now(), in_force, brings_bridge)

    def save(self, record: Intent) -> None:
        """Write the record. Raises PublishFailed."""
        self._records.save(self._path, intent.render(record))
