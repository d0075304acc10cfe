"""Can an apply that is not committed still be rolled back, and for how long does NetworkManager wait with that?"""

from __future__ import annotations

import structlog

from nodenet.core.apply.intent import is_ours
from nodenet.core.errors import Unavailable
from nodenet.core.messages import Message
from nodenet.core.network_manager.checkpoint import Checkpoint
from nodenet.ports import Manager
from nodenet.stages.apply.pipeline import Pipeline

log = structlog.get_logger()


class OpenCheckpoint:
    """The checkpoint of the apply that a pipeline's record names; those of other programs are left alone."""

    def __init__(self, manager: Manager, pipeline: Pipeline) -> None:
        """Ask *manager* for the checkpoints, *pipeline* for the record."""
        self._manager = manager
        self._pipeline = pipeline
        self._began = pipeline.now()

    async def is_open(self) -> bool:
        """Return whether the present apply can still be rolled back. Raises Unavailable."""
        return bool(await self._found(self._pipeline.now()))

    async def extend(self, seconds: int) -> None:
        """Let NetworkManager wait *seconds* from now before it rolls the present apply back. Raises Unavailable."""
        record = self._pipeline.record
        for checkpoint in await self._found(self._pipeline.now()):
            if record:
                self._pipeline.save(record.with_checkpoint(checkpoint))  # its time-out says nothing any more
                await self._manager.extend(checkpoint.path, seconds)
                return
        raise Unavailable("NetworkManager has no checkpoint of this apply any more")

    async def roll_back_interrupted(self) -> bool:
        """Roll back what an apply has left that was interrupted; return whether there was any.

        Raises RollbackFailed, Unavailable.
        """
        found = await self._found(self._began)
        for checkpoint in found:
            await self._manager.roll_back(checkpoint.path)
            log.warning(
                "Rolled back the checkpoint of an apply that was interrupted",
                message=Message.CHECKPOINT_CLEARED,
                checkpoint=checkpoint.path,
            )
        return bool(found)

    async def _found(self, end: float) -> list[Checkpoint]:
        """Return the checkpoint of the record, made before *end* (CLOCK_BOOTTIME)."""
        record, boot_id = self._pipeline.record, self._pipeline.boot_id
        return [one for one in await self._manager.checkpoints() if is_ours(one, record, boot_id, end)]
