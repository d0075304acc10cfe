"""How long does the nodeip stage wait although it has an address? ``core.node_ip.patience`` says for what."""

from __future__ import annotations

from dataclasses import replace

import structlog

from nodenet.core.boot.outcome import Topic, Waiting
from nodenet.core.errors import Unavailable
from nodenet.core.network_manager.availability import ManagerState
from nodenet.core.network_manager.objects import Inventory
from nodenet.core.node_ip.patience import Seen, wait
from nodenet.core.since import NEVER
from nodenet.ports import Clock, Profiles

log = structlog.get_logger()

STARTING = frozenset({Topic.KERNEL, Topic.NETWORK_MANAGER})
SETTLING_SECONDS = 2.0
"""After which NetworkManager is asked again: not every step of an activation is an event."""


class Waits:
    """The waits of one boot, by its clock."""

    def __init__(self, clock: Clock, profiles: Profiles, node_ip_wait: float = 0.0) -> None:
        """*node_ip_wait*: for how many seconds the last node IP is waited for; 0: without a limit."""
        self._clock = clock
        self._profiles = profiles
        self._node_ip_wait = node_ip_wait
        self._eligible = NEVER
        """Since when there is something to publish."""
        self._away = NEVER
        """Since when the last node IP is waited for."""
        self.given_up = False
        """Whether the last look gave the last node IP up, after *node_ip_wait*."""

    def nothing(self) -> None:
        """Take note that there is nothing to publish."""
        self._eligible = NEVER

    async def left(self, seen: Seen, state: ManagerState) -> Waiting | None:
        """Return the wait for what NetworkManager has not settled, or for the last node IP; None: publish *seen*."""
        if seen.record is None or seen.record.addresses != seen.selection.node_ips:
            seen = replace(seen, found=await self._inventory(), starting=state is not ManagerState.READY)
        awaited, now = wait(seen), self._clock.boottime()
        self.given_up = False
        if awaited is None:
            return None
        if awaited.seconds is None:
            self._eligible = NEVER  # what came meanwhile is not published for that
            self._away = self._away.holds(now)
            left = self._away.left(now, self._node_ip_wait) if self._node_ip_wait else SETTLING_SECONDS
            self.given_up = left <= 0
        else:
            self._away = NEVER
            self._eligible = self._eligible.holds(now)
            left = self._eligible.left(now, awaited.seconds)
        return Waiting(awaited.reason, STARTING, min(left, SETTLING_SECONDS)) if left > 0 else None

    async def _inventory(self) -> Inventory:
        """Return what NetworkManager says of its links; nothing where it does not answer."""
        try:
            return await self._profiles.inventory()
        except Unavailable as error:
            log.debug("It is not known what NetworkManager does", stage="nodeip", cause=error.cause)
            return Inventory()
