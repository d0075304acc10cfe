"""How does a node get back to the plain uplink?

In one transaction, like the making: the addresses must be on the uplinks before it is committed. The uplinks' own
profiles become what they were before libnmstate wrote into them.
"""

from __future__ import annotations

from nodenet.core.br_ex.condition import BridgeCondition, Owner, condition_of
from nodenet.core.br_ex.facts import BridgeFacts
from nodenet.core.br_ex.plan import Expectation
from nodenet.core.br_ex.record import BridgeRecord
from nodenet.core.br_ex.removal import removal
from nodenet.core.br_ex.uplink import BRIDGE, EXTRA_BRIDGE
from nodenet.core.errors import BridgeForeign
from nodenet.ports import Transaction
from nodenet.stages.br_ex.make import BridgeMaker
from nodenet.stages.br_ex.profile_backup import ProfileKeeper
from nodenet.stages.br_ex.repair import BridgeRepairer
from nodenet.stages.br_ex.verify import Verifier


class BridgeRemover:
    """Takes br-ex and br-ex1 away."""

    def __init__(self, keeper: ProfileKeeper, look: Verifier, maker: BridgeMaker, mender: BridgeRepairer) -> None:
        """Apply as *maker* does, take the old script's bridges away as *mender* does."""
        self._keeper = keeper
        self._look = look
        self._maker = maker
        self._mender = mender

    async def remove(
        self,
        transaction: Transaction,
        facts: BridgeFacts,
        record: BridgeRecord | None,
        bridges: tuple[str, ...] = (BRIDGE, EXTRA_BRIDGE),
    ) -> tuple[str, ...]:
        """Take *bridges* away; return the names of those that were there.

        Raises BridgeForeign, NmstateFailure with the network as it was, RollbackFailed, PublishFailed, Unavailable.
        """
        there = [found for name in bridges if (found := condition_of(facts, name)).owner is not Owner.NOBODY]
        if foreign := next((found for found in there if found.owner is Owner.FOREIGN), None):
            raise BridgeForeign(
                f"{foreign.bridge} was made by somebody else and is left alone",
                remedy=f"Take it away with the tool that made it; `ovs-vsctl list bridge {foreign.bridge}` may tell",
            )
        expect = tuple(
            Expectation(found.uplink, facts.node_ips, (), None, None)
            for found in there
            if found.uplink and facts.node_ip_link == found.bridge
        )
        if any(found.owner is Owner.OLD_SCRIPT for found in there):
            await self._remove_script_s(there, expect)
        elif there:
            await self._remove_ours(transaction, facts, record, there, expect)
        self._maker.forget()
        return tuple(found.bridge for found in there)

    async def _remove_ours(
        self,
        transaction: Transaction,
        facts: BridgeFacts,
        record: BridgeRecord | None,
        there: list[BridgeCondition],
        expect: tuple[Expectation, ...],
    ) -> None:
        uplinks = {found.uplink for found in there}
        originals = {link: kept for link, kept in record.originals.items() if link in uplinks} if record else {}

        async def accept() -> None:
            # The link goes on as libnmstate set it: what the profile says beyond that is for its next activation.
            for kept in originals.values():
                await self._keeper.give_back(kept)
            await self._look.addressed(expect)

        known = tuple(
            profile for profile in facts.profiles if profile.uuid in {kept.uuid for kept in originals.values()}
        )
        names = tuple(found.bridge for found in there)
        await self._maker.apply(transaction, removal(facts, known, names), accept)

    async def _remove_script_s(self, there: list[BridgeCondition], expect: tuple[Expectation, ...]) -> None:
        """Take the old script's bridges away: the uplinks' own profiles were left alone, and come up again."""
        for found in there:
            await self._mender.take_away(found.bridge, found.profiles)
        for found in there:
            if found.uplink:
                await self._mender.connect(found.uplink)
        await self._look.addressed(expect)
