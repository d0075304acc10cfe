"""What does br-ex lack after NetworkManager has made it again?

At its start NetworkManager deletes a bridge of Open vSwitch and makes it again, with nothing on it but its own. Only
the memory of nodenetd has the rest then: all that stood there at the last look. A program that changes its things
itself is right, so something is put back only on a link that is another one than at that look.

NetworkManager may wait for ever for a link that it sets up only once: Open vSwitch, which makes the link, may set it
down again behind that. No administrator sets a link down while NetworkManager activates it, so it is set up again.
"""

from __future__ import annotations

import structlog

from nodenet.core.boot.facts import Facts
from nodenet.core.errors import PublishFailed, Unavailable
from nodenet.core.kernel.snapshot import Link
from nodenet.core.messages import Message
from nodenet.core.network_manager.availability import ManagerState
from nodenet.core.ownership import things
from nodenet.core.ownership.things import Thing
from nodenet.ports import Kernel, Manager, Profiles
from nodenet.stages.apply.others import OthersOnLinks

log = structlog.get_logger()

TRIES = 5
"""How often everything is put back on one link: the kernel may refuse some, or NetworkManager start once more. Also how
often a link is set up before the node IPs are there."""


class MadeAgain:
    """The link of the node IP on a bridge of Open vSwitch, and what other programs have on it."""

    def __init__(self, kernel: Kernel, manager: Manager, profiles: Profiles) -> None:
        """Know nothing yet."""
        self._kernel = kernel
        self._manager = manager
        self._profiles = profiles
        self._link: Link | None = None
        self._things: tuple[Thing, ...] = ()
        self._tries = self._ups = 0

    async def look(self, others: OthersOnLinks, facts: Facts) -> None:
        """Note what *others* have on the link, or put it back where the link was made again; never raises.

        Nothing is known while NetworkManager starts, since it makes the link again in that time, or before the node IPs
        are there, which others may have as the source of their routes.
        """
        try:
            await self._set_up(facts)
            link = self._of(facts)
            if link is None or await self._manager.state() is not ManagerState.READY:
                return
            if self._is_another(link) and self._tries < TRIES:
                self._tries += 1
                await others.bring_back(self._things)
                if things.missing(self._things, others.on(link.name)):
                    return
            self._link, self._things = link, others.on(link.name)
            self._tries = self._ups = 0
        except (Unavailable, PublishFailed) as error:  # looked at again with the next beat
            log.info(f"What others have on br-ex is not known: {error.cause}", stage="nmstate")

    async def _set_up(self, facts: Facts) -> None:
        """Set the link of the node IPs up if NetworkManager waits for that. Raises Unavailable."""
        wanted = facts.selection.link if facts.selection else None
        link = next((each for each in self._kernel.snapshot().links if each.name == wanted), None)
        if link is None or link.up or self._ups == TRIES:
            return
        if link.name not in (await self._profiles.inventory(profiles=False)).activating:
            return
        self._ups += 1
        text = f"Set {link.name} up: NetworkManager activates it, and another program had set it down"
        log.warning(text, message=Message.NODE_IP_NOTE, stage="nodeip")
        self._kernel.set_up(link.name)

    def _is_another(self, link: Link) -> bool:
        known = self._link
        return bool(self._things) and known is not None and known.name == link.name and known.index != link.index

    def _of(self, facts: Facts) -> Link | None:
        """Return the link of the node IPs, if it is a bridge and all of them are there."""
        selection = facts.selection
        if selection is None or not (facts.bridge or facts.brings_bridge):
            return None
        snapshot = self._kernel.snapshot()
        if not {each.address for each in snapshot.addresses}.issuperset(selection.node_ips):
            return None
        return next((each for each in snapshot.links if each.name == selection.link), None)
