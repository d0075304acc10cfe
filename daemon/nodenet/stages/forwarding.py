"""Does the link of the node IP forward packets, also after the node IP moved to br-ex?

No stage of its own: it watches what the stages find out, so that it follows the node IP whoever moves it.
"""

from __future__ import annotations

import structlog

from nodenet.core.errors import Unavailable
from nodenet.core.forwarding import forwarding_link, to_set
from nodenet.core.messages import Message
from nodenet.core.settings import Settings
from nodenet.core.status import Standing
from nodenet.ports import Sysctls

log = structlog.get_logger()


class Forwarding:
    """Sets what the kernel needs to be told, each time the node IP has a new link; READY comes after it."""

    def __init__(self, links: Sysctls) -> None:
        """*links* reads and writes."""
        self._links = links
        self._done: str | None = None
        self.settings = Settings()
        """Those in force; the composition renews them."""

    def show(self, standing: Standing) -> None:
        """See to the link of the node IP; what cannot be set is told once for a link."""
        link = forwarding_link(self.settings, standing.facts)
        if link is None or link == self._done:
            return
        self._done = link
        try:
            self._links.write(link, to_set(self._links.of_link(link)))
        except Unavailable as error:
            cause = f"{link} does not forward packets: {error.cause}"
            remedy = f"Run `echo 1 >/proc/sys/net/ipv4/conf/{link}/forwarding`, and the same for ipv6"
            log.error(cause, message=Message.FORWARDING_FAILED, stage="nodeip", cause=cause, remedy=remedy)
