"""Which node file is in force, which one was refused, and is it tried again?"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import PurePath, PurePosixPath
from typing import Any

from nodenet.core.apply.intent import TOUCHED, Intent, Phase
from nodenet.core.apply.new_file import BUDGET_SECONDS, may_try_again, pauses
from nodenet.core.boot.outcome import Again, Facts, Failed, Topic
from nodenet.core.br_ex.condition import profiles_of
from nodenet.core.br_ex.uplink import BRIDGE, EXTRA_BRIDGE
from nodenet.core.errors import NodenetError, PublishFailed
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.nmstate.state import still_asked
from nodenet.core.node_file.content import Desired
from nodenet.core.node_file.find import APPLIED, NodeFile
from nodenet.core.node_ip.published_files import USERS
from nodenet.core.probes.verdict import ProbeFailed
from nodenet.core.since import backoff
from nodenet.core.value import frozen
from nodenet.ports import Files, Store, Systemd, Transaction
from nodenet.stages.apply.pipeline import Pipeline
from nodenet.stages.apply.probes import Probes
from nodenet.stages.apply.records import has_published
from nodenet.stages.nmstate.job import Job, failed

BRIDGE_IN_THE_WAY = (
    "Its configuration of a link below br-ex can change only after `nodenetctl bridge remove`; then "
    "`nodenetctl reload --wait` and `nodenetctl bridge make`"
)


class InForce:
    """The file that the network was last made by: in the record, and before nodenet in the marker `applied`."""

    def __init__(self, store: Store, pipeline: Pipeline, directory: PurePath) -> None:
        """*directory* has the marker."""
        self._store = store
        self._pipeline = pipeline
        self._directory = directory

    async def difference(self, file: NodeFile, wish: Desired, transaction: Transaction) -> dict[str, Any]:
        """Return what the file asks for beyond the state. Raises NmstateFailure.

        configure-ovs may have moved to a bridge what a file in force gave to a link. Of another file it is not known
        which part is about the bridge by now: it is refused.
        """
        text, refused = file.text, None
        left: dict[str, Any] = {}
        try:
            others = await self._pipeline.others.now(bridges=wish.uses_ovs)
            if not (left := await transaction.difference(text, others)):
                return left
        except NmstateFailure as failure:
            if failure.kind is not FailureKind.INVALID:
                raise
            refused = failure
        known = self.knows(file)
        if not (known or refused):
            return left
        above = tuple(name for name in (BRIDGE, EXTRA_BRIDGE) if name not in wish.bridges)
        left = await transaction.difference_below(
            text, above, others
        )  # raises too, unless only bridges were in the way
        if refused and not known:
            raise NmstateFailure(refused.kind, refused.cause, BRIDGE_IN_THE_WAY)
        return still_asked(left, await self._to_come(above)) if left else left

    async def _to_come(self, bridges: Collection[str]) -> frozenset[str]:
        """Return the links that get below *bridges* with their carrier: NetworkManager activates no NIC without one.

        Raises Unavailable.
        """
        others = self._pipeline.others
        dark = {each.name for each in others.kernel.snapshot().links if not each.carrier}
        if not dark:
            return frozenset()
        profiles = (await others.profiles.inventory()).profiles
        found = (each for bridge in bridges for each in profiles_of(profiles, bridge))
        return frozenset(each.link for each in found if each.link in dark and not each.kind.startswith("ovs-"))

    def is_only_compared(self, file: NodeFile) -> bool:
        """Return whether *file* is not applied while NetworkManager is starting: it is in force, and verified."""
        record = self._pipeline.record
        return self.knows(file) and not (record and record.phase is Phase.APPLYING)

    def knows(self, file: NodeFile) -> bool:
        """Return whether the network was last made by *file*; before nodenet the marker says so."""
        record = self._pipeline.record
        return record.in_force == file.digest if record else self._is_marked(file)

    def mark(self, file: NodeFile) -> None:
        """Keep the compatibility marker a byte copy of the applied file, for root only: it may contain secrets."""
        if not self._is_marked(file):
            self._store.save(PurePosixPath(self._directory / APPLIED), file.text.encode())

    def _is_marked(self, file: NodeFile) -> bool:
        return self._store.read(PurePosixPath(self._directory / APPLIED)) == file.text.encode()

    def before(self, facts: Facts) -> Facts:
        """Return the facts of the file that is still applied; unchanged if the record cannot be read."""
        try:
            record = self._pipeline.record
        except PublishFailed:  # a problem of every pass that reaches the network
            return facts
        in_force, bridge = (record.in_force, record.brings_bridge) if record else (None, False)
        return replace(facts, applied_digest=in_force, brings_bridge=bridge)


class Refusal:
    """Refuses files: not again in this boot."""

    def __init__(self, pipeline: Pipeline, probes: Probes, in_force: InForce) -> None:
        """Write the record of *pipeline*."""
        self._pipeline = pipeline
        self._probes = probes
        self._in_force = in_force

    def of(self, job: Job, failure: NodenetError) -> Failed:
        """Return the outcome of a file that *failure* was the end of; its record keeps it from another try."""
        self._probes.forget()
        cause = f"{job.file.name}: {failure.cause}"
        record = self._pipeline.record
        if record and record.phase in TOUCHED and record.digest == job.file.digest:
            # A file that was rolled back for another reason than its probes says nothing about the way out.
            by_probes = record.phase is Phase.APPLYING or getattr(failure, "kind", None) is FailureKind.PROBE
            ended = replace(record, phase=Phase.REFUSED, cause=cause, remedy=failure.remedy)
            ended = replace(ended, way_out=record.way_out and by_probes, interrupted=job.interrupted)
            self._pipeline.save(ended)
        return failed(self._in_force.before(job.facts), failure, cause)


@frozen
class Tried:
    """How often a file was tried, when that began (seconds of CLOCK_BOOTTIME), and how the last try failed."""

    number: int
    began: float
    last: NodenetError


class Tries:
    """The failed tries of each file, by digest, while another may follow."""

    def __init__(self) -> None:
        """Begin with none."""
        self._failed: dict[str, Tried] = {}

    def another(self, digest: str, failure: NmstateFailure, *, began: float, now: float) -> int | None:
        """Count a try of *digest* that *began* and failed; return its number, None where no other may follow."""
        before = self._failed.pop(digest, None)
        number, since = (before.number + 1, before.began) if before else (1, began)
        if not may_try_again(failure, number, now - since):
            return None
        self._failed[digest] = Tried(number, since, failure)
        return number

    def used_up(self, digest: str, now: float) -> NodenetError | None:
        """Return how *digest* failed last where its time is over; then it is counted no more."""
        tried = self._failed.get(digest)
        if tried is None or now - tried.began < BUDGET_SECONDS:
            return None
        return self._failed.pop(digest).last

    def over(self, digest: str) -> None:
        """Forget *digest*, which is refused."""
        self._failed.pop(digest, None)

    def clear(self) -> None:
        """Forget all: a file is in force."""
        self._failed.clear()


class LaterTries:
    """Counts how often in a row a file was refused for another host; keeps the refusal of a file that is tried again.

    A file is tried again only while kubelet waits. It no longer does once a node IP is published: systemd may be
    starting it then, and a node that works is not changed without an order.
    """

    def __init__(self, systemd: Systemd, files: Files) -> None:
        """Ask *systemd* and *files* whether kubelet waits."""
        self._systemd = systemd
        self._files = files
        self._times: tuple[str, int] = ("", 0)
        self._pauses = (0.0, 0.0)
        self._refused: Failed | None = None

    def began(self) -> None:
        """Forget the refusal: the file is read again."""
        self._refused = None

    async def not_now(self, facts: Facts) -> Failed | None:
        """Return the refusal that stands if the file is not tried again, or systemd does not say whether it may be.

        *facts* are those of now: the node IPs have been published since.
        """
        if self._refused is None or (waits := await self._waits()):
            return None
        return Failed(self._refused.problem, facts, self._refused.again if waits is None else None)

    async def leaves_alone(self, record: Intent | None, digests: Collection[str | None]) -> bool:
        """Return whether the network stays as it is until an order: kubelet runs, and no apply was interrupted.

        *digests*: of the files whose interrupted apply goes on; one of another file is over.
        """
        if (record and record.phase in TOUCHED and record.digest in digests) or not has_published(self._files):
            return False
        return await self._systemd.any_runs(USERS) is not False

    async def is_due(self, digest: str) -> bool:
        """Return whether the file with *digest* is tried again though it was refused in this boot."""
        return self._times[0] == digest and await self._waits() is True

    async def again(self, digest: str, failure: NmstateFailure, refused: Failed) -> Failed:
        """Return *refused*, with the time of the next try where there is one."""
        number = self._times[1] + 1 if self._times[0] == digest else 1
        first_and_longest = pauses(failure.kind) if isinstance(failure, ProbeFailed) else None  # it was rolled back
        self._times = (digest, number) if first_and_longest else ("", 0)
        self._pauses = first_and_longest or self._pauses
        return await self.later(digest, refused)

    async def later(self, digest: str, refused: Failed) -> Failed:
        """Return *refused*, with the time of the next try of the file with *digest* where there is one."""
        if self._times[0] != digest:
            return refused
        return await self._with(Again(seconds=backoff(self._times[1], *self._pauses)), refused)

    async def unresolved(self, refused: Failed) -> Failed:
        """Return *refused*, of a policy, with the events after which it is resolved again."""
        return await self._with(Again(frozenset({Topic.KERNEL, Topic.NETWORK_MANAGER})), refused)

    async def _with(self, again: Again, refused: Failed) -> Failed:
        if await self._waits() is False:
            return refused
        self._refused = Failed(refused.problem, refused.facts, again)
        return self._refused

    async def _waits(self) -> bool | None:
        """Return whether kubelet waits for the file, None if systemd does not say whether it runs."""
        if has_published(self._files):
            return False
        runs = await self._systemd.any_runs(USERS)
        return None if runs is None else not runs
