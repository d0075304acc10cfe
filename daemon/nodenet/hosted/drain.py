"""How does a node leave so that no new connection fails? First its VIPs move away, then its load balancer stops."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from nodenet.core.hosted_services.model import Service
from nodenet.core.messages import Message
from nodenet.hosted.state import State

log = structlog.get_logger()

MARGIN_SECONDS = 3.0
POLL_SECONDS = 0.1
INTERVALS = 5
"""VRRP takes over after three intervals and a part of a fourth; the wire is asked after that."""


class Drain:
    """The planned leave of this node."""

    def __init__(self, state: State, look: Callable[[], None], keep: Callable[[bool], None]) -> None:
        """*look* wakes the look at the wire; *keep* remembers for this boot whether the node is drained."""
        self._state = state
        self._look = look
        self._keep = keep

    async def drain(self) -> bool:
        """Lower the priority, wait until another node holds each VIP; return whether one does.

        The node stays drained in either case. Without a successor it keeps its VIPs: one holder is better than none.
        """
        self._state.drained = True
        self._keep(True)  # noqa: FBT003
        until = asyncio.get_running_loop().time() + INTERVALS * self._state.options.advert_interval + MARGIN_SECONDS
        while not (gone := self._gone()) and asyncio.get_running_loop().time() < until:
            self._look()
            await asyncio.sleep(POLL_SECONDS)
        self._state.changed()
        if gone:
            log.info("This node is drained: other nodes hold its VIPs", message=Message.DRAINED)
        else:
            cause = "This node is drained, and no other node took its VIPs"
            log.warning(cause, message=Message.DRAINED, cause=cause)
        return gone

    def undo(self) -> None:
        """Take part again."""
        self._state.drained = False
        self._keep(False)  # noqa: FBT003
        self._look()
        self._state.changed()

    def _gone(self) -> bool:
        """Return whether each VIP that this node may hold is seen elsewhere and not here."""
        if not self._state.running.get(Service.KEEPALIVED):
            return True
        wanted = [duty.address for duty in self._state.plan.vips if duty.wanted]
        seen = [self._state.sightings.get(address) for address in wanted]
        return all(sighting is not None and not sighting.here and sighting.others for sighting in seen)
