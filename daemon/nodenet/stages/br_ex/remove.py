"""How is br-ex removed, and how does the uplink get its configuration back?

In one transaction, as br-ex is made: the addresses must be on the uplinks before it is committed. The uplinks' own
profiles are restored as they were before libnmstate changed them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from nodenet.core.br_ex.condition import BridgeCondition, Owner, condition_of
from nodenet.core.br_ex.facts import BridgeFacts
from nodenet.core.br_ex.plan import Expectation
from nodenet.core.br_ex.record import BridgeRecord
from nodenet.core.br_ex.removal import removal
from nodenet.core.br_ex.uplink import BRIDGE, EXTRA_BRIDGE
from nodenet.core.errors import BridgeForeign, Unavailable
from nodenet.ports import Transaction
from nodenet.stages.apply.changes import shielded
from nodenet.stages.apply.network_before import ProfileKeeper
from nodenet.stages.br_ex.make import BridgeMaker
from nodenet.stages.br_ex.repair import BridgeRepairer
from nodenet.stages.br_ex.verify import Verifier

log = structlog.get_logger()


@contextmanager
def _without_switch(names: str) -> Iterator[None]:
    """Name the bridges that an Open vSwitch cannot let go that does not answer."""
    try:
        yield
    except Unavailable as error:
        raise error.saying(f"{names} cannot be removed without Open vSwitch: {error.cause}", error.remedy) from error


class BridgeRemover:
    """Removes br-ex and br-ex1."""

    def __init__(self, keeper: ProfileKeeper, verifier: Verifier, maker: BridgeMaker, repairer: BridgeRepairer) -> None:
        """Apply as *maker* does, take the old script's bridges away as *repairer* does."""
        self._keeper = keeper
        self._verifier = verifier
        self._maker = maker
        self._repairer = repairer

    async def remove(
        self,
        transaction: Transaction,
        facts: BridgeFacts,
        record: BridgeRecord | None,
        bridges: tuple[str, ...] = (BRIDGE, EXTRA_BRIDGE),
    ) -> tuple[str, ...]:
        """Remove *bridges*; return the names of those that existed.

        Raises BridgeForeign, NmstateFailure with the network as it was, RollbackFailed, PublishFailed, Unavailable.
        """
        there = [found for name in bridges if (found := condition_of(facts, name)).owner is not Owner.NONE]
        if foreign := next((found for found in there if found.owner is Owner.FOREIGN), None):
            raise BridgeForeign(
                f"{foreign.bridge} was made by another program; nodenet does not remove it",
                remedy=f"Remove it with the program that made it; see `ovs-vsctl list bridge {foreign.bridge}`",
            )
        if there:
            with _without_switch(" and ".join(found.bridge for found in there)):
                await self._repairer.prove_switch()  # only its database says for certain which links are uplinks
        expect = tuple(
            Expectation(found.uplink, facts.node_ips, ())
            for found in there
            if found.uplink and facts.node_ip_link in {found.bridge, found.uplink}
        )
        if any(found.owner is Owner.OLD_SCRIPT for found in there):
            await self._remove_script_s(there, expect)
        elif there:
            await self._remove_ours(transaction, facts, record, there, expect)
        names = tuple(found.bridge for found in there)
        self._maker.forget(names)
        return names

    async def prove_rows(self) -> None:
        """Return when the rows that an apply of this boot may have left can be read. Raises Unavailable.

        NetworkManager cannot take its rows out again while the database is away: "there is no br-ex" would be wrong.
        """
        if self._maker.may_have_left_rows:
            with _without_switch(BRIDGE):
                await self._repairer.prove_database()

    async def _remove_ours(
        self,
        transaction: Transaction,
        facts: BridgeFacts,
        record: BridgeRecord | None,
        there: list[BridgeCondition],
        expect: tuple[Expectation, ...],
    ) -> None:
        # After an interrupted apply the uplink may be no port, and have its profile for the bridge all the same.
        recorded = record or BridgeRecord({})
        uplinks = {found.uplink or recorded.uplinks.get(found.bridge) for found in there}
        originals = {link: kept for link, kept in recorded.originals.items() if link in uplinks}

        async def accept() -> None:
            # The link keeps what libnmstate set; the other settings of the profile take effect at its next activation.
            for kept in originals.values():
                if error := await self._keeper.give_back(kept):
                    log.warning(error.cause, message=error.message, stage="configure-ovs", remedy=error.remedy)
            for link in originals.keys() - moves.values():
                await self._repairer.connect(link)
            await self._verifier.addressed(expect)

        known = tuple(
            profile for profile in facts.profiles if profile.uuid in {kept.uuid for kept in originals.values()}
        )
        names = tuple(found.bridge for found in there)
        moves = {found.bridge: found.uplink for found in there if found.uplink}
        await self._maker.apply(transaction, removal(facts, known, names), moves, accept)

    async def _remove_script_s(self, there: list[BridgeCondition], expect: tuple[Expectation, ...]) -> None:
        """Remove the old script's bridges; the uplinks' own profiles were not changed and are activated again."""
        # In no transaction: a stop in the middle would leave an uplink with neither.
        await shielded(self._take_away(there), "Removing the bridges of the old script")
        await self._verifier.addressed(expect)

    async def _take_away(self, there: list[BridgeCondition]) -> None:
        for found in there:
            await self._repairer.take_away(found.bridge, found.profiles)
        for found in there:
            if found.uplink:
                await self._repairer.connect(found.uplink)
