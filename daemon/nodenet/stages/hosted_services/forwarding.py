"""Does the link of the node IP forward packets, also after the node IP moved to br-ex?

This is not a stage: it reads the facts of the stages, so it follows the node IP to any link.
"""

from __future__ import annotations

import structlog

from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services.dns import SYSCTLS, forwarding_link, to_set
from nodenet.core.messages import Message
from nodenet.core.settings.model import Settings
from nodenet.core.status.document import BootStatus
from nodenet.ports import Sysctls

log = structlog.get_logger()


class Forwarding:
    """Sets the kernel parameters of the node IP's link; READY comes after it.

    Looked at with every change of the status: NetworkManager sets it back when it reapplies the link's profile.
    """

    def __init__(self, links: Sysctls) -> None:
        """*links* reads and writes."""
        self._links = links
        self._told: str | None = None
        self.settings = Settings()
        """The present settings; the assembly replaces them at a reload."""

    def show(self, status: BootStatus) -> None:
        """See to the link of the node IP; what cannot be set is reported once for a link."""
        link = forwarding_link(self.settings, status.facts)
        if link is None:
            return
        present = {name: value for name in SYSCTLS if (value := self._links.read(link, name)) is not None}
        if not (wanted := to_set(present)):
            return
        try:
            self._links.write(link, wanted)
        except Unavailable as error:
            if link == self._told:
                return
            self._told = link
            cause = f"{link} does not forward packets: {error.cause}"
            remedy = f"Run `echo 1 >/proc/sys/net/ipv4/conf/{link}/forwarding`, and the same for ipv6"
            log.error(cause, message=Message.FORWARDING_FAILED, stage="nodeip", cause=cause, remedy=remedy)
