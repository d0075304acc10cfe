"""When must the network from before br-ex come back, and when may a leased address of br-ex be chosen as the node IP?

The loop asks for the first before each stage, as it undoes an open change, so a stage finds a network that is repaired.
There are three reasons. The uplink has another name in this boot: a DHCP client on a bridge without an uplink keeps
NetworkManager from the end of its start. The profile of the uplink is for a bridge whose profiles are gone. Or br-ex
keeps the node from its address: the profiles of an earlier boot make br-ex again without nodenetd, and with an
ovs-vswitchd that hangs they leave the node without network.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import structlog

from nodenet.core.apply.intent import Intent, Phase
from nodenet.core.boot.outcome import Done, Facts, Outcome, Problem, Waiting
from nodenet.core.boot.stage_state import NOTHING, Request
from nodenet.core.br_ex.record import BridgeRecord
from nodenet.core.br_ex.uplink import BRIDGE
from nodenet.core.change.record import Change, What
from nodenet.core.errors import PublishFailed, Unavailable
from nodenet.core.history.entry import Kind
from nodenet.core.messages import Message
from nodenet.core.since import NEVER
from nodenet.ports import Kernel, Stage
from nodenet.stages.apply.history import Recorder
from nodenet.stages.apply.pipeline import MANAGER, Pipeline
from nodenet.stages.apply.undo import Undo
from nodenet.stages.br_ex.make import BridgeMaker
from nodenet.stages.br_ex.repair import BridgeRepairer

log = structlog.get_logger()

CONFIRM_SECONDS = 10.0
"""How long a DHCP server may take to confirm a lease of an earlier boot before it is used without."""
LOST_SECONDS = 60.0
"""How long the address may be missing before br-ex is suspected: the bridge's DHCP server may be slow."""
RESTORING = "restoring the network from before br-ex"
BY_ITSELF = "nodenetd"
"""Who asked for it, in the history: no administrator."""


class Recovery:
    """Undoes a change that is open, and gives br-ex up if there is a reason; the loop asks before each stage."""

    def __init__(  # noqa: PLR0913  (its parts)
        self,
        undo: Undo,
        repairer: BridgeRepairer,
        maker: BridgeMaker,
        pipeline: Pipeline,
        kernel: Kernel,
        recorder: Recorder,
    ) -> None:
        """Use *undo* first; the history gets through *recorder* why br-ex is gone."""
        self.undo = undo
        self._repairer = repairer
        self._maker = maker
        self._pipeline = pipeline
        self._kernel = kernel
        self._recorder = recorder
        self._missing = NEVER
        """Since when the node has none of the addresses of br-ex."""
        self._looked = False
        """Whether NetworkManager was asked, once it had read all profiles, if the uplink has one that can come up."""

    @property
    def problem(self) -> Problem | None:
        """Why the network from before a change is not back and is waited for no longer, if so."""
        return self.undo.problem

    async def first(self) -> Waiting | None:
        """Restore what must be restored; return what that waits for, if anything."""
        if waiting := await self.undo.first():
            return waiting
        try:
            record = self._maker.record
            if record is None or not record.originals or self._pipeline.changes.open:
                return None
            links = {link.name for link in self._kernel.snapshot().links}
            for old, new in (await self._repairer.renamed(record, links)).items():
                why = f"{old}, the uplink of a bridge, is called {new} now (same MAC)"
                return await self._give_up(record.renamed(old, new), why, (old,))
            cause = await self._orphan(record) or await self._lost(record, self._pipeline.record)
            return await self._give_up(record, cause) if cause else None
        except Unavailable as error:
            return await self._pipeline.unanswered(f"{RESTORING}: {error.cause}")
        except PublishFailed:  # a problem of the stages that need the record
            return None

    async def _orphan(self, record: BridgeRecord) -> str | None:
        """Return that the uplink's profile is for a bridge that is gone, if so. Raises Unavailable."""
        if self._looked or self._has_address(record) or await self._pipeline.obstacle(BRIDGE, uses_ovs=False):
            return None
        self._looked = True
        if orphan := await self._repairer.orphan(record):
            return f"The profile {orphan!r} is for a port of a bridge whose profiles are gone, and cannot come up"
        return None

    async def _lost(self, record: BridgeRecord, last: Intent | None) -> str | None:
        """Return why br-ex keeps the node from its address, None unless that is so; *last*: the last apply of br-ex.

        An apply that a power cut interrupted may have left profiles that give no link an address: the rollback of the
        next apply goes back to just these.
        """
        now = self._pipeline.now()
        is_missing = bool(record.addresses) and not self._has_address(record)
        self._missing = self._missing.holds(now) if is_missing else NEVER
        if self._missing.left(now, LOST_SECONDS) > 0:
            return None
        without = f"and the node has been without its address for {LOST_SECONDS:.0f} s"
        if last is not None and last.phase is Phase.ROLLED_BACK:
            return f"br-ex could not be made, {without}"
        if await self._repairer.switch_works():
            self._missing = NEVER.holds(now)  # each question is a write to the database: the next one is a minute later
            return None
        return f"Open vSwitch does not work, {without}"

    def _has_address(self, record: BridgeRecord) -> bool:
        # Not by bind(2): with `ip_nonlocal_bind` (ip-sysctl) it succeeds for any address.
        present = {item.address for item in self._kernel.snapshot().addresses}
        return not present.isdisjoint(record.addresses)

    async def _give_up(self, record: BridgeRecord, why: str, old_names: Collection[str] = ()) -> Waiting | None:
        """Undo br-ex as an open change; return what that waits for. Raises Unavailable.

        From then on the change knows the network from before br-ex, and brings it back also after a power cut.
        """
        before = await self._repairer.network_before(record, old_names)
        apply = self._pipeline.intent("", Phase.APPLYING, in_force=None, brings_bridge=False)
        log.warning(f"{why}. The network from before br-ex is restored", message=Message.BRIDGE_MENDED)
        self._pipeline.changes.save(Change(What.GIVING_UP, BRIDGE, apply, before))
        self._maker.save(record)  # with its new name
        self._maker.forget()
        self._maker.given_up = record
        await self._recorder.bridge(Kind.BRIDGE_REMOVAL, BY_ITSELF, cause=why)
        if waiting := await self.undo.first():
            return waiting
        await self._repairer.remove_rows(record.uplinks)
        return None


class LeasesFirst:
    """Settles leases that are static since an earlier boot, then runs the stage that chooses the node IP."""

    def __init__(self, stage: Stage, maker: BridgeMaker, pipeline: Pipeline, kernel: Kernel) -> None:
        """Run *stage* once no leased address that has ended can be chosen."""
        self._stage = stage
        self._maker = maker
        self._pipeline = pipeline
        self._kernel = kernel
        self._unconfirmed = NEVER
        self._warned: set[str] = set()

    async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:
        """Return the stage's own outcome, or Waiting before that."""
        problem = None
        try:
            if waiting := await self._settled():
                return waiting
        except Unavailable as error:
            return await self._pipeline.unanswered(f"the leases of br-ex: {error.cause}")
        except PublishFailed as error:
            problem = Problem.of(error, f"{error.cause}; the node IP is selected without that record")
        outcome = await self._stage.attempt(facts, request)
        if isinstance(outcome, Done) and outcome.problem is None:
            return replace(outcome, problem=problem)
        return outcome

    async def _settled(self) -> Waiting | None:
        """Settle the leases before one of their addresses is chosen. Raises Unavailable, PublishFailed."""
        record = self._maker.record
        if record is None or not record.leases:
            return None
        last = self._pipeline.record
        # After a rollback a lease is static only on a bridge that was there before.
        if last is not None and last.phase is Phase.ROLLED_BACK and not self._is_static(record):
            return None
        record, problem = await self._maker.settle(record)
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
        self._maker.hold_leases(record)
        cause = f"No DHCP server has confirmed {addresses} in this boot: used until the lease ends"
        self._warn_once(Problem(Message.LEASE_LOST, cause, "Look at the DHCP server"))
        return None

    def _is_static(self, record: BridgeRecord) -> bool:
        """Return whether a bridge has the address of a lease of *record* already."""
        places = {(str(item.address), item.link) for item in self._kernel.snapshot().addresses}
        return any((lease.address, bridge) in places for bridge, lease in record.leases.items())

    def _warn_once(self, problem: Problem) -> None:
        if problem.cause not in self._warned:
            self._warned.add(problem.cause)
            log.warning(problem.cause, message=problem.message, stage="nodeip", remedy=problem.remedy)
