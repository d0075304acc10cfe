"""Has keepalived died, or does it hang, with this node's VIPs on its links? Then they are removed.

Two nodes would otherwise answer for one address for as long as nothing removes it here. When keepalived died, the peers
are notified at once: otherwise they wait for three intervals of VRRP. They no longer hear one that hangs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass

import structlog

from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services.speakers import has_died, speaks, stale
from nodenet.core.ip import IPAddress
from nodenet.core.kernel.snapshot import Address
from nodenet.core.messages import Message
from nodenet.ports.vips import Addresses, UnitProcesses

log = structlog.get_logger()

PROGRAM = "keepalived"
LOOK_SECONDS = 1.0
"""How long a process that has just been started may be unknown."""
SETTLE_SECONDS = 0.05
"""Processes that end one after another, as those of one unit do, cost no more than this."""


@dataclass(frozen=True, slots=True)
class Vips:
    """What is asked about this node's VIPs whenever it is needed.

    *removable*: those that only our keepalived may hold, none while another stack serves them. *overdue*: those that
    keepalived has had to be off for some time.
    """

    removable: Callable[[], Collection[IPAddress]]
    overdue: Callable[[], Collection[IPAddress]]


class VipGuard:
    """Watches keepalived's processes."""

    def __init__(
        self,
        processes: UnitProcesses,
        addresses: Addresses,
        vips: Vips,
        resign: Callable[[Collection[IPAddress]], None],
        hangs: Callable[[], None],
    ) -> None:
        """*resign* says to the peers that this node gives VIPs up; *hangs* is called when keepalived does not."""
        self._processes = processes
        self._addresses = addresses
        self._vips = vips
        self._resign = resign
        self._hangs = hangs

    async def run(self) -> None:
        """Remove what is left behind, until cancelled."""
        spoke = False
        hung: frozenset[int] = frozenset()
        while True:
            processes = self._processes.now()
            if not speaks(processes, PROGRAM):
                self._clear(spoke=spoke)
            elif (overdue := self._vips.overdue()) and self.remove("keepalived does not give it up", overdue):
                # Another of its VIPs may be overdue later, while systemd still waits for its end.
                if hung != frozenset(processes):
                    self._hangs()
                hung = frozenset(processes)
            spoke = speaks(processes, PROGRAM)
            ended = await self._processes.any_ends(processes, LOOK_SECONDS)
            if has_died(processes, ended, PROGRAM):
                self._clear(spoke=True)
            if ended:
                await asyncio.sleep(SETTLE_SECONDS)

    def _clear(self, *, spoke: bool) -> None:
        """Remove what is left behind; notify the peers where keepalived *spoke* until now.

        One that ends by itself resigns and leaves nothing behind: a second notice would move the VIP once more.
        """
        left = self.remove("keepalived died" if spoke else "keepalived does not run")
        if spoke and left:
            self._resign({address.address for address in left})

    def remove(self, reason: str, only: Collection[IPAddress] | None = None) -> tuple[Address, ...]:
        """Remove the VIPs, or *only* some, from this node's links; return them."""
        vips = [vip for vip in self._vips.removable() if only is None or vip in only]
        try:
            found = stale(self._addresses.present(vips), vips) if vips else ()
        except Unavailable as error:  # the next look comes soon
            log.error(error.cause, message=Message.VIP_STUCK, cause=error.cause, remedy=error.remedy)
            return ()
        for address in found:
            self._remove(address, reason)
        return found

    def _remove(self, address: Address, reason: str) -> None:
        vip, link = address.address, address.link
        try:
            if not self._addresses.remove(address):
                return
        except Unavailable as error:
            log.error(error.cause, message=Message.VIP_STUCK, cause=error.cause, remedy=error.remedy)
            return
        log.warning(f"{reason}: the VIP {vip} was removed from {link}", message=Message.VIP_REMOVED)
