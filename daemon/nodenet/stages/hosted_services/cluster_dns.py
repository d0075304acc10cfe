"""Does a CoreDNS of this node answer, which knows names of pods and services, and may it be believed?"""

from __future__ import annotations

import asyncio
from ipaddress import ip_address

import structlog

from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services import dnsmasq
from nodenet.core.hosted_services.dnsmasq import Place
from nodenet.core.ip import Family, IPAddress
from nodenet.core.messages import Message
from nodenet.core.settings.model import ClusterDnsTrust
from nodenet.core.stage_name import StageName
from nodenet.core.value import frozen
from nodenet.ports import ResolverProbe
from nodenet.ports.hosted_services import Sockets
from nodenet.ports.vips import NameLookup

log = structlog.get_logger()

LOCALHOST = ip_address("127.0.0.1")
TRUST_REMEDY = "Run CoreDNS as a service of systemd, or set `[hosted] cluster_dns` to root"
LOOP_REMEDY = "Let the Corefile forward to the servers of the site, and not to /etc/resolv.conf"


@frozen
class Asks:
    """What the servers of this node are asked with."""

    probe: ResolverProbe
    names: NameLookup
    sockets: Sockets


class ClusterDns:
    """The CoreDNS of this node."""

    def __init__(self, asks: Asks, domain: str, trust: ClusterDnsTrust) -> None:
        """*domain* is the cluster's, *trust* whose servers are believed."""
        self._asks = asks
        self._domain = domain
        self._trust = trust
        self._refused: set[int] = set()
        """Ports with a server that is not asked; each is logged once."""
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
        places = self._believed([(address, port) for port in dnsmasq.CLUSTER_PORTS for address in addresses])
        if self.place in places and await self._answers(self.place):
            return self.place
        others = [place for place in places if place != self.place]
        alive = await asyncio.gather(*map(self._answers, others))
        return next((place for place, answers in zip(others, alive, strict=True) if answers), None)

    async def _answers(self, place: Place) -> bool:
        address, port = place
        if not await self._asks.probe.answers(address, f"api-int.{self._domain}", port):
            return False
        known = await self._asks.names.addresses(address, f"{dnsmasq.LOOP}.{self._domain}", Family.IPV4, port)
        if LOCALHOST in known:
            self._refuse(port, f"{self._not_asked(port)}: it asks this node's DNS, which would ask it", LOOP_REMEDY)
        return LOCALHOST not in known

    def _believed(self, places: list[Place]) -> list[Place]:
        """Return the places where all servers are believed; none where the kernel does not say who listens."""
        try:
            sockets, services = self._asks.sockets.udp(dnsmasq.CLUSTER_PORTS), self._asks.sockets.services()
        except Unavailable as error:
            self._refuse(0, f"No server of this node is asked for names of {self._domain}: {error.cause}", TRUST_REMEDY)
            return []
        found = []
        for place in places:
            here = dnsmasq.receivers(place, sockets)
            doubtful = [one for one in here if not dnsmasq.is_believed(one, services, self._trust)]
            if doubtful:
                whose = f"a socket on {place[0]}, of user {doubtful[0].uid}, is of no service of systemd"
                self._refuse(place[1], f"{self._not_asked(place[1])}: {whose}", TRUST_REMEDY)
            elif here:
                found.append(place)
        return found

    def _not_asked(self, port: int) -> str:
        return f"A server on port {port} of this node is not asked for names of {self._domain}"

    def _refuse(self, port: int, cause: str, remedy: str) -> None:
        if port not in self._refused:
            self._refused.add(port)
            log.warning(cause, message=Message.CLUSTER_DNS_REFUSED, cause=cause, remedy=remedy)
