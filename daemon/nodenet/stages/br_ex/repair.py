"""How is a bridge repaired after a power cut, a kill or a script's failure?

At two moments: before the node IP is chosen, where an interrupted apply left the node without its addresses; and before
br-ex is made, where database and profiles disagree. Only what nodenet made is changed, and each change is logged.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

import structlog

from nodenet.core.apply.intent import Phase
from nodenet.core.boot.facts import Facts
from nodenet.core.boot.outcome import Done, Outcome, Problem, Topic, Waiting
from nodenet.core.boot.request import NOTHING, Request
from nodenet.core.br_ex.condition import BridgeCondition, Rule, is_port, orphans, readdressed
from nodenet.core.br_ex.record import BridgeRecord
from nodenet.core.br_ex.renamed import renamed_uplinks
from nodenet.core.errors import PublishFailed, Unavailable
from nodenet.core.messages import Message
from nodenet.core.network_manager.objects import DISCONNECTED
from nodenet.core.network_manager.profiles import Profile
from nodenet.core.since import NEVER
from nodenet.ports import Kernel, Ovsdb, Profiles, Stage
from nodenet.stages.apply.pipeline import MANAGER, Pipeline
from nodenet.stages.br_ex.make import BridgeMaker
from nodenet.stages.br_ex.profile_backup import ProfileKeeper

log = structlog.get_logger()

PATIENCE_SECONDS = 5.0
"""How long the address may take to come back by itself: a rollback has just been asked for, or a server is slow."""
CONFIRM_SECONDS = 10.0
"""How long a DHCP server may take to confirm a lease of an earlier boot before it is used without."""
RESTORING = "restoring the network from before br-ex"


class BridgeRepairer:
    """Removes the remains of bridges and restores the profiles of the uplinks."""

    def __init__(self, ovsdb: Ovsdb, profiles: Profiles, keeper: ProfileKeeper) -> None:
        """Work through them."""
        self._ovsdb = ovsdb
        self._profiles = profiles
        self._keeper = keeper

    async def repair(self, found: Iterable[BridgeCondition]) -> bool:
        """Remove dead rows of ours from the database; return whether there were any. Raises Unavailable.

        Making the bridge repairs all other findings.
        """
        repaired = False
        for condition in found:
            for finding in condition.findings:
                if not finding.ours:
                    continue
                if finding.rule is Rule.BRIDGE_WITHOUT_PROFILE:
                    repaired |= await self._ovsdb.remove_bridge(condition.bridge)
                elif finding.rule is Rule.PORT_WITHOUT_LINK:
                    repaired |= await self._ovsdb.remove_port(condition.bridge, finding.port)
                else:
                    continue
                log.warning(f"Repaired: {finding.sentence}", message=Message.BRIDGE_MENDED, stage="configure-ovs")
        return repaired

    async def take_away(self, bridge: str, profiles: Sequence[str]) -> None:
        """Delete the *profiles* of a bridge (UUIDs), and the bridge where the database still has it.

        *profiles* begin with the bridge's own. They go from the links upwards: a link that was freed by the end of
        its bridge would at once be given to its profile for the bridge again, and be left with none.
        NetworkManager keeps a bridge that has a port of another program. Raises Unavailable.
        """
        for uuid in reversed(profiles):
            await self._profiles.delete(uuid)
        await self._ovsdb.remove_bridge(bridge)

    async def connect(self, link: str) -> None:
        """See that *link* comes up, with whatever profile NetworkManager has for it. Raises Unavailable."""
        if (await self._profiles.inventory(profiles=False)).states.get(link) == DISCONNECTED:
            await self._profiles.connect(link)

    async def orphan(self, record: BridgeRecord) -> str | None:
        """Return the name of an uplink's profile that waits for a bridge that is gone. Raises Unavailable."""
        profiles = (await self._profiles.inventory()).profiles
        return next((each.name for each in orphans(profiles, {kept.uuid for kept in record.originals.values()})), None)

    async def renamed(self, record: BridgeRecord, links: Collection[str]) -> dict[str, str]:
        """Return the uplinks that have another name now; *links* are the kernel's. Raises Unavailable."""
        if not record.originals or set(record.uplinks.values()) <= set(links):
            return {}
        return renamed_uplinks(record, await self._profiles.inventory(), links)

    async def give_back(self, record: BridgeRecord, old_names: Collection[str] = ()) -> list[PublishFailed]:
        """Restore the network of *record* from before its bridges; return which keyfiles could not be written.

        Raises Unavailable. A link that an administrator has given a profile of its own since keeps that one.
        *old_names* are those of uplinks that have another name now.
        """
        inventory = await self._profiles.inventory()
        # For a link with a new name NetworkManager has made a profile itself, in memory.
        lasting = tuple(profile for profile in inventory.profiles if profile.on_disk or not old_names)
        theirs = self._of_others(record, lasting)
        links = {*record.uplinks, *record.uplinks.values(), *old_names} - theirs.keys()
        new = [profile for profile in inventory.profiles if profile.uuid not in record.present]
        for profile in new:
            if profile.link in links or (profile.link in theirs and is_port(profile)):
                await self._profiles.delete(profile.uuid)
        originals = {link: kept for link, kept in record.originals.items() if link not in theirs}
        unwritten = [error for kept in originals.values() if (error := await self._keeper.give_back(kept))]
        # The node IP does not need Open vSwitch: a row that is left is removed when br-ex is made.
        for bridge in record.uplinks if self._ovsdb.answers() else ():
            await self._ovsdb.remove_bridge(bridge)
        for link, kept in originals.items():
            await self._profiles.activate(kept.uuid, link)
        return unwritten

    def _of_others(self, record: BridgeRecord, profiles: tuple[Profile, ...]) -> dict[str, str]:
        """Return the links for which another program made a profile since, with its name; the journal names them."""
        found = {link: readdressed(profiles, record.present, link) for link in record.originals}
        for link, name in found.items():
            if name:
                text = f"{link} keeps the profile {name!r}, which was made after br-ex"
                log.info(text, message=Message.BRIDGE_NOTE, stage="configure-ovs")
        return {link: name for link, name in found.items() if name}


class RecoverFirst:
    """Repairs what an interrupted apply left, then runs the stage that chooses the node IP."""

    def __init__(
        self, stage: Stage, repairer: BridgeRepairer, maker: BridgeMaker, pipeline: Pipeline, kernel: Kernel
    ) -> None:
        """Run *stage* once the network is repaired."""
        self._stage = stage
        self._repairer = repairer
        self._maker = maker
        self._pipeline = pipeline
        self._kernel = kernel
        self._missed = NEVER
        self._unconfirmed = NEVER
        self._looked = False
        self._problem: Problem | None = None
        """The first record that could not be read or written, or keyfile that could not be restored."""
        self._settled: BridgeRecord | None = None
        """The record whose leases were settled, where the result could not be written: not to be done again."""
        self._held: BridgeRecord | None = None
        self._given_back: BridgeRecord | None = None
        """The record whose network was restored, where that could not be written: not to be done again."""

    async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:
        """Return the stage's own outcome, or Waiting before that."""
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

    async def _repaired(self) -> Waiting | None:
        """Repair what the records call for; return the wait that it needs. Raises Unavailable, PublishFailed."""
        intent, record = self._pipeline.record, self._maker.record
        if record and await self._follow_renamed(record):
            record = self._maker.record
        if intent and record and intent.phase is Phase.APPLYING:
            # NetworkManager has no checkpoint of an earlier boot: an address that is there needs no rollback first.
            if not (intent.boot_id != self._pipeline.boot_id and self._has_address(record)):
                return await self._recover(record)
            if not self._is_static(record):
                return None
        if record and record.leases and (waiting := await self._settle(record)):
            return waiting
        if record and record.originals and not self._looked:
            await self._free_orphan(record)
        return None

    async def follow_renamed(self) -> Waiting | None:
        """Restore the plain network of an uplink that has another name now; return what that waits for, if anything."""
        try:
            with self._going_on():
                if record := self._maker.record:
                    await self._follow_renamed(record)
        except Unavailable as error:
            return await self._pipeline.unanswered(f"{RESTORING}: {error.cause}")
        return None

    async def _recover(self, record: BridgeRecord) -> Waiting | None:
        if waiting := await self._pipeline.obstacle("the network as it was before br-ex", uses_ovs=False):
            return waiting
        if not record.addresses or self._has_address(record):
            return None  # on the uplink or on the bridge: configure-ovs sees to the rest
        now = self._pipeline.now()
        self._missed = self._missed.holds(now)
        if self._missed.left(now, PATIENCE_SECONDS) > 0:
            reason = f"{record.node_ips[0]} is missing since the making of br-ex was interrupted"
            return Waiting(reason, frozenset({Topic.KERNEL}), 1.0)
        await self._give_back(record, "The making of br-ex was interrupted and the node has lost its address")
        return None

    async def _follow_renamed(self, record: BridgeRecord) -> bool:
        """Restore the plain network of an uplink that has another name now; return whether that was necessary.

        Before NetworkManager is ready: with a DHCP client on a bridge without an uplink it never is.
        """
        links = {link.name for link in self._kernel.snapshot().links}
        for old, new in (await self._repairer.renamed(record, links)).items():
            why = f"{old}, the uplink of a bridge, is called {new} now (same MAC)"
            record = record.renamed(old, new)
            with self._going_on():
                self._maker.save(record)
            await self._give_back(record, why, (old,))
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
            log.warning(problem.cause, message=problem.message, stage="nodeip", remedy=problem.remedy)
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
        if record == self._held:
            return None
        self._held = record
        cause = f"No DHCP server has confirmed {addresses} in this boot: used until the lease ends"
        log.warning(cause, message=Message.LEASE_LOST, stage="nodeip", remedy="Look at the DHCP server")
        return None

    async def _free_orphan(self, record: BridgeRecord) -> None:
        """Restore an uplink's own profile where the bridge's profiles are gone; NetworkManager would not."""
        if self._has_address(record):
            return
        if await self._pipeline.obstacle("the network as it was before br-ex", uses_ovs=False):
            return  # the stage waits for NetworkManager too
        if orphan := await self._repairer.orphan(record):
            why = f"The profile {orphan!r} is for a port of a bridge whose profiles are gone, and cannot come up"
            await self._give_back(record, why)
        self._looked = True

    def _has_address(self, record: BridgeRecord) -> bool:
        # Not by bind(2): with `ip_nonlocal_bind` (ip-sysctl) it succeeds for any address.
        present = {item.address for item in self._kernel.snapshot().addresses}
        return any(address in present for address in record.addresses)

    def _is_static(self, record: BridgeRecord) -> bool:
        """Return whether a bridge has the address of a lease of *record* already."""
        places = {(str(item.address), item.link) for item in self._kernel.snapshot().addresses}
        return any((lease.address, bridge) in places for bridge, lease in record.leases.items())

    async def _give_back(self, record: BridgeRecord, why: str, old_names: Collection[str] = ()) -> None:
        if record != self._given_back:
            text = f"{why}. The network from before br-ex is restored"
            log.warning(text, message=Message.BRIDGE_MENDED, stage="configure-ovs")
            unwritten = await self._repairer.give_back(record, old_names)
            self._note(*unwritten)
            self._given_back = record
        with self._going_on():
            self._maker.forget()
            self._given_back = None

    @contextlib.contextmanager
    def _going_on(self) -> Iterator[None]:
        """Go on where a record cannot be read or written: the node IP is selected without it, with that problem."""
        try:
            yield
        except PublishFailed as error:
            self._note(error.saying(f"{error.cause}; the node IP is selected without that record", error.remedy))

    def _note(self, *errors: PublishFailed) -> None:
        """Keep the first of all errors as the problem of the stage."""
        for error in errors:
            self._problem = self._problem or Problem.of(error)
