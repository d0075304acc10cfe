"""How are the remains of a bridge removed, and how does an uplink get the network from before br-ex back?

Only what nodenet made is changed, and each change is logged.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import structlog

from nodenet.core.br_ex.condition import BridgeCondition, Rule, network_before, orphans, readdressed
from nodenet.core.br_ex.record import BridgeRecord, renamed_uplinks
from nodenet.core.change.way_back import Network
from nodenet.core.errors import Unavailable
from nodenet.core.messages import Message
from nodenet.core.network_manager.objects import DISCONNECTED
from nodenet.ports import Ovsdb, Profiles
from nodenet.stages.apply.network_before import profiles_of

log = structlog.get_logger()


class BridgeRepairer:
    """Removes the remains of bridges and restores the profiles of the uplinks."""

    def __init__(self, ovsdb: Ovsdb, profiles: Profiles) -> None:
        """Work through them."""
        self._ovsdb = ovsdb
        self._profiles = profiles

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

    async def switch_works(self) -> bool:
        """Return whether Open vSwitch carries out what its database says."""
        try:
            await self.prove_switch()
        except Unavailable:
            return False
        return True

    async def prove_switch(self) -> None:
        """Return when Open vSwitch carries out what its database says. Raises Unavailable."""
        await self._ovsdb.prove_alive()

    async def prove_database(self) -> None:
        """Return when the rows of the database can be read. Raises Unavailable."""
        await self._ovsdb.bridges()

    async def connect(self, link: str) -> None:
        """See that *link* comes up, with whatever profile NetworkManager has for it. Raises Unavailable."""
        state = (await self._profiles.inventory(profiles=False)).states.get(link, "")
        if state.partition(" (")[0] == DISCONNECTED:  # the reason is behind it
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

    async def network_before(self, record: BridgeRecord, old_names: Collection[str] = ()) -> Network:
        """Return the network of *record* from before its bridges. Raises Unavailable.

        *old_names* are those of uplinks that have another name now.
        """
        now = await self._profiles.inventory()
        present = await profiles_of(now, self._profiles.keep, {*record.originals, *old_names})
        for link, name in readdressed(record, now).items():
            text = f"{link} keeps the profile {name!r}, which was made after br-ex"
            log.info(text, message=Message.NOTE, stage="configure-ovs")
        return network_before(record, now, present, old_names)

    async def remove_rows(self, bridges: Iterable[str]) -> None:
        """Remove the rows of *bridges*. A row that is left is removed when br-ex is made. Raises Unavailable."""
        for bridge in bridges if self._ovsdb.answers() else ():
            await self._ovsdb.remove_bridge(bridge)
