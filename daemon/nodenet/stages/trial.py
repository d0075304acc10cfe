"""How is a node file tried: applied, held until an administrator decides, then installed or rolled back?

read → judge → refuse → keep the network → the apply pipeline with its probes, uncommitted → hold → install → commit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from pathlib import PurePath, PurePosixPath
from typing import Any

import structlog

from nodenet.core.apply import new_file
from nodenet.core.apply.intent import Phase
from nodenet.core.apply.new_file import NewFile
from nodenet.core.boot.outcome import Facts
from nodenet.core.br_ex.uplink import BRIDGE, EXTRA_BRIDGE
from nodenet.core.change.record import Change, What
from nodenet.core.change.way_back import Network
from nodenet.core.errors import Busy, NodenetError, PublishFailed, RollbackFailed, Unavailable, UsageInvalid
from nodenet.core.history.entry import OF_BRIDGES, Entry, Kind, missing_nics, network_of
from nodenet.core.messages import Message
from nodenet.core.nmstate.failure import NmstateFailure
from nodenet.core.nmstate.state import uplinks
from nodenet.core.node_file import find
from nodenet.core.node_file.content import Desired
from nodenet.core.node_file.find import APPLIED, NodeFile
from nodenet.core.node_file.finding import errors, refusal
from nodenet.core.settings.model import Settings
from nodenet.core.trial import refusals
from nodenet.core.trial.trial import ASIDE, MARGIN_SECONDS, STAGED, Decision, TrialEnded, TrialOrder, would_replace
from nodenet.core.value import frozen
from nodenet.ports import Administrator, Transaction
from nodenet.stage_edges import StageEdges
from nodenet.stages.apply.changes import shielded
from nodenet.stages.apply.history import History, Recorder, Story, path_of, shown_now
from nodenet.stages.apply.moved import prepared
from nodenet.stages.apply.network_before import ProfileKeeper, network_of_file
from nodenet.stages.apply.node_file import NodeFiles, all_findings
from nodenet.stages.apply.pipeline import Pipeline
from nodenet.stages.apply.policies import resolved
from nodenet.stages.apply.probes import Probes
from nodenet.stages.apply.probing import Probing, probing_around
from nodenet.stages.apply.records import NEW_FILE, PRIVATE

log = structlog.get_logger()

LOOK_SECONDS = 2.0
"""How often it is looked whether NetworkManager still has the checkpoint."""
BRIDGES = (BRIDGE, EXTRA_BRIDGE)
TIME_OVER = "its time is over, and it was not confirmed"
ROLLED_BACK = "an administrator rolled it back"
LOST = "NetworkManager no longer has the trial's checkpoint: it was restarted, or another program ended the checkpoint"


@frozen
class Job:
    """One trial: what is tried, and where it is installed; *replaced* is what is there now (None: nothing)."""

    order: TrialOrder
    file: NodeFile
    wish: Desired
    facts: Facts
    target: PurePath
    replaced: bytes | None
    administrator: Administrator
    difference: Mapping[str, Any]
    was: Mapping[str, Any]
    """The network before, as it is shown."""
    entry: Entry | None = None
    """What is gone back to, and its *network*."""
    network: Network | None = None

    @property
    def aside(self) -> PurePath:
        """Where the replaced file is kept until the commit."""
        return self.target.with_name(ASIDE)

    @property
    def is_good(self) -> bool:
        """Whether the node is known to work with it: an administrator has confirmed it, or it did so before."""
        return bool(self.order.seconds) or (self.entry is not None and self.entry.good)


@dataclass(slots=True)
class Course:
    """How far a trial came: why it *ended*, as a trial may, and whether its file was *installed*.

    *stuck*: why the confirmed file could not be taken away again.
    """

    ended: TrialEnded | None = None
    installed: bool = False
    stuck: PublishFailed | None = None


class TrialRun:
    """Tries node files, one at a time."""

    def __init__(self, edges: StageEdges, settings: Settings, pipeline: Pipeline, node_files: NodeFiles) -> None:
        """Work through *edges* and *pipeline*; confirmed files go where *node_files* are."""
        self._edges = edges
        self._directory = node_files.directory
        self._pipeline = pipeline
        self._changes = pipeline.changes
        self._keeper = ProfileKeeper(edges.profiles, edges.files)
        self._recorder = Recorder.of(edges, settings)
        self._to_entry = ToEntry(History(edges.files), self._keeper)
        self._probes = Probes.of(edges, settings)
        self._node_files = node_files

    async def hold(self, order: TrialOrder, facts: Facts, administrator: Administrator) -> str:
        """Try a file; return the path where it is installed once it is confirmed. Raises NodenetError.

        The network is as before where this raises, unless the error says otherwise.
        """
        entry = self._to_entry.entry(order.entry, facts.hostname) if order.entry else None
        file = find.read(order.name, entry.text.encode()) if entry else self._staged(order)
        found = self._node_files.find(facts.hostname).found
        target = self._directory / refusals.install_name(found, facts.hostname)
        replaced = self._edges.files.read(target)
        async with self._edges.nmstate.transaction() as transaction:
            wish = await _judged(file, transaction)
            if wish.is_policy:
                file = await resolved(file, transaction, await self._pipeline.others.now(bridges=True))
                wish = await _judged(file, transaction)
            network = await self._to_entry.network(entry, wish, force=order.force) if entry else None
            difference = await self._refuse(file, wish, transaction, network)
            was = await shown_now(transaction)
            self._refuse_changed(file, facts, is_entry=network is not None)
            job = Job(order, file, wish, facts, target, replaced, administrator, difference, was, entry, network)
            try:
                async with probing_around(self._probes, file, wish, proven=False) as probing:
                    await self._try(job, transaction, probing)
            finally:
                self._probes.forget()  # what answers before the next trial of this file is another matter
            await self._keep(job, transaction)
        return str(target)

    def _staged(self, order: TrialOrder) -> NodeFile:
        """Return the file that nodenetctl has left for us, and remove it: it may contain secrets."""
        path = PurePosixPath(STAGED) / f"{order.digest}.yml"
        content = self._edges.files.read(path)
        if content is None or hashlib.sha256(content).hexdigest() != order.digest:
            raise UsageInvalid(f"{path} is not the file to try", remedy="Use `nodenetctl try`, which writes it")
        with suppress(PublishFailed):
            self._edges.files.remove(path)
        return find.read(order.name, content)

    async def _refuse(
        self, file: NodeFile, wish: Desired, transaction: Transaction, network: Network | None
    ) -> dict[str, Any]:
        """Return what the file changes, where the trial may begin. Raises NodenetError."""
        if waiting := await self._pipeline.obstacle(file.name, uses_ovs=wish.uses_ovs):
            raise Busy(waiting.reason, remedy="Try again when this is over")
        state = await transaction.show()
        present = [bridge for bridge in BRIDGES if bridge not in wish.bridges or self._is_made_by_us(bridge)]
        below = {link: bridge for bridge in present for link in uplinks(state, (bridge,))}
        try:
            others = await self._pipeline.others.now(bridges=wish.uses_ovs)
            difference = await transaction.difference(file.text, others)
        except NmstateFailure as failure:
            known = refusals.below_bridge(file.name, wish, wish.links.existing & below.keys(), below)
            raise known or _shown(failure, wish) from failure
        if known := refusals.below_bridge(file.name, wish, refusals.touched_links(difference), below):
            raise known
        if not difference and (network is None or await self._changes.is_that_of(network)):
            raise refusals.nothing_to_try(file.name)
        if known := refusals.not_undone(file.name, difference, state):
            raise known
        return difference

    def _refuse_changed(self, file: NodeFile, facts: Facts, *, is_entry: bool) -> None:
        """Return where the stage nmstate, which runs after every trial, finds the file that is in force now.

        Raises UsageInvalid.
        """
        edited = self._node_files.edited(facts)
        if edited or (facts.digest == file.digest and not is_entry):
            raise refusals.own_file_changed(edited or facts.node_file or file.name)

    def _is_made_by_us(self, bridge: str) -> bool:
        """Return whether the stage configure-ovs, and no file, has made *bridge*."""
        record = self._pipeline.record
        return bridge == BRIDGE and not (record and record.brings_bridge)

    async def _try(self, job: Job, transaction: Transaction, probing: Probing) -> None:
        before = self._pipeline.record
        await probing.begin()
        if job.network:
            network = await self._to_entry.before(job.wish, job.network)
        else:
            network = await network_of_file(self._keeper, job.wish)
        in_force = before.in_force if before else job.facts.applied_digest
        brings = before.brings_bridge if before else job.facts.brings_bridge
        record = self._pipeline.intent(job.file.digest, Phase.APPLYING, in_force=in_force, brings_bridge=brings)
        record = replace(record, way_out=probing.way_out)
        change = Change(What.TRIAL, job.file.name, record, network, str(job.target))
        digest, bridge = job.file.digest, job.wish.brings_bridge
        good = self._pipeline.intent(digest, Phase.GOOD, in_force=digest, brings_bridge=bridge)
        course = Course()
        job.administrator.begins()
        try:
            hold = partial(self._hold, job, probing, course)
            async with prepared(self._pipeline.changes, change.before, job.file.name, job.difference):
                await self._pipeline.apply(transaction, job.file.text, change, good, hold)
        except BaseException as error:
            failed = await shielded(self._back(job, probing, course), "The end of a trial")
            known = _shown(error, job.wish) if isinstance(error, NmstateFailure) else error
            if course.stuck and isinstance(known, NodenetError):
                known = refusals.still_installed(job.target, course.stuck, known)
            if failed and isinstance(known, NodenetError):
                raise _not_back(failed, known) from error
            if course.ended and isinstance(error, NodenetError):  # the pipeline has worded it as a failed apply
                raise course.ended from error
            if known is not error:
                raise known from error
            raise

    async def _hold(self, job: Job, probing: Probing, course: Course) -> None:
        """Return once the trial is confirmed and its file is installed. Raises NodenetError where it is to end."""
        if job.network:
            await self._changes.make(job.network, job.order.name)
        await probing.accept()
        if job.order.seconds:
            await self._held(job, course)
        if job.replaced is not None:
            self._edges.files.write(job.aside, job.replaced, PRIVATE)
        # Before the commit: whatever ends the node between the two, the next boot applies this file.
        course.installed = True
        if job.file.policy:
            self._node_files.policies.keep(job.file)
        self._edges.files.write(job.target, job.file.written.encode(), PRIVATE)

    async def _held(self, job: Job, course: Course) -> None:
        """Return once the trial is confirmed. Raises NodenetError where it is to end."""
        await self._pipeline.extend(int(job.order.seconds) + MARGIN_SECONDS)
        until = self._pipeline.now() + job.order.seconds
        log.info(
            f"{job.file.name} is on trial for {job.order.seconds:g} s; {job.order.who} started it",
            message=Message.TRIAL_HOLDS,
            digest=job.file.digest,
        )
        job.administrator.holds(until)
        if end := await self._decided(until, job):
            course.ended = end
            raise end

    async def _decided(self, until: float, job: Job) -> TrialEnded | None:
        """Return why the trial ends, None where it is confirmed."""
        while (left := until - self._pipeline.now()) > 0:
            decision = await job.administrator.decided(min(left, LOOK_SECONDS))
            if decision is Decision.ROLL_BACK:
                return TrialEnded(ROLLED_BACK)
            with suppress(Unavailable):  # NetworkManager does not answer at present
                if not await self._pipeline.has_checkpoint():
                    return TrialEnded(LOST, remedy="Look at `journalctl -u NetworkManager`, and try again")
            if decision is Decision.CONFIRM:
                if self._edges.files.read(job.target) in (job.replaced, job.file.written.encode()):
                    return None
                job.administrator.refuses(would_replace(job.target.name))
        return TrialEnded(TIME_OVER)

    async def _back(self, job: Job, probing: Probing, course: Course) -> NodenetError | None:
        """Put back what the pipeline has not, after a trial that was not confirmed; return why that failed, if so.

        The loop tries again what failed.
        """
        try:
            self._uninstall(job, course)
            if edited := self._node_files.edited(job.facts):
                job.administrator.edited(edited)
            if change := self._changes.open:
                await self._changes.started()
                await self._changes.undo(change, self._pipeline.now())
            await probing.restored()
        except NodenetError as error:
            return error
        return None

    def _uninstall(self, job: Job, course: Course) -> None:
        """Put the file back that the confirmed one has replaced; an edit of an administrator stays."""
        files = self._edges.files
        try:
            if not course.installed or files.read(job.target) != job.file.written.encode():
                self._forget_aside(job)
            elif job.replaced is None:
                files.remove(job.target)
            else:
                files.rename(job.aside, job.target)  # the disk may be full by now
        except PublishFailed as error:
            course.stuck = error

    def _forget_aside(self, job: Job) -> None:
        with suppress(PublishFailed):  # the next nodenetd removes it
            self._edges.files.remove(job.aside)

    async def _keep(self, job: Job, transaction: Transaction) -> None:
        """Write the records of a confirmed file. A record that the disk does not take is written by the stages."""
        digest = job.file.digest
        self._forget_aside(job)
        store = self._edges.store
        store.save(PurePosixPath(self._directory / APPLIED), job.file.text.encode())
        if job.is_good:
            store.save(NEW_FILE, new_file.render(NewFile(digest, ready=self._pipeline.boot_id)))
        with suppress(PublishFailed):
            kind, verb = (Kind.ROLLBACK, "rollback") if job.entry else (Kind.TRIAL, "try")
            story = Story(kind, job.facts.hostname, f"{verb} by {job.order.who}", good=job.is_good, was=job.was)
            await self._recorder.committed(replace(job.file, name=job.target.name), job.wish, story, transaction)
        log.info(
            f"Entry {job.entry.number} of the history is in force again; its file is installed as {job.target}"
            if job.entry
            else f"The trial of {job.file.name} is confirmed; it is installed as {job.target}",
            message=Message.TRIAL_CONFIRMED,
            digest=digest,
        )


async def _judged(file: NodeFile, transaction: Transaction) -> Desired:
    """Return what *file* asks for. Raises NodeFileInvalid, NmstateFailure."""
    judged = await all_findings(file, transaction)
    if wrong := errors(judged.findings):
        raise refusal(file.name, wrong)
    if judged.desired.empty:
        raise refusals.asks_for_nothing(file.name)
    return judged.desired


def _not_back(failed: NodenetError, error: NodenetError) -> RollbackFailed:
    """Return why the trial ended with *error*, and that the way back *failed*."""
    cause = f"{error.cause}; the network from before the trial is not back yet: {failed.cause}"
    return RollbackFailed(cause, remedy="nodenetd tries again; look at `nodenetctl status`")


def _shown(failure: NmstateFailure, wish: Desired) -> NmstateFailure:
    """Return *failure* without the secrets of the file."""
    hidden = wish.secrets.hidden_in
    return type(failure)(failure.kind, hidden(failure.cause), hidden(failure.remedy))


LIST = "Look at `nodenetctl history`"


# When may a node go back to an earlier entry of the history, and to which network?
# The file of the entry is applied as on a trial, and the profiles of its network are put back before the probes: what
# later files have added goes. All of that is rolled back where it fails, or is not confirmed in time.


@frozen
class ToEntry:
    """Finds what is gone back to."""

    history: History
    keeper: ProfileKeeper

    def entry(self, number: int, hostname: str | None) -> Entry:
        """Return the entry *number*. Raises UsageInvalid where there is none to go back to, PublishFailed."""
        try:
            found = self.history.read(number)
        except ValueError as error:
            raise UsageInvalid(f"{path_of(number)} is damaged: {error}", remedy=LIST) from error
        if found is None:
            raise UsageInvalid(f"the history has no entry {number}", remedy=LIST)
        if found.network is None:
            lacks = "its change was refused" if found.cause else "it was kept without its network"
            lacks = "it is about br-ex; see `nodenetctl bridge`" if found.kind in OF_BRIDGES else lacks
            raise UsageInvalid(f"entry {number} of the history has no network to go back to: {lacks}", remedy=LIST)
        if why := found.refused_for(hostname):
            raise UsageInvalid(f"entry {number} of the history cannot be used: {why}", remedy=LIST)
        return found

    async def network(self, entry: Entry, wish: Desired, *, force: bool) -> Network:
        """Return the network of *entry* as it can come back. Raises NodenetError where it cannot."""
        present = await network_of_file(self.keeper, wish)
        newer = takewhile(lambda each: each.number > entry.number, self.history.all())
        network = network_of(entry, newer, present, (BRIDGE, EXTRA_BRIDGE))
        if network is None:  # refused before
            raise UsageInvalid(f"entry {entry.number} of the history has no network to go back to", remedy=LIST)
        links = {each.link for each in (await self.keeper.profiles.inventory(profiles=False)).devices}
        if (gone := missing_nics(network, links)) and not force:
            raise UsageInvalid(
                f"entry {entry.number} of the history has {' and '.join(gone)}, and this host has no such link",
                remedy="Add `--force` to go back with the other links, or correct the node file",
            )
        return network

    async def before(self, wish: Desired, network: Network) -> Network:
        """Return the present network, with the links of both. Raises Unavailable, PublishFailed."""
        now = await network_of_file(self.keeper, wish, whole=True)
        links, names = {*now.links, *network.links}, {*now.names, *network.names}
        return replace(now, links=tuple(sorted(links)), names=tuple(sorted(names)))


def trial_of(edges: StageEdges, settings: Settings) -> TrialRun:
    """Return what tries node files, for *settings*."""
    node_files = NodeFiles(edges.files, edges.nmstate, PurePath(settings.node_file_dir), edges.store)
    return TrialRun(edges, settings, Pipeline(edges, settings), node_files)
