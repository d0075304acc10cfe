"""Does VRRP of this node exchange advertisements with its peers? A VIP without that is not advertised from here.

The rule is ``core.hosted_services.vips``. Each change of an address is looked at, at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection

import structlog

from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services.vips import patience, silent
from nodenet.core.ip import IPAddress
from nodenet.core.messages import Message
from nodenet.hosted.state import State
from nodenet.ports.vips import Addresses, AddressEvents

log = structlog.get_logger()

PAUSE_SECONDS = 1.0
"""Before the next look where the kernel does not answer."""
SETTLE_SECONDS = 0.05
"""Changes that follow one another so closely are one: any host of the LAN causes them by router advertisements."""
LOOK_SECONDS = 2.0
"""From a move of a VIP to a look at the wire, as a holder has between two looks: other nodes look rarely."""
TIMER_SECONDS = 0.01
"""Timers are no more exact than that."""


class SourceGuard:
    """Keeps ``State.muted``."""

    def __init__(
        self,
        state: State,
        events: AddressEvents,
        addresses: Addresses,
        changed: Callable[[], None],
        moved: Callable[[], None],
    ) -> None:
        """Call *changed* after each change of ``State.muted``, and *moved* when this node has got or lost a VIP."""
        self._state = state
        self._events = events
        self._addresses = addresses
        self._changed = changed
        self._moved = moved
        self._held: set[IPAddress] = set()
        """VIPs that this node held at the last look."""
        self._due: dict[IPAddress, float] = {}
        """VIPs that this node holds without its node IP, and when it gives each of them up."""

    async def run(self) -> None:
        """Look after each change of an address, until cancelled."""
        try:
            while True:
                try:
                    await self._events.next()
                except Unavailable as error:
                    self._state.report_failure("events of addresses", str(error))
                    await asyncio.sleep(PAUSE_SECONDS)
                else:
                    self._state.report_failure("events of addresses", None)
                    self.look()
                    await asyncio.sleep(SETTLE_SECONDS)
        finally:
            self._events.close()

    def look(self) -> None:
        """Take what is there now: after a change of an address, and after keepalived has got another configuration."""
        try:
            found = self._found()
        except Unavailable as error:
            self._state.report_failure("addresses", str(error))
            return
        self._state.report_failure("addresses", None)
        if found != self._state.muted:
            self._log(found - self._state.muted, "VRRP cannot use the node IP: this node does not take part for")
            self._log(self._state.muted - found, "This node takes part in VRRP again for")
            self._state.muted = found
            self._changed()
            self._state.changed()

    def _found(self) -> frozenset[IPAddress]:
        """Return the VIPs that this node must not advertise. Raises Unavailable."""
        state = self._state
        vips = [duty.address for duty in state.plan.vips if duty.wanted]
        sources = {**state.here.places, **state.sources}
        present = self._addresses.present((*vips, *(place.address for place in sources.values())))
        held = {one.address for one in present}.intersection(vips)
        self._note_moves(held)
        found = silent(state.known.inputs, state.plan.vips, sources, present)
        return (found - held) | self._overdue(found & held)

    def _note_moves(self, held: set[IPAddress]) -> None:
        if held != self._held:
            self._held = held
            asyncio.get_running_loop().call_later(LOOK_SECONDS, self._moved)

    def _overdue(self, held: Collection[IPAddress]) -> frozenset[IPAddress]:
        """Return those that this node has held without its node IP for so long that it gives them up."""
        loop, interval = asyncio.get_running_loop(), self._state.options.advert_interval
        now = loop.time()
        for vip in set(held) - self._due.keys():
            loop.call_later(patience(vip, interval) + TIMER_SECONDS, self.look)
        self._due = {vip: self._due.get(vip, now + patience(vip, interval)) for vip in held}
        return frozenset(vip for vip, due in self._due.items() if now >= due)

    def _log(self, vips: Collection[IPAddress], text: str) -> None:
        if vips:
            log.info(f"{text} {' and '.join(sorted(map(str, vips)))}", message=Message.HOSTED_CHANGED)
