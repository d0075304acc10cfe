"""Is this node file applied, or the last known good one in its place?

That one is used where boots with the file never reached READY or ended soon after it, and where the file failed its
probes after an apply of it was interrupted, or a failed apply could not be rolled back.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import takewhile

import structlog

from nodenet.core.apply import intent, new_file
from nodenet.core.apply.intent import Intent, Phase
from nodenet.core.apply.new_file import NewFile
from nodenet.core.boot.outcome import Problem, Waiting
from nodenet.core.br_ex.uplink import BRIDGE, EXTRA_BRIDGE
from nodenet.core.change.record import Change, What
from nodenet.core.errors import PublishFailed
from nodenet.core.history.entry import Entry, network_of
from nodenet.core.messages import Message
from nodenet.core.network_manager.state import ManagerState
from nodenet.core.node_file.content import Desired
from nodenet.core.node_file.find import NodeFile
from nodenet.ports import Files, Store
from nodenet.stage_edges import StageEdges
from nodenet.stages.apply.history import HISTORY, Good, History
from nodenet.stages.apply.network_before import ProfileKeeper, network_of_file
from nodenet.stages.apply.pipeline import MANAGER, Pipeline
from nodenet.stages.apply.records import NEW_FILE, Records


class Quarantine:
    """Counts the boots of a new file, and knows what takes its place."""

    def __init__(self, files: Files, store: Store, boot_id: str, limit: int) -> None:
        """Take a file out of use after *limit* boots with it that did not stay READY; 0: never."""
        self._history = History(files)
        self._records = Records(files, store)
        self._boot_id = boot_id
        self._limit = limit
        self._asked = ""
        """The digest of the file that an administrator asked for in this boot."""
        self._run: int | None = None
        """The run in which that was."""

    def choose(self, file: NodeFile, hostname: str | None, *, run: int | None) -> tuple[NodeFile, Problem | None]:
        """Return the file to apply, and the problem where it is not *file*, or boots with *file* did not stay READY.

        *run*: the number of the run in which an administrator asks for *file*; each asks once.
        """
        known = self._known()
        if run not in (None, self._run):
            self._run, self._asked = run, file.digest
            known = self._without_cut(known)
        lost = new_file.lost_boots(known, file.digest, self._boot_id)
        if known and (known.digest, known.cut_off) == (file.digest, self._boot_id):
            what = f"{file.name} {known.cause}"
        elif self._limit and lost >= self._limit and self._asked != file.digest:
            what = f"{lost} boots in a row with {file.name} did not reach READY or ended soon after it"
        else:
            return file, None
        good, problem = self._last_good(file, hostname, what)
        return (good.file if good else file), problem

    def has_other(self, file: NodeFile, hostname: str | None) -> bool:
        """Return whether another file than *file* is known good and may be used in its place."""
        return bool(self._limit) and self._last_good(file, hostname, "")[0] is not None

    def had_gateway(self, file: NodeFile, hostname: str | None) -> bool:
        """Return whether a gateway answered with the last known good file, if that is another one than *file*."""
        good = self._last_good(file, hostname, "")[0]
        return good is not None and good.had_gateway

    def was_cut_short(self, record: Intent | None, file: NodeFile, hostname: str | None) -> bool:
        """Return whether an apply of *file* was interrupted that may have cut the node off, and there is a way back."""
        if record is None or not intent.cut_short(record, file.digest):
            return False
        # In a later boot no checkpoint leads back, and without another file nothing does.
        return record.boot_id == self._boot_id or self.has_other(file, hostname)

    def give_up(self, file: NodeFile, hostname: str | None, cause: str) -> bool:
        """Use the last known good file in the place of *file* for the rest of this boot; return whether there is one.

        *cause* says what *file* did, as "failed its probes (…)".
        """
        if not self.has_other(file, hostname):
            return False
        record = new_file.begun(self._known(), file.digest, self._boot_id)
        self._records.save(NEW_FILE, new_file.render(replace(record, cut_off=self._boot_id, cause=cause)))
        return True

    def _without_cut(self, known: NewFile | None) -> NewFile | None:
        """Return what is *known* of a file that is to be tried again though it was given up in this boot."""
        if known is None or not known.cut_off:
            return known
        again = replace(known, cut_off="", cause="")
        self._records.save(NEW_FILE, new_file.render(again))
        return again

    def begin(self, digest: str, hostname: str | None) -> None:
        """Note that this boot begins with the file *digest*, unless that is the last known good one."""
        before = self._known()
        good = self._good(hostname)
        worked = before is not None and before.digest == digest and before.ready
        if digest == good or (worked and good is None):  # without another file there is nothing to go back to
            return
        if self._asked == digest and new_file.lost_boots(before, digest, self._boot_id):
            before = None
        self._records.save(NEW_FILE, new_file.render(new_file.begun(before, digest, self._boot_id)))

    def _last_good(self, file: NodeFile, hostname: str | None, what: str) -> tuple[Entry | None, Problem | None]:
        try:
            found = self._history.good(hostname)
            why = found.why
        except PublishFailed as error:
            found, why = Good(), error.cause
        good = found.entry
        if good is None and why:
            cause = f"{what}, and no good entry of the history in {HISTORY} can be used: {why}"
            remedy = f"Correct {file.name}, or run `nodenetctl reload --wait`; remove the entry if it is another node's"
            return None, Problem(Message.RECORD_UNREADABLE, cause, remedy)
        if good is None or good.digest == file.digest:
            return None, None  # there is nothing to go back to
        cause = f"{what}: the last known good {good.name} is used in its place"
        remedy = f"Correct {file.name}; `nodenetctl reload --wait` tries it once more as it is"
        return good, Problem(Message.NODE_FILE_QUARANTINED, cause, remedy)

    def _good(self, hostname: str | None) -> str | None:
        """Return the digest of the last known good file, None without one."""
        with suppress(PublishFailed):
            good = self._history.good(hostname).entry
            return good.digest if good else None
        return None

    def _known(self) -> NewFile | None:
        with suppress(PublishFailed):
            return self._records.load(NEW_FILE, new_file.parse)
        return None


log = structlog.get_logger()


class GoingBack:
    """Lets the last known good network come back, once for each file that is given up."""

    def __init__(self, edges: StageEdges, pipeline: Pipeline) -> None:
        """Take the network from the history, and leave it to the undo of *pipeline*'s open change."""
        self._keeper = ProfileKeeper(edges.profiles, edges.files)
        self._history = History(edges.files)
        self._presence = edges.presence
        self._pipeline = pipeline
        self._begun = 0
        """The number of the entry that this process has gone back to."""

    async def first(self, wish: Desired, hostname: str | None) -> Waiting | None:
        """Let the good network come back that the file with *wish* is given up for; return what that waits for, if so.

        Nothing is done where the network is that of the good file, as it is after an apply that was undone. Raises
        Unavailable, PublishFailed.
        """
        good, record = self._history.good(hostname).entry, self._pipeline.record
        if good is None or good.number == self._begun or record is None or record.in_force == good.digest:
            return None
        state, words = await self._presence.look()
        if state not in (ManagerState.READY, ManagerState.STARTING):
            return Waiting(words, MANAGER)
        newer = takewhile(lambda each: each.number > good.number, self._history.all())
        network = network_of(good, newer, await network_of_file(self._keeper, wish), (BRIDGE, EXTRA_BRIDGE))
        if network is None:
            return None
        # Not one that has succeeded: the network comes back, also by the next nodenetd.
        apply = self._pipeline.intent(good.digest, Phase.APPLYING, in_force=None, brings_bridge=False)
        self._pipeline.changes.leave(Change(What.GOING_BACK, good.name, apply, network))
        self._begun = good.number
        text = f"The network of {good.name} comes back, as it was in entry {good.number} of the history"
        log.warning(text, message=Message.CHANGE_UNDONE, stage="nmstate", entry=good.number)
        return Waiting(f"the network of {good.name}, as it was in entry {good.number} of the history", seconds=0.0)
