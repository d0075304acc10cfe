"""What must be repaired before a node IP is chosen, after a power cut, a kill, or an apply whose end is not known?

An interrupted apply may leave the node without its addresses, or with leases that have ended.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from dataclasses import replace

import structlog

from nodenet.core.apply.intent import Intent, Phase
from nodenet.core.boot.facts import Facts
from nodenet.core.boot.outcome import Done, Outcome, Problem, Waiting
from nodenet.core.boot.request import NOTHING, Request
from nodenet.core.br_ex.record import BridgeRecord
from nodenet.core.errors import PublishFailed, RollbackFailed, Unavailable
from nodenet.core.history.entry import Kind
from nodenet.core.messages import Message
from nodenet.core.since import NEVER
from nodenet.ports import Kernel, Stage
from nodenet.stages.apply.pipeline import MANAGER, Pipeline
from nodenet.stages.apply.recorder import Recorder
from nodenet.stages.apply.shielded import shielded
from nodenet.stages.br_ex.make import BridgeMaker
from nodenet.stages.br_ex.repair import BridgeRepairer
from nodenet.stages.br_ex.stage import ConfigureOvsStage

log = structlog.get_logger()

CONFIRM_SECONDS = 10.0
"""How long a DHCP server may take to confirm a lease of an earlier boot before it is used without."""
RESTORING = "restoring the network from before br-ex"
PLAIN = "the network as it was before br-ex"
BY_ITSELF = "nodenetd"
"""Who asked for it, in the history: no administrator."""


class RecoverFirst:
    """Repairs what an interrupted apply left, then runs the stage that chooses the node IP."""

    def __init__(  # noqa: PLR0913  (its parts)
        self,
        stage: Stage,
        repairer: BridgeRepairer,
        maker: BridgeMaker,
        pipeline: Pipeline,
        kernel: Kernel,
        recorder: Recorder,
    ) -> None:
        """Run *stage* once the network is repaired; the history gets through *recorder* why br-ex is gone."""
        self._stage = stage
        self._repairer = repairer
        self._maker = maker
        self._pipeline = pipeline
        self._kernel = kernel
        self._recorder = recorder
        self._lost = LostNetwork(repairer)
        self._unconfirmed = NEVER
        self._looked = False
        self._problem: Problem | None = None
        """The first record that could not be read or written, or keyfile that could not be restored."""
        self._settled: BridgeRecord | None = None
        """The record whose leases were settled, where the result could not be written: not to be done again."""
        self._warned: set[str] = set()
        self._begun: BridgeRecord | None = None
        """The record whose network is being restored: logged once, however often NetworkManager does not answer."""
        self._given_back: list[BridgeRecord] = []
        """The records whose network was restored, where that could not be written: not to be done again."""
        self._leaves_rows = False

    async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:
        """Return the stage's own outcome, or Waiting before that."""
        await self._restore_checks()
        try:
            with self._going_on():
                if waiting := await self._repaired():
                    return waiting
        except Unavailable as error:
            return await self._pipeline.unanswered(f"{RESTORING}: {error.cause}")
        outcome = await self._stage.attempt(facts, request)
        if isinstance(outcome, Done) and outcome.problem is None:
            return replace(outcome, problem=self._problem)
        return outcome

    async def _restore_checks(self) -> None:
        """Restore the checks for duplicate addresses also where configure-ovs is not run any more."""
        with contextlib.suppress(Unavailable, PublishFailed):  # nothing that a node IP needs
            await self._maker.restore_checks()

    async def _repaired(self) -> Waiting | None:
        """Repair what the records call for; return the wait that it needs. Raises Unavailable, PublishFailed."""
        intent, record = self._pipeline.record, self._maker.record
        if record and await self._follow_renamed(record):
            record = self._maker.record
        if record and record.leases:
            # After a rollback a lease is static only on a bridge that was there before.
            rolled_back = intent is not None and intent.phase is Phase.ROLLED_BACK
            if (not rolled_back or self._is_static(record)) and (waiting := await self._settle(record)):
                return waiting
        if record and record.originals and not self._looked:
            await self._free_orphan(record)
        given_up = await self._give_up_lost(record)
        return given_up if isinstance(given_up, Waiting) else None

    async def follow_renamed(self) -> Waiting | None:
        """Restore the plain network of an uplink that has another name now; return what that waits for, if anything."""
        try:
            with self._going_on():
                if record := self._maker.record:
                    await self._follow_renamed(record)
        except Unavailable as error:
            return await self._pipeline.unanswered(f"{RESTORING}: {error.cause}")
        return None

    async def give_up_lost(self) -> Waiting | BridgeRecord | None:
        """Give br-ex up where Open vSwitch does not work and the node is without its address; never raises.

        Return what that waits for, or the record of what was given up.
        """
        try:
            return await self._give_up_lost(self._maker.record)
        except (Unavailable, RollbackFailed) as error:
            return await self._pipeline.unanswered(f"{RESTORING}: {error.cause}")
        except PublishFailed:  # the stage behind it reports that
            return None

    async def _follow_renamed(self, record: BridgeRecord) -> bool:
        """Restore the plain network of an uplink that has another name now; return whether that was necessary.

        Before NetworkManager is ready: with a DHCP client on a bridge without an uplink it never is.
        """
        links = {link.name for link in self._kernel.snapshot().links}
        for old, new in (await self._repairer.renamed(record, links)).items():
            why = f"{old}, the uplink of a bridge, is called {new} now (same MAC)"
            await self._give_back(record.renamed(old, new), why, (old,))
            return True
        return False

    async def _settle(self, record: BridgeRecord) -> Waiting | None:
        """Settle leases that are static since an earlier boot, before one of their addresses is chosen."""
        if record == self._settled:
            return None
        before = record
        with self._going_on():
            try:
                record, problem = await self._maker.settle(record)
            except PublishFailed:
                self._settled = before
                raise
        if before == self._settled:
            return None
        if problem:
            self._warn_once(problem)
        if all(lease.noted.boot_id == self._pipeline.boot_id for lease in record.leases.values()):
            return None
        now = self._pipeline.now()
        self._unconfirmed = self._unconfirmed.holds(now)
        addresses = " and ".join(lease.address for lease in record.leases.values())
        if self._unconfirmed.left(now, CONFIRM_SECONDS) > 0:
            return Waiting(f"no DHCP server has confirmed {addresses} in this boot yet", MANAGER, 0.5)
        # RFC 2131 section 3.7: a client may continue to use its lease when no server answers.
        with self._going_on():
            self._maker.hold_leases(record)
        cause = f"No DHCP server has confirmed {addresses} in this boot: used until the lease ends"
        self._warn_once(Problem(Message.LEASE_LOST, cause, "Look at the DHCP server"))
        return None

    async def _free_orphan(self, record: BridgeRecord) -> None:
        """Restore an uplink's own profile where the bridge's profiles are gone; NetworkManager would not."""
        if self._has_address(record):
            return
        if await self._pipeline.obstacle(PLAIN, uses_ovs=False):
            return  # the stage waits for NetworkManager too
        if orphan := await self._repairer.orphan(record):
            why = f"The profile {orphan!r} is for a port of a bridge whose profiles are gone, and cannot come up"
            await self._give_back(record, why)
        self._looked = True

    async def _give_up_lost(self, record: BridgeRecord | None) -> Waiting | BridgeRecord | None:
        """Give br-ex up where it keeps the node from its address; return the record of what was given up."""
        lost = record is not None and self._is_lost(record)
        if not (record and record.originals):
            return None
        why = await self._lost.cause(self._pipeline.now(), self._pipeline.record, lost=lost)
        if why is None:
            return None
        # Early: NetworkManager's start may not end while a bridge does not come up.
        if waiting := await self._pipeline.obstacle(PLAIN, uses_ovs=False, early=True):
            return waiting
        await self._give_back(record, why)
        return record

    def _is_lost(self, record: BridgeRecord) -> bool:
        """Return whether *record* has addresses and the node has none of them."""
        return bool(record.addresses) and not self._has_address(record)

    def _has_address(self, record: BridgeRecord) -> bool:
        # Not by bind(2): with `ip_nonlocal_bind` (ip-sysctl) it succeeds for any address.
        present = {item.address for item in self._kernel.snapshot().addresses}
        return any(address in present for address in record.addresses)

    def _is_static(self, record: BridgeRecord) -> bool:
        """Return whether a bridge has the address of a lease of *record* already."""
        places = {(str(item.address), item.link) for item in self._kernel.snapshot().addresses}
        return any((lease.address, bridge) in places for bridge, lease in record.leases.items())

    async def _give_back(self, record: BridgeRecord, why: str, old_names: Collection[str] = ()) -> None:
        if record not in self._given_back:
            if record != self._begun:
                self._begun = record
                text = f"{why}. The network from before br-ex is restored"
                log.warning(text, message=Message.BRIDGE_MENDED, stage="configure-ovs")
            # A stop in the middle would leave the uplink with neither the bridge nor its own profile.
            self._leaves_rows = not self._repairer.database_answers
            restored = self._repairer.give_back(record, old_names)
            self._note(*await shielded(restored, "Restoring the network from before br-ex"))
            self._given_back.append(record)
            await self._recorder.bridge(Kind.BRIDGE_REMOVAL, BY_ITSELF, cause=why)
        with self._going_on():
            self._maker.save(record)  # with its new name
            self._maker.forget(leaves_rows=self._leaves_rows)
            self._given_back, self._begun = [], None

    @contextlib.contextmanager
    def _going_on(self) -> Iterator[None]:
        """Go on where a record cannot be read or written: the node IP is selected without it, with that problem."""
        try:
            yield
        except PublishFailed as error:
            self._note(error.saying(f"{error.cause}; the node IP is selected without that record", error.remedy))

    def _warn_once(self, problem: Problem) -> None:
        if problem.cause not in self._warned:
            self._warned.add(problem.cause)
            log.warning(problem.cause, message=problem.message, stage="nodeip", remedy=problem.remedy)

    def _note(self, *errors: PublishFailed) -> None:
        """Keep the first of all errors as the problem of the stage."""
        self._problem = self._problem or next(map(Problem.of, errors), None)


# Has a node been without its address for so long, because of br-ex, that br-ex must be given up?
# The profiles of an earlier boot make br-ex again without nodenetd. With an ovs-vswitchd that hangs, or that never
# started, they leave the node without network until it works. And an apply that a power cut interrupted may leave
# profiles that give no link an address: the rollback of the next apply goes back to just these.

LOST_SECONDS = 60.0
"""How long the address may be missing before br-ex is suspected: the bridge's DHCP server may be slow."""


class LostNetwork:
    """Remembers since when the address is missing."""

    def __init__(self, repairer: BridgeRepairer) -> None:
        """Ask Open vSwitch as *repairer* does."""
        self._repairer = repairer
        self._missing = NEVER

    async def cause(self, now: float, last: Intent | None, *, lost: bool) -> str | None:
        """Return why br-ex must be given up, None where it must not: the address was *lost* for LOST_SECONDS.

        *now* is in seconds of CLOCK_BOOTTIME, *last* the record of the last apply of br-ex.
        """
        self._missing = self._missing.holds(now) if lost else NEVER
        if self._missing.left(now, LOST_SECONDS) > 0:
            return None
        without = f"and the node has been without its address for {LOST_SECONDS:.0f} s"
        if last is not None and last.phase is Phase.ROLLED_BACK:
            return f"br-ex could not be made, {without}"
        if await self._repairer.switch_works():
            self._missing = NEVER.holds(now)  # each question is a write to the database: the next one is a minute later
            return None
        return f"Open vSwitch does not work, {without}"


# When does the network follow an uplink that has another name in this boot?
# Before the node file is applied. The nmstate stage waits until NetworkManager has ended its start, and a DHCP client
# on a bridge without an uplink keeps NetworkManager from that.


class FollowUplinkFirst:
    """Restores the plain network of an uplink that has another name now, then runs the stage."""

    def __init__(self, stage: Stage, recover: RecoverFirst) -> None:
        """Run *stage* once *recover* has restored what it must."""
        self._stage = stage
        self._recover = recover

    async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:
        """Return the stage's own outcome, or Waiting before that."""
        return await self._recover.follow_renamed() or await self._stage.attempt(facts, request)


# When does a node get its addresses back that br-ex has lost after kubelet was started with them?
# The stage that chooses the node IP runs no more then. NetworkManager takes the addresses from a bridge that it finds
# without Open vSwitch.


class RestoreFirst:
    """Gives br-ex up where it keeps the node from its address, before the stage that makes br-ex."""

    def __init__(self, stage: ConfigureOvsStage, recover: RecoverFirst) -> None:
        """Run *stage*; *recover* knows the way back."""
        self._stage = stage
        self._recover = recover

    async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:
        """Return the stage's own outcome, or Waiting before that; Failed where br-ex was given up."""
        match await self._recover.give_up_lost():
            case Waiting() as waiting:
                return waiting
            case BridgeRecord() as record:
                return self._stage.given_up(facts, record)
        return await self._stage.attempt(facts, request)
