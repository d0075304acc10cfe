"""The nmstate stage: is this node's file applied, and if not, can it be applied?

find → read → parse → this one or the last known good? → ready? → difference → plan → the apply pipeline with its
probes → record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import PurePath
from typing import Any

import structlog

from nodenet.core.apply import intent
from nodenet.core.apply.awaited_links import unsettled_reason
from nodenet.core.apply.intent import Intent, Phase, Plan
from nodenet.core.apply.new_file import TRIES, delay
from nodenet.core.boot.outcome import Done, Facts, Failed, Outcome, Problem, Skipped, Waiting, beside
from nodenet.core.boot.stage_state import EVENT, NOTHING, Request
from nodenet.core.change.record import Change, What
from nodenet.core.errors import (
    LibnmstateMissing,
    NodeFileInvalid,
    NodenetError,
    PublishFailed,
    RollbackFailed,
    Unavailable,
)
from nodenet.core.messages import Message
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.node_file.content import Desired
from nodenet.core.node_file.find import NodeFile, Rivals, Search
from nodenet.core.probes.verdict import ProbeFailed
from nodenet.core.settings.model import Settings
from nodenet.core.trial.trial import APPLY_IT, not_applied
from nodenet.ports import Transaction
from nodenet.stage_edges import StageEdges
from nodenet.stages.apply.history import Recorder, log_changed, shown_now
from nodenet.stages.apply.moved import prepared
from nodenet.stages.apply.network_before import ProfileKeeper, network_of_file
from nodenet.stages.apply.node_file import NodeFiles
from nodenet.stages.apply.pipeline import MANAGER, Pipeline
from nodenet.stages.apply.probes import Probes
from nodenet.stages.apply.probing import Probing, probing_around
from nodenet.stages.nmstate.drift import Drift
from nodenet.stages.nmstate.in_force import InForce, LaterTries, Refusal, Tries
from nodenet.stages.nmstate.job import Job, Wanted, failed, left_behind, without_secrets
from nodenet.stages.nmstate.links import MissingLinks, OtherNames, Settling
from nodenet.stages.nmstate.quarantine import GoingBack, Quarantine

log = structlog.get_logger()

SETTLING_SECONDS = 1.0
"""How often it is looked whether NetworkManager has activated the links of the file."""
UNAVAILABLE_SECONDS = 5.0
"""When something that does not answer is asked again without an event."""


class NmstateStage:
    """Applies the node file, or reports why not and leaves the network as it was."""

    def __init__(  # noqa: PLR0913  (its parts)
        self,
        edges: StageEdges,
        pipeline: Pipeline,
        settling: Settling,
        probes: Probes,
        quarantine: Quarantine,
        missing: MissingLinks,
        going_back: GoingBack,
        recorder: Recorder,
        other_names: OtherNames,
        later_tries: LaterTries,
        directory: PurePath,
        *,
        prunes: bool = False,
        changes_degrade: bool = False,
    ) -> None:
        """Look for node files in *directory*; *prunes*: each apply removes what earlier ones have left over.

        *changes_degrade*: what another program changes is a problem, and no note.
        """
        self._node_files = NodeFiles(edges.files, edges.nmstate, directory, edges.store)
        self._nmstate = edges.nmstate
        self._keeper = ProfileKeeper(edges.profiles, edges.files)
        self._pipeline = pipeline
        self._settling = settling
        self._probes = probes
        self._quarantine = quarantine
        self._missing = missing
        self._going_back = going_back
        self._recorder = recorder
        self._other_names = other_names
        self._prunes = prunes
        self._later_tries = later_tries
        self._directory = directory
        self._in_force = InForce(edges.store, pipeline, directory)
        self._tries = Tries()
        self._refusal = Refusal(pipeline, probes, self._in_force)
        self._drift = Drift(edges, pipeline, self._in_force, degrades=changes_degrade)
        self._told = ""

    async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:
        """Return the outcome of one pass, or of a later look. Raises LibnmstateMissing."""
        if looked := await self._drift.look(facts, request):
            return looked
        if request.who == EVENT and (refused := await self._later_tries.not_now(facts)):
            return refused
        self._later_tries.began()
        self._drift.began()
        facts = replace(facts, compared=None)
        return self._drift.ended(await self._pass(facts, request), request)

    async def _pass(self, facts: Facts, request: Request) -> Outcome:
        try:
            if request.as_read and (edited := self._node_files.edited(facts)):
                return Skipped(not_applied(edited), facts)
            facts = replace(facts, node_file=None, digest=None, unused=None)
            facts = replace(facts, left_over=(), renamed=(), changed=())
            facts = replace(facts, file_families=frozenset(), file_addresses=frozenset())
            found = self._node_files.find(facts.hostname)
            if found.found is None:
                return self._none(facts, f"no node file: looked for {', '.join(found.tried)} in {self._directory}")
            facts = replace(facts, node_file=found.found)
            file = self._node_files.read(found.found, facts.hostname)
            if request.retry_refused and file.policy and not self._in_force.knows(file):
                file = NodeFile.of(file.name, file.policy)  # its document never came into force
            facts = replace(facts, digest=file.digest)
            wish = await self._node_files.wanted(file, found)
            if wish.is_policy:
                resolved = await self._resolved(file, facts)
                if not isinstance(resolved, NodeFile):
                    return resolved
                file, facts = resolved, replace(facts, digest=resolved.digest)
                wish = await self._node_files.wanted(file, found)
            return await self._wanted(file, wish, found, facts, request)
        except (NodeFileInvalid, RollbackFailed, PublishFailed) as error:
            return self._ended(facts, error)
        except Unavailable as error:
            return Waiting(error.cause, MANAGER, UNAVAILABLE_SECONDS)

    async def _wanted(self, file: NodeFile, wish: Desired, found: Search, facts: Facts, request: Request) -> Outcome:
        """Settle *file* unless it asks for nothing. Raises."""
        if wish.empty:
            why = "has nothing but comments" if file.text.strip() else "is empty"
            facts = replace(facts, node_file=None, digest=None, unused=(file.name, file.digest))
            return self._none(facts, f"{file.name} {why}: nothing to apply")
        facts = replace(facts, file_families=wish.demands.families, file_addresses=wish.stated)
        self._tell_found(file)
        return await self._chosen(file, wish, found, facts, request)

    async def _chosen(self, own: NodeFile, wish: Desired, found: Search, facts: Facts, request: Request) -> Outcome:
        """Settle *own*, or the last known good file in its place, behind the network of that one. Raises."""
        run = request.run if request.retry_refused else None
        file, problem = self._quarantine.choose(own, facts.hostname, run=run)
        cut_short = self._quarantine.was_cut_short(self._pipeline.record, file, facts.hostname)
        prune = request.prune or self._prunes
        began, retry = self._pipeline.now(), request.retry_refused
        job = Job(file, wish, facts, began, retry, request.who, cut_short, prune=prune)
        if file.digest != own.digest:
            goes_back = not await self._leaves_alone(job)
            if goes_back and (waiting := await self._going_back.first(wish, facts.hostname)):
                return replace(waiting, facts=self._in_force.before(facts))
            job = replace(job, wish=await self._node_files.wanted(file, found))
        followed = await self._other_names.followed(job)
        if isinstance(followed, Waiting):
            return replace(followed, facts=self._in_force.before(facts))
        return beside(await self._settled(followed), problem or self._other_names.problem(followed))

    async def _leaves_alone(self, job: Job) -> bool:
        """Return whether the network stays as it is: a new process under a running kubelet is no order."""
        return not job.is_ordered and await self._later_tries.leaves_alone(self._pipeline.record, job.digests)

    def _ended(self, facts: Facts, error: NodenetError) -> Outcome:
        """Return the outcome of a pass that *error* has ended."""
        if isinstance(error, Rivals):
            facts = replace(facts, node_file=error.names)
        return failed(self._in_force.before(facts), error, error.cause)

    def _none(self, facts: Facts, reason: str) -> Outcome:
        """Skip: no file asks for anything. What an earlier file configured stays active and in the status."""
        return Skipped(reason, replace(self._in_force.before(facts), brings_bridge=False))

    def _tell_found(self, file: NodeFile) -> None:
        if self._told != file.digest:
            self._told = file.digest
            path = self._directory / file.name
            fields = {"stage": "nmstate", "node_file": str(path), "digest": file.digest}
            log.info(f"Found the node file {path}", message=Message.NODE_FILE_FOUND, **fields)

    async def _settled(self, job: Job) -> Outcome:
        """Settle; where NetworkManager could not roll the file back, wait for the last known good one. Raises."""
        try:
            return await self._settle(job)
        except RollbackFailed as error:
            if waiting := self._instead(job, f"could not be rolled back ({error.cause})"):
                return waiting
            return self._refusal.of(job, error)

    async def _settle(self, job: Job) -> Outcome:
        """Ask for the difference and do what it calls for."""
        if used_up := self._tries.used_up(job.file.digest, self._pipeline.now()):
            return self._refusal.of(job, used_up)
        if waiting := self._missing.still(job):
            return replace(waiting, facts=self._in_force.before(job.facts))
        compared = self._in_force.is_only_compared(job.file)
        job = replace(job, unsettled=await self._settling.links(job.wish, in_force=compared))
        if waiting := await self._obstacle(job, compared=compared):
            return replace(waiting, facts=self._in_force.before(job.facts))
        try:
            known = self._in_force.knows(job.file)
            last = self._pipeline.record
            proven = known or job.file.digest != job.facts.digest  # the last known good one
            had_gateway = job.interrupted or bool(last and intent.had_way_out(last, job.file.digest))
            had_gateway |= not proven and self._quarantine.had_gateway(job.file, job.facts.hostname)
            around = partial(probing_around, self._probes, job.file, job.wish, proven=proven)
            async with (
                self._nmstate.transaction() as transaction,
                around(had_gateway=had_gateway, patience=self._patience(job)) as probing,
            ):
                left = await self._in_force.difference(job.named, job.wish, transaction)
                return self._drift.in_force(job, await self._carry_out(job, transaction, probing, left))
        except NmstateFailure as failure:
            return await self._again_or_refused(job, failure)

    def _patience(self, job: Job) -> float:
        """Return for how many seconds a silent gateway is asked before the apply.

        Where another file is good, it must be known whether the node was cut off before. After a cut it is known.
        """
        is_unknown = not job.interrupted and self._quarantine.has_other(job.file, job.facts.hostname)
        return self._probes.forward_seconds if is_unknown else 0.0

    async def _carry_out(
        self, job: Job, transaction: Transaction, probing: Probing, left: Mapping[str, Any]
    ) -> Outcome:
        record, file, boot_id = self._pipeline.record, job.file, self._pipeline.boot_id
        if job.unsettled and left and self._in_force.knows(file):
            return self._until_settled(job)  # what it gave a link may be on its way still
        old = await self._recorder.left_over(job.wish, job.facts.hostname, transaction)
        job, removed = left_behind(job, old)
        matches = not (left or removed)
        retry = job.retry_refused or await self._later_tries.is_due(file.digest)
        plan = intent.plan(file.digest, record, boot_id, matches=matches, retry_refused=retry)
        if plan is not Plan.REFUSE and file.digest == job.facts.digest:
            self._quarantine.begin(file.digest, job.facts.hostname)
        match plan:
            case Plan.KEEP:
                self._in_force.mark(file)
                await self._recorder.committed(file, job.wish, job.story(), transaction)
                reason = f"{file.name} is applied already and the state matches it"
                return Skipped(reason, job.applied, Message.NETWORK_UNCHANGED)
            case Plan.ADOPT:
                self._pipeline.save(self._good(job))
                self._in_force_now(job)
                await self._recorder.committed(file, job.wish, job.story(), transaction)
                said = f"{file.name} asks for what is there already; nothing was applied"
                return Done(said, job.applied, Message.NETWORK_UNCHANGED)
            case Plan.REFUSE if record:
                self._tries.over(file.digest)
                problem = Problem(Message.APPLY_FAILED, record.cause, record.remedy)
                refused = Failed(problem, self._in_force.before(job.facts))
                return await self._later_tries.later(file.digest, refused)
            case _ if instead := await self._instead_of_apply(job):
                return instead
            case _:
                done = await self._apply(job, transaction, probing, Wanted.of(job.named.text, left, removed))
        if record and record.digest == file.digest and not (job.retry_refused or job.renamed):
            log_changed(record, boot_id, file.name, left, "nmstate")
        return done

    async def _instead_of_apply(self, job: Job) -> Outcome | None:
        """Return the outcome of a file that is not applied now, None where it is."""
        if not await self._leaves_alone(job):
            waiting = await self._missing.before(job)
            return waiting and replace(waiting, facts=self._in_force.before(job.facts))
        name = job.file.name
        if self._in_force.knows(job.file):
            reason = f"{name} is in force; what differs from it stays until a reload or a boot, because kubelet runs"
            return Skipped(reason, job.applied, Message.NETWORK_UNCHANGED)
        cause = f"{name} is another file than the one in force, and is not applied without an order while kubelet runs"
        # Nothing has failed: also with `on_failure` = "wait", the later stages guard the network of the file in force.
        stays = replace(self._in_force.before(job.facts), file_families=frozenset(), file_addresses=frozenset())
        return beside(Skipped(cause, stays, Message.NETWORK_UNCHANGED), Problem(Message.APPLY_FAILED, cause, APPLY_IT))

    async def _apply(self, job: Job, transaction: Transaction, probing: Probing, wanted: Wanted) -> Done:
        before = self._in_force.before(job.facts)
        await probing.begin()
        was = await shown_now(transaction)
        record = self._pipeline.intent(
            job.file.digest, Phase.APPLYING, in_force=before.applied_digest, brings_bridge=before.brings_bridge
        )
        record = replace(record, way_out=probing.way_out, interrupted=job.interrupted)
        network = await network_of_file(self._keeper, job.wish)
        change = Change(What.NODE_FILE, job.file.name, record, network)
        try:
            async with prepared(self._pipeline.changes, network, job.file.name, wanted.difference):
                seconds = await self._pipeline.apply(transaction, wanted.text, change, self._good(job), probing.accept)
        except ProbeFailed:
            await probing.restored()
            raise
        probing.ended()
        self._in_force_now(job)
        story = job.story(probes=probing.answering, was=was, pruned=wanted.prunes)
        await self._recorder.committed(job.file, job.wish, story, transaction)
        detail = f"Applied {job.file.name} and verified it in {seconds:.1f} s{probing.answering}"
        return Done(detail, job.applied, Message.NETWORK_APPLIED)

    def _good(self, job: Job) -> Intent:
        digest, bridge = job.file.digest, job.wish.brings_bridge
        return self._pipeline.intent(digest, Phase.GOOD, in_force=digest, brings_bridge=bridge)

    def _in_force_now(self, job: Job) -> None:
        self._tries.clear()
        self._probes.forget()
        self._in_force.mark(job.file)

    async def _again_or_refused(self, job: Job, failure: NmstateFailure) -> Outcome:
        """Wait for a link that is missing; try again what may pass, a bounded number of times."""
        if waiting := await self._missing.awaited(job, failure):
            return replace(waiting, facts=self._in_force.before(job.facts))
        failure = without_secrets(self._missing.explained(job, failure), job.wish.secrets)
        if failure.kind is FailureKind.MISSING:
            raise LibnmstateMissing(failure.cause, remedy=failure.remedy) from failure
        name, digest = job.file.name, job.file.digest
        number = self._tries.another(digest, failure, began=job.began, now=self._pipeline.now())
        if number is None:
            return await self._refused(job, failure)
        text = f"Try {number} of {TRIES} to apply {name} failed: {failure.cause}"
        log.warning(text, message=Message.APPLY_RETRY, stage="nmstate", node_file=name)
        reason = f"the next try of {name}; try {number} of {TRIES} failed: {failure.cause}"
        return Waiting(reason, seconds=delay(number), facts=self._in_force.before(job.facts))

    async def _refused(self, job: Job, failure: NmstateFailure) -> Outcome:
        is_left = failure.kind is FailureKind.PROBE and not isinstance(failure, ProbeFailed)  # not rolled back
        cut_off = is_left or (failure.kind is FailureKind.PROBE and job.interrupted)
        refused = await self._later_tries.again(job.file.digest, failure, self._refusal.of(job, failure))
        self._tries.over(job.file.digest)
        self._recorder.refused(job.file, job.story(cause=failure.cause))
        instead = self._instead(job, f"failed its probes ({failure.cause})") if cut_off else None
        return instead or refused

    def _instead(self, job: Job, why: str) -> Waiting | None:
        """Return the wait for the last known good file, None where there is no other; *why* this one is not used."""
        if job.file.digest != job.facts.digest or not self._quarantine.give_up(job.file, job.facts.hostname, why):
            return None
        return Waiting(
            f"the last known good file: {job.file.name} {why}", seconds=0.0, facts=self._in_force.before(job.facts)
        )

    async def _obstacle(self, job: Job, *, compared: bool) -> Waiting | None:
        """Return what must be waited for before the file is applied or compared. Raises Unavailable."""
        if job.unsettled and not compared:
            return self._until_settled(job)
        return await self._pipeline.obstacle(job.file.name, uses_ovs=job.wish.uses_ovs, early=True)

    async def _resolved(self, policy: NodeFile, facts: Facts) -> NodeFile | Waiting | Failed:
        """Return the document that *policy* leads to, or why it leads to none yet. Raises."""
        if waiting := await self._until_found():
            return replace(waiting, facts=self._in_force.before(facts))
        try:
            return await self._node_files.resolved(policy, await self._pipeline.others.now(bridges=True))
        except NodeFileInvalid as error:
            refused = failed(self._in_force.before(facts), error, error.cause)
            return await self._later_tries.unresolved(refused)

    async def _until_found(self) -> Waiting | None:
        """Return the wait for links that NetworkManager activates: a policy looks at the network. Raises."""
        if waiting := await self._pipeline.obstacle("a policy", uses_ovs=False, early=True):
            return waiting
        links = await self._settling.every_link()
        return Waiting(unsettled_reason(links), MANAGER, SETTLING_SECONDS) if links else None

    def _until_settled(self, job: Job) -> Waiting:
        return Waiting(unsettled_reason(job.unsettled), MANAGER, SETTLING_SECONDS, self._in_force.before(job.facts))


def build(edges: StageEdges, settings: Settings) -> NmstateStage:
    """Return the stage for *settings*."""
    pipeline = Pipeline(edges, settings)
    settling = Settling(edges.manager, edges.profiles, edges.kernel, edges.clock)
    probes = Probes.of(edges, settings)
    quarantine = Quarantine(edges.files, edges.store, edges.boot_id, settings.quarantine_after)
    missing = MissingLinks(edges.kernel, edges.files, edges.systemd, edges.clock)
    later_tries = LaterTries(edges.systemd, edges.files)
    directory = PurePath(settings.node_file_dir)
    going_back = GoingBack(edges, pipeline)
    recorder = Recorder.of(edges, settings)
    other_names = OtherNames(edges.kernel, edges.profiles, edges.files, edges.clock)
    parts = (pipeline, settling, probes, quarantine, missing, going_back, recorder, other_names, later_tries)
    degrade = settings.changes_degrade
    return NmstateStage(edges, *parts, directory, prunes=settings.prune, changes_degrade=degrade)
