"""Which errors does Open vSwitch report for the interfaces of a bridge while it is made?

libnmstate reports only that the result is not what was asked for. The reason is in the database, in ``Interface.error``
(ovs-vswitchd.conf.db(5)), and a rollback removes the rows: so they are read while the apply runs.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection

from nodenet.core.errors import Unavailable
from nodenet.core.nmstate.failure import NmstateFailure
from nodenet.ports import Ovsdb

EVERY_SECONDS = 0.3


@contextlib.asynccontextmanager
async def ovs_errors(ovsdb: Ovsdb, links: Collection[str]) -> AsyncIterator[None]:
    """Add the errors of *links* in Open vSwitch to the cause of an NmstateFailure that leaves the block."""
    errors: dict[str, str] = {}
    reader = asyncio.create_task(_read(ovsdb, links, errors))
    try:
        yield
    except NmstateFailure as failure:
        if not errors:
            raise
        listed = "; ".join(f"{link}: {error}" for link, error in sorted(errors.items()))
        cause = f"{failure.cause} (Open vSwitch: {listed})"
        raise NmstateFailure(failure.kind, cause, failure.remedy, failure.said) from failure
    finally:
        reader.cancel()
        await asyncio.wait([reader])


async def _read(ovsdb: Ovsdb, links: Collection[str], errors: dict[str, str]) -> None:
    while True:
        with contextlib.suppress(Unavailable):  # the database may be restarting; the stage reports that itself
            for bridge in await ovsdb.bridges():
                found = (interface for port in bridge.ports for interface in port.interfaces)
                errors |= {item.name: item.error for item in found if item.error and item.name in links}
        await asyncio.sleep(EVERY_SECONDS)
