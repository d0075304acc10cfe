"""Does VRRP of this node still have the address that its peers send to? Without it, this node takes no VIP.

keepalived receives nothing when ``unicast_src_ip`` is on no link: after three intervals it takes the holder for dead,
and a second host has the VIP. Its option ``track_src_ip`` does not prevent that (2.2.7, and
https://github.com/acassen/keepalived/issues/1847). A holder stays one: its packets still reach the peers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import structlog

from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services.model import Purpose
from nodenet.core.ip import family_of
from nodenet.core.messages import Message
from nodenet.hosted.state import State
from nodenet.ports.vips import Addresses, AddressEvents

log = structlog.get_logger()

PAUSE_SECONDS = 1.0
"""Before the next look where the kernel does not answer."""
SETTLE_SECONDS = 0.05
"""Changes that follow one another so closely are one: any host of the LAN causes them by router advertisements."""


class SourceGuard:
    """Keeps ``State.without_source``."""

    def __init__(self, state: State, events: AddressEvents, addresses: Addresses, changed: Callable[[], None]) -> None:
        """Call *changed* after each change of ``State.without_source``."""
        self._state = state
        self._events = events
        self._addresses = addresses
        self._changed = changed

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
        """Take what is there now: after a change of an address, and after another node IP was published."""
        try:
            found = frozenset(self._found())
        except Unavailable as error:
            self._state.report_failure("addresses", str(error))
            return
        self._state.report_failure("addresses", None)
        if found != self._state.without_source:
            self._state.without_source = found
            self._log(found)
            self._changed()
            self._state.changed()

    def _found(self) -> Iterator[Purpose]:
        """Yield the purposes that this node holds no VIP of, and receives nothing for. Raises Unavailable."""
        state, places = self._state, self._state.here.places
        vips = {duty.address: duty.purpose for duty in state.plan.vips if duty.wanted}
        there = {one.address for one in self._addresses.present((*vips, *state.here.addresses))}
        for purpose in Purpose:
            mine = {vip for vip, wanted in vips.items() if wanted is purpose}
            if mine.isdisjoint(there) and any(places[family_of(vip)].address not in there for vip in mine):
                yield purpose

    def _log(self, found: frozenset[Purpose]) -> None:
        text = "A node IP is on no link: this node takes no VIP until it is back" if found else "The node IPs are there"
        log.info(text, message=Message.HOSTED_CHANGED)
