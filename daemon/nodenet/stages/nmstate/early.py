"""Must a node file wait until NetworkManager has ended its start?

No, if that start has lasted for seconds and only waits for leases that the file does not ask for. A file that is
applied already is only compared with the state: a lease that it asks for is no part of that.
"""

from __future__ import annotations

from nodenet.core.apply.early import GRACE_SECONDS, START_SECONDS, are_decided, pause
from nodenet.core.errors import Unavailable
from nodenet.core.network_manager.availability import ManagerState
from nodenet.core.node_file.links import Links
from nodenet.core.since import NEVER
from nodenet.ports import Clock, Manager, Profiles


class EarlyStart:
    """How long NetworkManager has been starting, and which files failed during its start."""

    def __init__(self, manager: Manager, profiles: Profiles, clock: Clock) -> None:
        """Ask *manager* and *profiles*."""
        self._manager = manager
        self._profiles = profiles
        self._clock = clock
        self._starting = NEVER
        self._failed: set[str] = set()

    async def allows(self, digest: str, links: Links, *, applied: bool = False) -> bool:
        """Return whether NetworkManager is starting and the file with *digest* need not wait for the end of that.

        *applied*: the network was last made by that file. An endless start is not waited for, so nothing is early then.
        """
        if await self._manager.state() is not ManagerState.STARTING:
            self._starting = NEVER
            return False
        now = self._clock.boottime()
        self._starting = self._starting.holds(now)
        if self._starting.left(now, GRACE_SECONDS) > 0 or self.is_endless:
            return False
        if applied or digest in self._failed:
            return applied
        try:
            return are_decided(links, await self._profiles.inventory())
        except Unavailable:
            return False

    @property
    def is_endless(self) -> bool:
        """Whether NetworkManager has been starting for so long that no file waits for the end of that."""
        return self._starting is not NEVER and self._starting.left(self._clock.boottime(), START_SECONDS) <= 0

    def failed(self, digest: str) -> bool:
        """Note that the file with *digest* failed: it waits for the end of the start. Return whether that is new."""
        new = digest not in self._failed
        self._failed.add(digest)
        return new

    def pause(self, usual: float) -> float:
        """Return the seconds until the next look: *usual* ones unless NetworkManager is starting."""
        return usual if self._starting is NEVER else pause(self._starting.lasted(self._clock.boottime()))
