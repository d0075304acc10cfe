"""When may a node go back to an earlier entry of the history, and to which network?

The file of the entry is applied as on a trial, and the profiles of its network are put back before the probes: what
later files have added goes. All of that is rolled back where it fails, or is not confirmed in time.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

from nodenet.core.br_ex.uplink import BRIDGE, EXTRA_BRIDGE
from nodenet.core.change.way_back import Network
from nodenet.core.errors import UsageInvalid
from nodenet.core.history.entry import BRIDGES, Entry
from nodenet.core.history.going_back import missing_nics, network_of
from nodenet.core.node_file.content import Desired
from nodenet.core.value import frozen
from nodenet.stages.apply.history import History, path_of
from nodenet.stages.apply.network_before import network_of_file
from nodenet.stages.apply.profile_backup import ProfileKeeper

LIST = "Look at `nodenetctl history`"


@frozen
class ToEntry:
    """Finds what is gone back to."""

    history: History
    keeper: ProfileKeeper

    def entry(self, number: int, hostname: str | None) -> Entry:
        """Return the entry *number*. Raises UsageInvalid where there is none to go back to, PublishFailed."""
        try:
            found = self.history.read(number)
        except ValueError as error:
            raise UsageInvalid(f"{path_of(number)} is damaged: {error}", remedy=LIST) from error
        if found is None:
            raise UsageInvalid(f"the history has no entry {number}", remedy=LIST)
        if found.network is None:
            lacks = "its change was refused" if found.cause else "it was kept without its network"
            lacks = "it is about br-ex; see `nodenetctl bridge`" if found.kind in BRIDGES else lacks
            raise UsageInvalid(f"entry {number} of the history has no network to go back to: {lacks}", remedy=LIST)
        if why := found.refused_for(hostname):
            raise UsageInvalid(f"entry {number} of the history cannot be used: {why}", remedy=LIST)
        return found

    async def network(self, entry: Entry, wish: Desired, *, force: bool) -> Network:
        """Return the network of *entry* as it can come back. Raises NodenetError where it cannot."""
        present = await network_of_file(self.keeper, wish)
        newer = takewhile(lambda each: each.number > entry.number, self.history.all())
        network = network_of(entry, newer, present, (BRIDGE, EXTRA_BRIDGE))
        if network is None:  # refused before
            raise UsageInvalid(f"entry {entry.number} of the history has no network to go back to", remedy=LIST)
        links = {each.link for each in (await self.keeper.profiles.inventory(profiles=False)).devices}
        if (gone := missing_nics(network, links)) and not force:
            raise UsageInvalid(
                f"entry {entry.number} of the history has {' and '.join(gone)}, and this host has no such link",
                remedy="Add `--force` to go back with the other links, or correct the node file",
            )
        return network

    async def before(self, wish: Desired, network: Network) -> Network:
        """Return the present network, with the links of both. Raises Unavailable, PublishFailed."""
        now = await network_of_file(self.keeper, wish, whole=True)
        links, names = {*now.links, *network.links}, {*now.names, *network.names}
        return replace(now, links=tuple(sorted(links)), names=tuple(sorted(names)))
