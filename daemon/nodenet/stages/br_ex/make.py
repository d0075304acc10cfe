"""How is br-ex made without a long loss of connectivity?

A leased address and its routes are static at first, so the bridge can send before DHCP has answered. The apply is
committed when the node IPs are on the bridge and the gateways answer. Then the static copy of the lease is removed: at
once, or as soon as a DHCP server confirms the lease.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace

from nodenet.core.apply.intent import Phase
from nodenet.core.boot.outcome import Problem
from nodenet.core.br_ex import record as bridge_record
from nodenet.core.br_ex.condition import awaited_profile
from nodenet.core.br_ex.facts import BridgeFacts
from nodenet.core.br_ex.lease import lease_of
from nodenet.core.br_ex.plan import Document, Plan
from nodenet.core.br_ex.record import BridgeRecord
from nodenet.core.br_ex.source import Source, source_of
from nodenet.core.br_ex.take_over import over_another
from nodenet.core.br_ex.uplink import BRIDGE
from nodenet.core.change.record import Change, What
from nodenet.core.errors import Unavailable, UplinkRefused
from nodenet.core.value import frozen
from nodenet.ports import Clock, DnsManager, Files, Manager, Profiles, Store, Sysctls, Transaction
from nodenet.stages.apply.network_before import ProfileKeeper, network_of_links
from nodenet.stages.apply.pipeline import Pipeline
from nodenet.stages.apply.records import BRIDGE as BRIDGE_RECORD
from nodenet.stages.apply.records import Records
from nodenet.stages.br_ex.duplicate_checks import DuplicateChecks
from nodenet.stages.br_ex.leases import BridgeProfiles, StaticLeases
from nodenet.stages.br_ex.neighbours import neighbours_follow
from nodenet.stages.br_ex.verify import Verifier


@frozen
class BridgeMakerEdges:
    """What a bridge is made with."""

    clock: Clock
    files: Files
    store: Store
    manager: Manager
    dns: DnsManager
    profiles: Profiles
    keeper: ProfileKeeper
    sysctls: Sysctls
    verifier: Verifier


class BridgeMaker:
    """Makes the bridges of a plan, and finishes them."""

    def __init__(self, edges: BridgeMakerEdges, pipeline: Pipeline) -> None:
        """Apply through *pipeline*."""
        self._edges = edges
        self.verifier = edges.verifier
        self._records = Records(edges.files, edges.store)
        self._pipeline = pipeline
        self._checks = DuplicateChecks(edges.files, edges.sysctls, edges.dns)
        self._profiles = BridgeProfiles(edges.profiles, edges.manager, pipeline.others)
        self.given_up: BridgeRecord | None = None
        """What was restored in the place of the bridges since the last attempt of the stage."""
        self._leases = StaticLeases(edges.clock, pipeline.boot_id, edges.profiles, self._profiles, edges.verifier)

    @property
    def record(self) -> BridgeRecord | None:
        """What the bridges were made of."""
        return self._records.load(BRIDGE_RECORD, bridge_record.parse)

    @property
    def may_have_left_rows(self) -> bool:
        """Whether this boot may have left rows in Open vSwitch's database, also by an apply that was rolled back.

        NetworkManager cannot take its rows out again while the database is away. Raises PublishFailed.
        """
        intent = self._pipeline.record
        return intent is not None and intent.boot_id == self._pipeline.boot_id

    def save(self, record: BridgeRecord) -> None:
        """Let *record* be what the bridges were made of."""
        self._records.save(BRIDGE_RECORD, bridge_record.render(record))

    async def make(self, transaction: Transaction, plan: Plan, facts: BridgeFacts) -> BridgeRecord:
        """Make the bridges; return the record, which says whether a lease is still static.

        Raises NmstateFailure with the network as it was, or RollbackFailed, PublishFailed, Unavailable.
        """
        sources = _sources(plan, facts)
        try:
            self._is_usable(plan.uplinks[0].link, facts)
        except Unavailable as error:
            if old := next((source.replaced for source in sources.values() if source.replaced), None):  # br-ex stands
                cause = f"{error.cause}: it cannot take the place of {old} below {plan.uplinks[0].bridge}"
                raise UplinkRefused(cause, remedy=f"{error.remedy}; then run `nodenetctl bridge make`") from error
            raise
        # A bridge that stands has them below a link that takes the place of another one, too.
        from_link = {bridge: source.link if source.replaced else source.uplink for bridge, source in sources.items()}
        answering = {
            item.bridge: await self.verifier.answering(from_link[item.bridge], item.gateways) for item in plan.expect
        }
        record = await self._remembered(plan, facts)
        self._edges.store.save_ahead(BRIDGE_RECORD, bridge_record.render(record))

        async def accept() -> None:
            nonlocal record
            await self._complete(plan)
            await self.verifier.addressed(plan.expect)
            if record.finish:
                record = await self._leases.confirm(record, plan, facts)
            for bridge, gateways in answering.items():
                await self.verifier.reachable(bridge, gateways)
            await self.verifier.until_set(self._edges.sysctls, plan.sysctls)

        with self._checks.without_dad(record.addresses, record.uplinks):
            moves = {link: bridge for bridge, link in from_link.items()}
            below = {link for source in sources.values() for link in (source.uplink, source.replaced) if link}
            await self.apply(transaction, plan.document_with_lease or plan.document, moves, accept, below)
        record = await self._over_others(record, plan, facts)
        self.save(record)
        return record

    def _is_usable(self, link: str, facts: BridgeFacts) -> None:
        """Raise Unavailable if *link* has no carrier, or NetworkManager does not use it yet."""
        self.verifier.has_carrier(link)
        if name := awaited_profile(facts, link):
            cause = f"NetworkManager has not activated {name!r} on {link}"
            raise Unavailable(cause, remedy=f"Look at `nmcli device show {link}`")

    async def follow(self, record: BridgeRecord, plan: Plan, facts: BridgeFacts) -> BridgeRecord:
        """Return *record* with the links that are below the bridges: another one may be there since it was written.

        Raises Unavailable, PublishFailed.
        """
        if (found := await self._over_others(record, plan, facts)) != record:
            self.save(found)
        return found

    async def _over_others(self, record: BridgeRecord, plan: Plan, facts: BridgeFacts) -> BridgeRecord:
        for uplink in plan.uplinks:
            if record.uplinks.get(uplink.bridge, uplink.link) == uplink.link:
                continue
            devices = {each.link: each for each in (await self._edges.profiles.inventory()).devices}
            device = devices.get(uplink.link)  # the last one of a name: its port of Open vSwitch has it too
            if device is None or device.profile is None:
                continue
            port, bridge = await self._edges.keeper.keep(device.profile.uuid), facts.device(uplink.bridge)
            client_id = bridge.lease4.client_id if bridge and bridge.lease4 else None
            mac = device.permanent_mac or device.mac
            record = over_another(record, uplink.bridge, uplink.link, port, mac, client_id)
        return record

    async def settle(self, record: BridgeRecord) -> tuple[BridgeRecord, Problem | None]:
        """Give confirmed leases back to DHCP; return the record after that, and the problem, if any.

        Raises Unavailable.
        """
        settled, problem = await self._leases.settle(record)
        if settled != record:
            self.save(settled)
        return settled, problem

    async def settle_and_hold(self, record: BridgeRecord) -> tuple[BridgeRecord, Problem | None]:
        """Do the same, and note the leases that are left in this boot. Raises Unavailable."""
        settled, problem = await self.settle(record)
        return self.hold_leases(settled), problem

    def hold_leases(self, record: BridgeRecord) -> BridgeRecord:
        """Note leases of an earlier boot, still valid, as leases of this one."""
        noted = self._leases.noted_now(record)
        if noted != record:
            self.save(noted)
        return noted

    def forget(self, bridges: Collection[str] | None = None, *, removed_in: str | None = None) -> None:
        """Take note that the network is what it was before *bridges*; default: all. Raises PublishFailed."""
        if record := self.record or (BridgeRecord({}) if removed_in else None):  # there may be none yet
            self.save(replace(record.without(bridges), removed_in=removed_in))
        self._pipeline.save(None)

    def found_good(self) -> None:
        """Take note that the bridges are as they should be, where an interrupted apply left that open.

        Raises PublishFailed.
        """
        intent = self._pipeline.record
        if intent and intent.phase is not Phase.GOOD:
            self._pipeline.save(replace(intent, phase=Phase.GOOD, in_force=intent.digest))

    async def adopt(self, plan: Plan, facts: BridgeFacts) -> BridgeRecord:
        """Adopt sound bridges that another program made; nothing is applied."""
        record = replace((await self._remembered(plan, facts)).finished(), adopted=True)
        self.save(record)
        return record

    async def _remembered(self, plan: Plan, facts: BridgeFacts) -> BridgeRecord:
        """Return the record of what the plan will change; of a link that is replaced it has the one from before."""
        sources = _sources(plan, facts)
        over = {bridge: source.replaced or source.uplink for bridge, source in sources.items()}
        links = list(over.values())
        devices = [device for link in links if (device := facts.device(link))]
        profiles = {device.link: device.profile.uuid for device in devices if device.profile}
        now = self._leases.moment()
        static = {bridge: lease_of(facts, link, now) for bridge, link in over.items()}
        leases = {bridge: lease for bridge, lease in static.items() if lease and bridge in plan.finish_settings}
        # Where a bridge is only repaired, the uplink's profile is the bridge's by now: keep the one from before.
        before = self.record
        below = {link for bridge, link in over.items() if facts.uplink_of(bridge) == link}
        kept = before.originals if before else {}
        earlier = {original.uuid: original for link, original in kept.items() if link in below}
        # After an interrupted apply the uplink may have no active profile, and still be the bridge's port.
        profiles = {link: original.uuid for link, original in kept.items() if link in below} | profiles
        # Such a bridge may have the static copy of its lease still.
        there = {bridge for bridge, link in over.items() if link in below} - plan.finish_settings.keys()
        owed = before.finished(set(before.finish or ()) - there) if before else None
        return BridgeRecord(
            uplinks=over,
            macs={device.link: mac for device in devices if (mac := device.permanent_mac or device.mac)},
            node_ips=tuple(str(address) for item in plan.expect for address in item.addresses),
            originals={
                link: earlier.get(uuid) or await self._edges.keeper.keep(uuid)
                for link, uuid in profiles.items()
                if uuid in earlier or link not in below
            },
            present=before.present if earlier and before else tuple(each.uuid for each in facts.profiles),
            finish={**((owed and owed.finish) or {}), **plan.finish_settings} or None,
            leases={**(owed.leases if owed else {}), **leases},
        )

    async def _complete(self, plan: Plan) -> None:
        """Set what NMState has no key for, on the bridges' own profiles."""
        if plan.clear_global_dns:
            await self._edges.manager.restore_dns({})
        if plan.nm_properties:
            await self._profiles.set(plan.nm_properties)

    async def apply(
        self,
        transaction: Transaction,
        document: Document,
        moves: Mapping[str, str],
        accept: Callable[[], Awaitable[None]],
        below: Collection[str] = (),
    ) -> None:
        """Apply *document*, which moves addresses from link to link (*moves*), and commit it once *accept* returns.

        *below* are the links that become ports, and those that are none any more. Raises as ``Pipeline.apply`` does.
        """
        text = json.dumps(document)
        digest = hashlib.sha256(text.encode()).hexdigest()
        intent = self._pipeline.intent(digest, Phase.APPLYING, in_force=None, brings_bridge=True)
        links = {*moves, *moves.values(), *below}
        change = Change(What.BRIDGE, BRIDGE, intent, await network_of_links(self._edges.keeper, links))
        good = replace(intent, phase=Phase.GOOD, in_force=digest)
        async with self._checks.without_probe(sorted(links)), neighbours_follow(self.verifier.neighbours, moves):
            await self._pipeline.apply(transaction, text, change, good, accept)

    async def restore_checks(self) -> None:
        """Restore the checks for duplicate addresses that an apply left out. Raises PublishFailed."""
        await self._checks.restore(self.record.uplinks if self.record else ())

    def owes_checks(self) -> bool:
        """Return whether NetworkManager has not read yet that they are restored. Raises PublishFailed."""
        return self._checks.owe_the_probe()


def _sources(plan: Plan, facts: BridgeFacts) -> dict[str, Source]:
    """Return for each bridge of *plan* the link that has its configuration now."""
    return {uplink.bridge: source_of(facts, uplink.bridge, uplink.link) for uplink in plan.uplinks}
