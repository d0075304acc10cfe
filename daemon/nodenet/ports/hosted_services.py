"""What do hosted services need from the outside world: their files, their units, the nft table, and dnsmasq itself?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Protocol

from nodenet.core.boot.facts import Facts
from nodenet.core.boot.outcome import Problem
from nodenet.core.hosted_services.plan import NodePlan
from nodenet.core.hosted_services.units import DnsLook, Running
from nodenet.core.ip import IPAddress
from nodenet.core.kernel.sock_diag import Listening


class ConfigurationFiles(Protocol):
    """The files that are made from a plan."""

    def write(self, texts: Mapping[PurePath, str]) -> frozenset[PurePath]:
        """Write each file whole where it differs; return those that did. Raises PublishFailed."""

    def remove(self, paths: Iterable[PurePath]) -> frozenset[PurePath]:
        """Remove files; return those that were there. Raises PublishFailed."""


class ServiceUnits(Protocol):
    """The units of hosted services. Orders return when systemd has taken them; how they end, ``state`` says."""

    async def state(self, unit: str) -> Running:
        """Return how *unit* runs; its jobs are listened to from then on. Raises Unavailable."""

    async def start(self, unit: str) -> None:
        """Order its start, also after it failed too often. Raises UnitFailed where systemd refuses, Unavailable."""

    async def stop(self, unit: str) -> None:
        """Stop it; it is no error if it does not run. Raises UnitFailed, Unavailable."""

    async def reload(self, unit: str) -> None:
        """Order that it reads its configuration again, without an end where it can. Raises UnitFailed, Unavailable."""

    async def restart(self, unit: str) -> None:
        """Order its end and start. Raises UnitFailed, Unavailable."""


class RedirectTable(Protocol):
    """nodenet's own nft table."""

    async def put(self, rules: str) -> None:
        """Replace the table by *rules* in one transaction. Raises Unavailable."""

    async def remove(self) -> None:
        """Remove the table; where there is none, nothing happens. Raises Unavailable."""

    async def is_there(self) -> bool:
        """Return whether the table exists. Raises Unavailable."""

    async def printed(self) -> str:
        """Return the table that exists as nft prints it. Raises Unavailable, also where there is none."""


class Balancer(Protocol):
    """This node's haproxy."""

    async def servers(self) -> str:
        """Return the states of its servers, as it says them. Raises Unavailable."""


class Dnsmasq(Protocol):
    """This node's dnsmasq, over D-Bus."""

    async def owner(self) -> str | None:
        """Return the bus's own name of the process that runs now, None while none is on the bus. Raises Unavailable."""

    async def set_servers(self, servers: Sequence[Sequence[str]]) -> None:
        """Replace all upstream servers: each an address, perhaps with ``#PORT``, then domains. Raises Unavailable."""

    async def further(self) -> str:
        """Return the lines of configuration that the installed version understands beside those of every version."""

    async def read_hosts(self) -> None:
        """Let it read its hosts file again and forget what it has cached. Raises Unavailable."""


class Sockets(Protocol):
    """The sockets of this node."""

    def udp(self, ports: Collection[int]) -> tuple[Listening, ...]:
        """Return the UDP sockets that wait for packets on *ports*. Raises Unavailable."""

    def services(self) -> frozenset[int]:
        """Return the ids of the control groups of systemd's services, without groups below them."""


class NodeDns(Protocol):
    """DNS of this node, where nodenetd itself runs it."""

    @property
    def is_wanted(self) -> bool:
        """Whether this node answers names itself, by the settings alone."""

    async def look(self, facts: Facts, known: tuple[IPAddress, ...]) -> DnsLook:
        """See to it; *known* are the DNS servers beside this node's own addresses. Never raises."""

    @property
    def stuck(self) -> Problem | None:
        """What keeps it from answering until an administrator has done something, as the last look found."""

    async def waits(self, facts: Facts) -> bool:
        """Return whether another stack has to go first. Raises Unavailable, PublishFailed."""

    async def judged(self, facts: Facts) -> NodePlan:
        """Return this node's plan as its disk gives it. Raises NodenetError."""
