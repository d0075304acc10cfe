"""Which links of a node file are waited for while NetworkManager is starting?"""

from __future__ import annotations

from collections.abc import Callable

from nodenet.core.apply.unsettled import unsettled
from nodenet.core.kernel.snapshot import Link
from nodenet.core.network_manager.availability import ManagerState
from nodenet.core.node_file.content import Desired
from nodenet.core.node_file.links import Links
from nodenet.core.probes.on_host import on_host
from nodenet.core.since import NEVER
from nodenet.ports import Clock, Kernel, Manager, Profiles


class Settling:
    """How long NetworkManager has been starting."""

    def __init__(self, manager: Manager, profiles: Profiles, kernel: Kernel, clock: Clock) -> None:
        """Ask *manager* and *profiles*."""
        self._manager = manager
        self._profiles = profiles
        self._kernel = kernel
        self._clock = clock
        self._starting = NEVER

    async def links(self, wish: Desired, *, in_force: bool) -> frozenset[str]:
        """Return the links of *wish* that NetworkManager still activates at its start. Raises Unavailable.

        *in_force*: as in `unsettled`.
        """
        return await self._activating(lambda present: on_host(wish, present).links, in_force=in_force)

    async def every_link(self) -> frozenset[str]:
        """Return the links of this node that NetworkManager still activates at its start. Raises Unavailable."""
        return await self._activating(_every, in_force=False)

    async def _activating(self, of: Callable[[tuple[Link, ...]], Links], *, in_force: bool) -> frozenset[str]:
        if await self._manager.state() is not ManagerState.STARTING:
            self._starting = NEVER
            return frozenset()
        now = self._clock.boottime()
        self._starting = self._starting.holds(now)
        found, present = await self._profiles.inventory(profiles=False), self._kernel.snapshot().links
        links, names = of(present), {link.name for link in present}
        return unsettled(links, found, names, self._starting.lasted(now), in_force=in_force)


def _every(present: tuple[Link, ...]) -> Links:
    names = frozenset(link.name for link in present)
    return Links(existing=names, leased=names)
