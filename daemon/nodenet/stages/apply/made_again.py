"""What did other programs have on br-ex before NetworkManager made br-ex again?

At its start NetworkManager deletes a bridge of Open vSwitch and makes it again, with nothing on it but its own. Only
the memory of nodenetd has the rest then: all that stood there at the last look. A program that changes its things
itself is right, so something is put back only on a link that is another one than at that look.
"""

from __future__ import annotations

import structlog

from nodenet.core.boot.facts import Facts
from nodenet.core.errors import PublishFailed, Unavailable
from nodenet.core.kernel.snapshot import Link
from nodenet.core.network_manager.availability import ManagerState
from nodenet.core.ownership.things import Thing
from nodenet.ports import Kernel, Manager
from nodenet.stages.apply.others import OthersOnLinks

log = structlog.get_logger()


class MadeAgain:
    """The link of the node IP on a bridge of Open vSwitch, and what other programs have on it."""

    def __init__(self, kernel: Kernel, manager: Manager) -> None:
        """Know nothing yet."""
        self._kernel = kernel
        self._manager = manager
        self._link: Link | None = None
        self._things: tuple[Thing, ...] = ()

    async def look(self, others: OthersOnLinks, facts: Facts) -> None:
        """Note what *others* have on the link, or put it back where the link was made again; never raises.

        Nothing is known while NetworkManager starts: it makes the link again in that time.
        """
        try:
            link = self._of(facts)
            if link is None or await self._manager.state() is not ManagerState.READY:
                return
            if self._link and self._link.name == link.name and self._link.index != link.index and self._things:
                await others.bring_back(self._things)
            self._link, self._things = link, others.on(link.name)
        except (Unavailable, PublishFailed) as error:  # looked at again with the next beat
            log.info(f"What others have on br-ex is not known: {error.cause}", stage="nmstate")

    def _of(self, facts: Facts) -> Link | None:
        if facts.selection is None or not (facts.bridge or facts.brings_bridge):
            return None
        name = facts.selection.link
        return next((each for each in self._kernel.snapshot().links if each.name == name), None)
