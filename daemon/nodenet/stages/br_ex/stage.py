"""The configure-ovs stage: is br-ex there, over the link that carries the node IP, and if not, can it be made?

prove Open vSwitch → gather → plan → difference → make, with the address carried over → finish. Nothing is touched
before Open vSwitch is seen to work. An apply that fails is rolled back and reported. Pods run on the node by then:
no timer tries again, only an event that says that the cause may be gone, an order, or the next boot.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TypeVar

import structlog

from nodenet.core.apply.intent import Intent, Phase
from nodenet.core.boot.outcome import Again, Done, Facts, Failed, Outcome, Problem, Skipped, Topic, Waiting
from nodenet.core.boot.stage_state import NOTHING, Request
from nodenet.core.br_ex import plan as bridge
from nodenet.core.br_ex.condition import BridgeCondition, Owner, Rule
from nodenet.core.br_ex.explain import conditions
from nodenet.core.br_ex.facts import ADOPTED, BridgeFacts
from nodenet.core.br_ex.plan import Document, Plan
from nodenet.core.br_ex.record import BridgeRecord
from nodenet.core.br_ex.take_over import refuse_removal
from nodenet.core.br_ex.uplink import BRIDGE, refuse_another_uplink, uplinks
from nodenet.core.errors import (
    BridgeForeign,
    LibnmstateMissing,
    PublishFailed,
    RollbackFailed,
    Unavailable,
    UplinkRefused,
)
from nodenet.core.history.entry import Kind, Result
from nodenet.core.messages import Message
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.node_ip.published_files import BRIDGE_UP, UNITS, USERS
from nodenet.core.node_ip.rules import Rule as NodeIpRule
from nodenet.core.settings.model import Datapath
from nodenet.core.since import NEVER
from nodenet.core.value import frozen
from nodenet.ports import Files, Kernel, Nmstate, Ovsdb, Systemd, Transaction
from nodenet.stages.apply.history import Recorder, log_changed
from nodenet.stages.apply.pipeline import Pipeline
from nodenet.stages.br_ex.foreign_ports import log_ports_of_others
from nodenet.stages.br_ex.gather import Gatherer
from nodenet.stages.br_ex.later_looks import (
    CARRIES,
    CAUSES,
    LOOK_SECONDS,
    MAX_LOOK_SECONDS,
    PROVE_SECONDS,
    SOON,
    LaterLooks,
    carries,
    next_look,
)
from nodenet.stages.br_ex.make import BridgeMaker
from nodenet.stages.br_ex.ovs_errors import ovs_errors
from nodenet.stages.br_ex.remove import BridgeRemover
from nodenet.stages.br_ex.repair import BridgeRepairer

log = structlog.get_logger()

T = TypeVar("T")

PATIENCE_SECONDS = 60.0
"""How long kubelet is held back for an Open vSwitch that does not work; it starts on the plain network then."""
TRIES = 5
"""So often br-ex is tried without an order, with the growing pauses of ``core.boot.stage_state``."""
PARKED = PurePosixPath("/run/nodenet/ovn-parked")
"""Stands once ovn-controller was kept from an earlier boot's database: once a boot, before OVN-Kubernetes comes."""
HINT = PurePosixPath("/var/lib/ovnk/iface_default_hint")
"""The uplink's name, where the shell script that made br-ex before kept it."""
REMEDY = "Look at `systemctl status NetworkManager ovsdb-server ovs-vswitchd`"
AGAIN = "then run `nodenetctl bridge make`"
GIVEN_UP = "br-ex kept the node from its address: it is gone until it can be made"
MADE_ANEW = frozenset({Rule.OTHER_UPLINK, Rule.NOT_WANTED, Rule.ADDRESS_BELOW})
"""Findings that no apply can repair: the links below would not get their configuration back."""


@frozen
class ConfigureOvsEdges:
    """What the stage works with."""

    files: Files
    nmstate: Nmstate
    ovsdb: Ovsdb
    kernel: Kernel
    systemd: Systemd
    gatherer: Gatherer
    datapath: Datapath
    recorder: Recorder
    """Lets the history have each change."""


class ConfigureOvsStage:
    """Makes br-ex, or reports why not and leaves the network as it was."""

    def __init__(
        self,
        edges: ConfigureOvsEdges,
        maker: BridgeMaker,
        repairer: BridgeRepairer,
        remover: BridgeRemover,
        pipeline: Pipeline,
    ) -> None:
        """Make bridges with *maker*, which applies through *pipeline*."""
        self._edges = edges
        self._maker = maker
        self._repairer = repairer
        self._remover = remover
        self._pipeline = pipeline
        self._awaited = NEVER
        self._has_tried = False
        """Whether this process has come to an apply."""
        self._not_rolled_back = ""
        """Why the last apply of this process could not be rolled back: the end of that is no reason for another try."""
        self._tries = 0, 0
        """Of which run, and how often in a row br-ex could not be made in it."""
        self._later = LaterLooks(edges.ovsdb, maker)

    async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:
        """Return the outcome of one pass. Raises LibnmstateMissing."""
        record, self._maker.given_up = self._maker.given_up, None
        if record and facts.bridge:
            return self._given_up(facts, record)
        try:
            outcome = await self._pass(facts, request, self._maker.record)
            owes_checks = self._maker.owes_checks()
        except NmstateFailure as error:
            # What follows in this boot finds the network as it was: kubelet does not start without the node IP.
            await self._maker.verifier.back(facts.selection.node_ips if facts.selection else ())
            return self._rolled_back(facts, error, request.run)
        except (UplinkRefused, BridgeForeign, RollbackFailed, PublishFailed) as error:
            may_pass = isinstance(error, RollbackFailed | PublishFailed)
            return Failed(Problem.of(error), facts, Again(CAUSES) if may_pass else None)
        except Unavailable as error:
            return self._wait(facts, request, Waiting(error.cause, CAUSES, LOOK_SECONDS), error.remedy)
        if isinstance(outcome, Waiting):
            return self._wait(facts, request, outcome)
        self._awaited, self._tries = NEVER, (0, 0)
        self._later.remember(outcome, request, facts)
        return replace(outcome, again=Again(CAUSES, MAX_LOOK_SECONDS)) if owes_checks else outcome

    def _given_up(self, facts: Facts, record: BridgeRecord) -> Failed:
        """Return the outcome once the network of *record* from before br-ex was restored."""
        self._later.forget()
        self._awaited = NEVER
        problem = Problem(Message.BRIDGE_FAILED, GIVEN_UP, REMEDY)
        try:
            self._edges.files.remove(BRIDGE_UP)
        except PublishFailed as error:
            problem = Problem.of(error, f"{GIVEN_UP}; {error.cause}")
        return Failed(problem, _plain(facts, record.uplinks), Again(CAUSES, MAX_LOOK_SECONDS))

    async def _pass(self, facts: Facts, request: Request, record: BridgeRecord | None) -> Done | Skipped | Waiting:
        """Go as far as it goes."""
        await self._maker.restore_checks()
        if record and record.removed_in == self._pipeline.boot_id and not (request.by_name or request.remove_bridge):
            reason = "br-ex was removed with `nodenetctl bridge remove`; `nodenetctl bridge make` or a reboot makes it"
            self._edges.files.remove(BRIDGE_UP)
            return Skipped(reason, _plain(facts, record.uplinks))
        if request.remove_bridge:
            waiting = await self._pipeline.obstacle(BRIDGE, uses_ovs=False)
            return waiting or await self._remove(facts, record, request)
        if done := await self._later.look(request, facts, record):
            return done
        waiting = await self._obstacle(facts)
        # With a silent DHCP server NetworkManager does not become ready: what is there already needs no apply.
        if waiting and not (record and (record.leases or carries(record, facts))):
            return waiting
        await self._edges.ovsdb.prove_alive(PROVE_SECONDS)
        if self._edges.files.read(PARKED) is None:
            # While one of them runs, the database may be the one that OVN-Kubernetes has set in this boot.
            if await self._edges.systemd.any_runs(USERS) is False:
                await self._edges.ovsdb.park_ovn()
            self._edges.files.write(PARKED, b"")
        async with self._edges.nmstate.transaction() as transaction:
            return await self._with(transaction, facts, request, record)

    async def _with(
        self, transaction: Transaction, facts: Facts, request: Request, record: BridgeRecord | None
    ) -> Done | Waiting:
        known = await self._gather(transaction, facts, record)
        found = conditions(known, uplinks(known))
        if await self._repairer.repair(found):
            known = await self._gather(transaction, facts, record)
            found = conditions(known, uplinks(known))
        if not (request.by_name or _by_hint(facts)):
            refuse_another_uplink(known)
        if foreign := next((item for item in found if item.owner is Owner.FOREIGN), None):
            remedy = f'Remove {foreign.bridge}, or set `configure-ovs = "skip"` so that nodenet does not use it'
            raise BridgeForeign(foreign.findings[0].sentence, remedy=remedy)
        for item in found:
            if wrong := next((finding for finding in item.findings if finding.rule in MADE_ANEW), None):
                if waiting := await self._obstacle(facts):
                    return waiting
                self._later.forget()
                removal = self._remover.remove(transaction, known, record, (item.bridge,))
                await self._recorded(Kind.BRIDGE_REMOVAL, request, transaction, removal)
                text = f"Removed, to be made again: {wrong.sentence}"
                log.warning(text, message=Message.BRIDGE_MENDED, stage="configure-ovs")
                return Waiting(f"making the bridge again: {wrong.sentence}", seconds=0.0)
        log_ports_of_others(self._edges.files, found)
        plan = bridge.plan(known, self._edges.datapath)
        adopted = all(item.sound and item.owner is not Owner.OURS for item in found[: len(plan.uplinks)])
        left = {} if adopted else await transaction.compare(json.dumps(plan.document), known.state)
        if left:
            await self._refuse_another_try(request)
            return await self._make(transaction, plan, known, facts, left, request)
        await self._mark(found)
        return await self._keep(plan, known, facts, record)

    async def _obstacle(self, facts: Facts) -> Waiting | None:
        """Return what must be waited for: of NetworkManager's start no more than the activation of the uplink.

        Another link may be long in its start, as one whose DHCP server does not answer. Raises Unavailable.
        """
        waiting = await self._pipeline.obstacle(BRIDGE, uses_ovs=True)
        if waiting is None or facts.selection is None or facts.selection.link is None:
            return waiting
        with contextlib.suppress(Unavailable):
            if facts.selection.link in (await self._edges.gatherer.profiles.inventory(profiles=False)).settled:
                return await self._pipeline.obstacle(BRIDGE, uses_ovs=True, early=True)
        return waiting

    async def _refuse_another_try(self, request: Request) -> None:
        """Return unless an apply has failed and all that is new is this process, or its end. Raises NmstateFailure.

        Each try costs the node its address for a while, and pods run on it. Without kubelet there are none.
        """
        last = None if self._has_tried else self._failed()
        cause = self._not_rolled_back or (last.cause if last else "")
        self._has_tried, self._not_rolled_back = True, ""
        ordered = request.by_name or request.retry_refused
        if cause and not ordered and await self._edges.systemd.any_runs(UNITS):
            why = f"an apply has failed in this boot, and kubelet runs: {cause}"
            raise NmstateFailure(FailureKind.VERIFICATION, why, "Look at `journalctl -u nodenetd -b`")

    def _failed(self) -> Intent | None:
        """Return the last apply of this boot; None where it did not fail, or where it was interrupted."""
        last = self._pipeline.record
        here = last and (last.phase, last.boot_id) == (Phase.ROLLED_BACK, self._pipeline.boot_id)
        return last if last and here and last.cause else None

    async def _mark(self, found: Iterable[BridgeCondition]) -> None:
        """Mark an adopted bridge of the old script in the database."""
        for item in found:
            if item.sound and item.uplink and any(each.rule is Rule.NOT_MARKED and each.ours for each in item.findings):
                await self._edges.ovsdb.mark_bridge(item.bridge, ADOPTED, item.uplink)

    async def _gather(self, transaction: Transaction, facts: Facts, record: BridgeRecord | None) -> BridgeFacts:
        """Return the facts as of now."""
        remembered = record.uplinks.get(BRIDGE) if record else None
        mac = record.macs.get(remembered) if record and remembered else None
        return await self._edges.gatherer.gather(
            transaction, facts.selection, remembered=remembered, remembered_mac=mac
        )

    async def _remove(self, facts: Facts, record: BridgeRecord | None, request: Request) -> Skipped:
        async with self._edges.nmstate.transaction() as transaction:
            await self._remover.prove_rows()
            known = await self._gather(transaction, facts, record)
            refuse_removal(known, in_file=bool(facts.file_families))
            removal = self._remover.remove(transaction, known, record)
            names = await self._recorded(Kind.BRIDGE_REMOVAL, request, transaction, removal)
        self._maker.forget(removed_in=self._pipeline.boot_id)
        self._edges.files.remove(BRIDGE_UP)
        self._later.forget()
        reason = f"{' and '.join(names)} removed as requested" if names else "there is no br-ex to remove"
        return Skipped(reason, _plain(facts, {name: known.uplink_of(name) for name in names}), Message.CHANGE_UNDONE)

    async def _recorded(self, kind: Kind, request: Request, transaction: Transaction, change: Awaitable[T]) -> T:
        """Return what *change* returns; the history has it, or why it was undone, unless nothing was changed."""
        try:
            changed = await change
        except NmstateFailure as failure:
            await self._edges.recorder.bridge(kind, request.who, result=Result.REFUSED, cause=failure.cause)
            raise
        if changed:
            await self._edges.recorder.bridge(kind, request.who, transaction=transaction)
        return changed

    async def _make(  # noqa: PLR0913  (what was found)
        self, transaction: Transaction, plan: Plan, known: BridgeFacts, facts: Facts, left: Document, request: Request
    ) -> Done | Waiting:
        if waiting := await self._obstacle(facts):
            return waiting
        await self._edges.gatherer.prove_plugin()
        await self._edges.gatherer.prove_datapath(self._edges.datapath)
        # After a rollback the addresses are on their way back: without them the plan would not keep them.
        places = {item.address: item.link for item in self._edges.kernel.snapshot().addresses}
        usable = (ip in places and self._edges.kernel.can_bind(ip, 0) for ip in known.node_ips)
        if away := next((ip for ip, there in zip(known.node_ips, usable, strict=True) if not there), None):
            raise Unavailable(f"the node IP {away} is not on this node at the moment", remedy=REMEDY)
        if late := bridge.unplanned(plan, known, places):
            raise Unavailable(f"the node IP {late} came to {places[late]} while br-ex was planned", remedy=REMEDY)
        began, before = self._pipeline.now(), self._pipeline.record
        links = {name for uplink in plan.uplinks for name in (uplink.bridge, uplink.link)}
        made = self._maker.make(transaction, plan, known)
        try:
            async with ovs_errors(self._edges.ovsdb, links):
                record, problem = await self._recorded(Kind.BRIDGE, request, transaction, made), None
        except RollbackFailed as error:
            self._not_rolled_back = error.cause
            raise
        if record.finish:
            record, problem = await self._maker.settle(record)
        log_changed(before, self._pipeline.boot_id, BRIDGE, left, "configure-ovs")
        for note in plan.notes:
            log.warning(note, message=Message.NOTE, stage="configure-ovs")
        how = f"made in {self._pipeline.now() - began:.1f} s"
        return replace(self._status(plan, record, facts, how, Message.BRIDGE_MADE), problem=problem)

    async def _keep(self, plan: Plan, known: BridgeFacts, facts: Facts, record: BridgeRecord | None) -> Done:
        """The bridges are there: see whether something is owed to them."""
        problem, owed = None, record is not None and record.finish is not None
        if record is None or record.removed_in:
            record = await self._maker.adopt(plan, known)
        elif record.finish:
            record, problem = await self._maker.settle_and_hold(record)
        record = await self._maker.follow(record, plan, known)
        self._maker.found_good()
        how = "as it was, made by another program" if record.adopted else "as it was"
        done = replace(self._status(plan, record, facts, how, Message.NETWORK_UNCHANGED), problem=problem)
        return replace(done, again=SOON) if owed and not record.finish else done

    def _status(self, plan: Plan, record: BridgeRecord, facts: Facts, how: str, message: Message) -> Done:
        """Publish the bridge; return the outcome."""
        main = plan.uplinks[0]
        self._edges.files.write(BRIDGE_UP, b"")
        self._edges.files.write(HINT, main.link.encode() + b"\n")
        selection = facts.selection
        if selection and selection.link in record.uplinks.values():
            bridges = {link: name for name, link in record.uplinks.items()}
            selection = selection.moved(bridges)
        detail = ", ".join(f"{uplink.bridge} over {uplink.link} ({uplink.reason})" for uplink in plan.uplinks)
        detail += CARRIES if record.finish else ""
        known = replace(facts, bridge=main.bridge, uplink=main.link, selection=selection)
        return Done(f"{detail}: {how}", known, message, again=next_look(record))

    def _wait(self, facts: Facts, request: Request, waiting: Waiting, remedy: str = REMEDY) -> Outcome:
        """Wait, holding kubelet back for PATIENCE_SECONDS at most; not at all where the bridge exists."""
        now = self._pipeline.now()
        again = Again(waiting.topics | CAUSES, waiting.seconds)
        if (done := self._later.done_here(facts)) and not request.remove_bridge:
            return replace(done, facts=facts, again=again)
        self._awaited = self._awaited.holds(now)
        if self._awaited.left(now, PATIENCE_SECONDS) > 0:
            return replace(waiting, topics=again.topics)
        # Of a bridge that has the node IP and no uplink the watch never sees a gateway answer: nothing else wakes this.
        seconds = MAX_LOOK_SECONDS if facts.selection and facts.selection.link == BRIDGE else None
        return Failed(Problem(Message.BRIDGE_FAILED, waiting.reason, remedy), facts, Again(again.topics, seconds))

    def _rolled_back(self, facts: Facts, failure: NmstateFailure, run: int) -> Failed:
        """Return the outcome; each try cuts the node off for a moment, so events bring about TRIES in a row at most."""
        if failure.kind is FailureKind.MISSING:
            raise LibnmstateMissing(failure.cause, remedy=failure.remedy) from failure
        remedy = f"{failure.remedy}; {AGAIN}" if failure.remedy else AGAIN.capitalize()
        self._tries = run, self._tries[1] + 1 if self._tries[0] == run else 1
        often = f" in {TRIES} tries" if self._tries[1] >= TRIES else ""
        problem = Problem(Message.BRIDGE_FAILED, f"br-ex could not be made{often}: {failure.cause}", remedy)
        if often:
            return Failed(problem, facts)
        # A rollback is an event of NetworkManager's itself; where nothing was touched, the cause may be one.
        if (last := self._failed()) is None and failure.kind is FailureKind.DEPENDENCY:
            return Failed(problem, facts, Again(CAUSES))
        # What came back before the try, while it was prepared, is no reason for another one.
        return Failed(problem, facts, Again(frozenset({Topic.OVS, Topic.UPLINK}), since=last.started if last else 0.0))


def _by_hint(facts: Facts) -> bool:
    """Whether an administrator's hint has put the node IP where it is."""
    return bool(facts.selection and facts.selection.selected and facts.selection.selected[0].rule is NodeIpRule.HINT)


def _plain(facts: Facts, uplinks: Mapping[str, str | None]) -> Facts:
    """Return *facts* without the bridges of *uplinks*: bridge → the link that has its addresses now."""
    selection = facts.selection
    if selection and selection.link in uplinks:
        selection = selection.moved(uplinks)
    return replace(facts, bridge=None, uplink=None, selection=selection)
