"""By which links do other hosts reach this node's DNS? Open vSwitch's database knows it of its own links."""

from __future__ import annotations

import asyncio

from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services import dns
from nodenet.core.hosted_services.model import Here
from nodenet.core.kernel.snapshot import Snapshot
from nodenet.core.open_vswitch.bridges import OvsBridge
from nodenet.ports import Clock, Ovsdb

ANSWER_SECONDS, RETRY_SECONDS = 1.0, 60.0
"""The start of dnsmasq waits for the answer."""


class OutsideLinks:
    """The links that lead to other hosts; the database is asked only where its links have changed."""

    def __init__(self, ovsdb: Ovsdb, clock: Clock) -> None:
        """Know of no bridge yet."""
        self._ovsdb = ovsdb
        self._clock = clock
        self._bridges: tuple[OvsBridge, ...] = ()
        self._asked: frozenset[str] = frozenset()
        self._due = 0.0

    async def look(self, here: Here, snapshot: Snapshot) -> tuple[str, ...]:
        """Return them by name. While the database does not answer, its last answer counts."""
        wanted, now = dns.open_questions(here, snapshot), self._clock.boottime()
        if wanted != self._asked and now >= self._due:
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    self._bridges = await self._ovsdb.bridges() if wanted else ()
                self._asked = wanted
            except (TimeoutError, Unavailable):
                self._due = now + RETRY_SECONDS
        return dns.outside(here, snapshot, self._bridges)
