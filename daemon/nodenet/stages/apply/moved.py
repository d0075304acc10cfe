"""How can a static address move from one link to another, and back where the apply fails?

libnmstate leaves name servers behind in a profile that has no address any more, and NetworkManager refuses that. Where
NetworkManager rolls such an apply back, it activates the old link while the new one still has the address: where both
are in one network, it takes the address for that of another host, and the node would stay without it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import structlog

from nodenet.core.apply.moved import ends_a_family, to_prepare
from nodenet.core.change.way_back import Network
from nodenet.core.errors import NodenetError
from nodenet.core.messages import Message
from nodenet.stages.apply.changes import Changes, shielded

log = structlog.get_logger()

TRIES = 3
PAUSE_SECONDS = 1.0


@asynccontextmanager
async def prepared(changes: Changes, network: Network, name: str, difference: Mapping[str, Any]) -> AsyncIterator[None]:
    """Take the name servers of families that *difference* ends from their profiles. Raises Unavailable.

    *network* is the one from before the apply of the file *name*. Where the apply fails, that comes back to the last
    link.
    """
    if not ends_a_family(difference):
        yield
        return
    profiles = changes.edges.profiles
    try:
        for uuid, lost in to_prepare(difference, await profiles.inventory()):
            await profiles.set(uuid, lost)
        yield
    except BaseException:
        await shielded(_undo(changes, network, name))
        raise


async def _undo(changes: Changes, network: Network, name: str) -> None:
    """Put the network back, again where a link did not get its address yet. An open change is undone as a whole."""
    try:
        if changes.open:
            return
        for _ in range(TRIES):
            if await changes.is_that_of(network):
                return
            await changes.make(network, f"the network from before {name}")
            await asyncio.sleep(PAUSE_SECONDS)
    except NodenetError as error:
        log.error(error.cause, message=Message.ROLLBACK_FAILED, stage="nmstate", remedy=error.remedy)
