"""Does a CoreDNS of this node answer, which knows names of pods and services, and may it be believed?"""

from __future__ import annotations

import asyncio

import structlog

from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services import upstreams
from nodenet.core.hosted_services.upstreams import ROOT, Place
from nodenet.core.ip import IPAddress
from nodenet.core.messages import Message
from nodenet.core.stage_name import StageName
from nodenet.ports import ResolverProbe
from nodenet.ports.hosted_services import Sockets

log = structlog.get_logger()


class ClusterDns:
    """The CoreDNS of this node."""

    def __init__(self, probe: ResolverProbe, sockets: Sockets, domain: str) -> None:
        """*domain* is the cluster's."""
        self._probe = probe
        self._sockets = sockets
        self._domain = domain
        self._refused: set[int] = set()
        """Ports with a server that is not root's; each is logged once."""
        self.place: Place | None = None
        """Where the one is that answered at the last look."""

    async def look(self, addresses: tuple[IPAddress, ...]) -> bool:
        """Look on *addresses* of this node; return whether another server, or none, is to be asked now."""
        before = self.place
        self.place = await self._found(addresses)
        if before == self.place:
            return False
        where = self.place or before
        says = "answers and is asked for" if self.place else "does not answer and is no longer asked for"
        text = f"CoreDNS on {where[0]} port {where[1]} {says} names of {self._domain}" if where else ""
        log.info(text, message=Message.CLUSTER_DNS_CHANGED, stage=StageName.RESOLV_PREPENDER.value)
        return True

    async def _found(self, addresses: tuple[IPAddress, ...]) -> Place | None:
        places = self._believed([(address, port) for port in upstreams.CLUSTER_PORTS for address in addresses])
        if self.place in places and await self._answers(self.place):
            return self.place
        others = [place for place in places if place != self.place]
        alive = await asyncio.gather(*map(self._answers, others))
        return next((place for place, answers in zip(others, alive, strict=True) if answers), None)

    async def _answers(self, place: Place) -> bool:
        return await self._probe.answers(place[0], f"api-int.{self._domain}", place[1])

    def _believed(self, places: list[Place]) -> list[Place]:
        """Return the places where root alone listens; none where the kernel does not say who does."""
        try:
            sockets = self._sockets.udp(upstreams.CLUSTER_PORTS)
        except Unavailable as error:
            self._refuse(0, f"No server of this node is asked for names of {self._domain}: {error.cause}")
            return []
        makers = {place: upstreams.makers(place, sockets) for place in places}
        for (address, port), users in makers.items():
            for other in sorted(users - {ROOT})[:1]:
                cause = (
                    f"A server on port {port} of this node is not asked for names of {self._domain}: "
                    f"user {other} has a socket on {address}, and only root's is believed"
                )
                self._refuse(port, cause)
        return [place for place, users in makers.items() if users == {ROOT}]

    def _refuse(self, port: int, cause: str) -> None:
        if port not in self._refused:
            self._refused.add(port)
            log.warning(cause, message=Message.CLUSTER_DNS_REFUSED, cause=cause, remedy="Let CoreDNS run as root")
