"""When does a node get the network back from before a trial that nodenetd or the node did not survive?

Before the node file is looked for, in the first attempt of the stage nmstate. While a trial runs, no stage does.
"""

from __future__ import annotations

import structlog

from nodenet.core.boot.facts import Facts
from nodenet.core.boot.outcome import Outcome, Skipped, Waiting
from nodenet.core.boot.request import NOTHING, Request
from nodenet.core.errors import PublishFailed, RollbackFailed, Unavailable
from nodenet.core.messages import Message
from nodenet.core.network_manager.availability import ManagerState
from nodenet.core.trial.trial import not_applied
from nodenet.ports import Stage
from nodenet.stage_edges import Presence
from nodenet.stages.apply.node_file import NodeFiles
from nodenet.stages.apply.pipeline import MANAGER
from nodenet.stages.trial.before import NetworkBefore

log = structlog.get_logger()

AGAIN_SECONDS = 5.0
"""When a NetworkManager that refuses is asked again."""
MOST_TRIES = 12
"""After so many refusals the stage runs all the same: it reports what is wrong."""


class UndoTrialFirst:
    """Ends a trial that was interrupted, then runs the stage."""

    def __init__(self, stage: Stage, before: NetworkBefore, presence: Presence, node_files: NodeFiles) -> None:
        """Run *stage* once *before* has put back what it must; *node_files* has the file of the node."""
        self._stage = stage
        self._before = before
        self._presence = presence
        self._node_files = node_files
        self._refusals = 0

    async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:
        """Return the stage's own outcome, or Waiting before that.

        After a trial that was not confirmed, an edit of the node's own file stays unapplied, as without a trial.
        """
        if waiting := await self._waiting(facts):
            return waiting
        if request.as_read and (edited := self._node_files.edited(facts)):
            return Skipped(not_applied(edited), facts)
        return await self._stage.attempt(facts, request)

    async def _waiting(self, facts: Facts) -> Waiting | None:
        """Return what the end of an interrupted trial waits for, None where none is left."""
        try:
            if (kept := self._before.kept) is None:
                return None
            if kept.digest == facts.digest:  # it was installed: the trial was confirmed
                self._before.forget()
                return None
            state, words = await self._presence.look()
            if state not in (ManagerState.READY, ManagerState.STARTING):
                return Waiting(words, MANAGER)
            log.warning(
                f"The trial of {kept.name} was interrupted; the network from before it comes back",
                message=Message.TRIAL_ROLLED_BACK,
                stage="nmstate",
            )
            await self._before.restore(kept)
        except PublishFailed:  # the stage reads the same disk, and reports it
            return None
        except (Unavailable, RollbackFailed) as error:
            self._refusals += 1
            if self._refusals < MOST_TRIES:
                return Waiting(f"the end of a trial: {error.cause}", MANAGER, AGAIN_SECONDS)
            log.error(error.cause, message=Message.ROLLBACK_FAILED, stage="nmstate", remedy=error.remedy)
        return None
