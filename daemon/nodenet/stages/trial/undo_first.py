"""When does a node get the network back from before a trial that nodenetd or the node did not survive?

Before the node file is looked for, in the first attempt of the stage nmstate. While a trial runs, no stage does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import structlog

from nodenet.core.backoff import backoff
from nodenet.core.boot.facts import Facts
from nodenet.core.boot.outcome import Again, Done, Failed, Outcome, Problem, Skipped, Waiting, beside
from nodenet.core.boot.request import NOTHING, Request
from nodenet.core.change.way_back import Kept
from nodenet.core.errors import NodenetError, PublishFailed, RollbackFailed, Unavailable
from nodenet.core.messages import Message
from nodenet.core.network_manager.availability import ManagerState
from nodenet.core.trial.trial import not_applied
from nodenet.ports import Stage
from nodenet.stage_edges import Presence
from nodenet.stages.apply.network_before import NetworkBefore
from nodenet.stages.apply.node_file import NodeFiles
from nodenet.stages.apply.pipeline import MANAGER

log = structlog.get_logger()

AGAIN_SECONDS = 5.0
"""When a NetworkManager that refuses is asked again."""
LONGEST_SECONDS = 300.0
"""Between two tries to remove a record on a disk that takes nothing."""
Ended = Done | Skipped | Failed
MOST_TRIES = 12
"""After so many refusals the stage runs all the same: it reports what is wrong."""


@dataclass(slots=True)
class Restored:
    """What a trial has *kept* whose network is back: then only its record is to be removed.

    Every reload builds the stages again and gives them the same object: an administrator may have changed that network.
    """

    kept: Kept | None = None


class UndoTrialFirst:
    """Ends a trial that was interrupted, then runs the stage."""

    def __init__(
        self, stage: Stage, before: NetworkBefore, presence: Presence, node_files: NodeFiles, restored: Restored
    ) -> None:
        """Run *stage* once *before* has put back what it must; *node_files* has the file of the node."""
        self._stage = stage
        self._before = before
        self._restored = restored
        self._presence = presence
        self._node_files = node_files
        self._refusals = 0
        self._logged = ""
        """The digest of the trial whose end was logged."""
        self._name = ""
        """That of the file on trial, "" where the record cannot be read."""
        self._problem: Problem | None = None
        """Why a trial could not be ended; None where none is left."""
        self._failures = 0
        self._last: tuple[int, Ended] | None = None
        """The last outcome, and the number of its run; None where the network is another one since."""

    async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:
        """Return the stage's own outcome, or Waiting before that.

        After a trial that was not confirmed, an edit of the node's own file stays unapplied, as without a trial. Where
        the network comes back only after the stage has run, the stage runs again: its file may have been another one.
        """
        last = self._last
        if self._problem and last and last[0] == request.run:  # a later look, at the trial alone
            try:
                await self._undo(self._kept(), facts)
            except (Unavailable, RollbackFailed, PublishFailed) as error:
                self._put_off(error)
            if self._last is last or isinstance(last[1], Failed):  # what failed is not tried again without a reload
                self._last = last
                return self._with_record(replace(last[1], facts=facts))
            request = replace(request, as_read=True)
        elif waiting := await self._waiting(facts):
            return waiting
        outcome = await self._after_trial(facts, request)
        if isinstance(outcome, Waiting):
            return outcome
        self._last = request.run, outcome
        return self._with_record(outcome)

    async def _after_trial(self, facts: Facts, request: Request) -> Outcome:
        if request.as_read and (edited := self._node_files.edited(facts)):
            return Skipped(not_applied(edited), facts)
        return await self._stage.attempt(facts, request)

    def _with_record(self, outcome: Ended) -> Outcome:
        """Return *outcome*; where a trial could not be ended, with that as its problem, to look again."""
        if self._problem is None:
            return outcome
        shown = beside(outcome, self._problem)
        again = Again(seconds=backoff(self._failures, AGAIN_SECONDS, LONGEST_SECONDS))
        return shown if isinstance(shown, Waiting) else replace(shown, again=again)

    def _kept(self) -> Kept | None:
        """Return what a trial that has not ended has kept. Raises PublishFailed."""
        self._name = ""
        kept = self._before.kept
        self._name = kept.name if kept else ""
        return kept

    def _is_back(self, kept: Kept, facts: Facts) -> bool:
        """Return whether there is nothing to put back: it was, or the file is installed since it was confirmed."""
        return kept.digest == facts.digest or kept == self._restored.kept

    async def _undo(self, kept: Kept | None, facts: Facts) -> None:
        """End the trial of *kept*. Raises Unavailable, RollbackFailed, PublishFailed."""
        if kept and not self._is_back(kept, facts):
            await self._before.restore(kept)
            self._restored.kept, self._last = kept, None
        if kept and kept.digest == facts.digest:
            self._before.forget()
        elif kept:
            self._before.end(kept)
        self._restored.kept, self._problem, self._failures = None, None, 0

    def _put_off(self, error: NodenetError) -> None:
        """Try again later: with the record that is left, a later start of nodenetd would undo the network."""
        if not self._name:
            why = "it is not known whether a trial of a node file is to be undone"
        elif isinstance(error, PublishFailed):
            why = f"the record of the trial of {self._name}, which is over, cannot be removed"
        else:
            why = f"the network from before the trial of {self._name} is not back"
        self._problem = Problem.of(error, f"{error.cause}: {why}")
        self._failures += 1

    async def _waiting(self, facts: Facts) -> Waiting | None:
        """Return what the end of an interrupted trial waits for, None where the stage may run."""
        try:
            kept = self._kept()
            if kept and not self._is_back(kept, facts):
                state, words = await self._presence.look()
                if state not in (ManagerState.READY, ManagerState.STARTING):
                    return Waiting(words, MANAGER)
                self._log_once(kept)
            await self._undo(kept, facts)
        except PublishFailed as error:
            self._put_off(error)
        except (Unavailable, RollbackFailed) as error:
            self._refusals += 1
            if self._refusals < MOST_TRIES:
                return Waiting(f"the end of a trial: {error.cause}", MANAGER, AGAIN_SECONDS)
            self._put_off(error)
        return None

    def _log_once(self, kept: Kept) -> None:
        if self._logged != kept.digest:
            self._logged = kept.digest
            text = f"The trial of {kept.name} was interrupted; the network from before it comes back"
            log.warning(text, message=Message.TRIAL_ROLLED_BACK, stage="nmstate")
