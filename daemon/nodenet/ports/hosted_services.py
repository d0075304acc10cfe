"""The ports of hosted services."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Protocol

from nodenet.core.boot.outcome import Facts, Problem
from nodenet.core.hosted_services.health import Result, Target
from nodenet.core.hosted_services.plan import NodePlan
from nodenet.core.hosted_services.units import DnsLook, Others, Running
from nodenet.core.ip import Family, IPAddress
from nodenet.core.kernel.snapshot import Address
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


class UnitProcesses(Protocol):
    """The processes of one unit."""

    def now(self) -> Mapping[int, str]:
        """Return the processes and their names."""

    async def any_ends(self, processes: Collection[int], seconds: float) -> frozenset[int]:
        """Return those of *processes* that have ended: when one has, at the latest after *seconds*."""


class LivingProcesses(Protocol):
    """The processes of a unit that never rest for long."""

    def now(self) -> Mapping[int, str]:
        """Return the processes and their names."""

    def switches(self) -> int:
        """Return how often the processes have begun to run: a number that stays means that none of them does."""


class Addresses(Protocol):
    """The addresses on this node's links."""

    def present(self, wanted: Collection[IPAddress]) -> tuple[Address, ...]:
        """Return those among *wanted* that are on a link. Raises Unavailable."""


class AddressEvents(Protocol):
    """The changes of addresses on this node's links."""

    async def next(self) -> None:
        """Return after a change since the last call, and at once the first time. Raises Unavailable."""

    def close(self) -> None:
        """Listen no longer; the next wait is the first one again."""


class Wire(Protocol):
    """The hosts on a link."""

    async def claims(self, addresses: Iterable[IPAddress], link: str) -> Mapping[IPAddress, frozenset[str]]:
        """Return the MACs of other hosts that answer for each address. Raises Unavailable."""

    def neighbours(self, link: str) -> Collection[tuple[IPAddress, str]]:
        """Return the neighbours on *link* that the kernel knows, each with its MAC. Raises Unavailable."""


class CacheFiles(Protocol):
    """What this node keeps of its cluster on the disk: ``cr`` and ``nodes``, and the administrator's file."""

    def read(self, name: str) -> bytes | None:
        """Return a cache's bytes, None without one. Raises PublishFailed."""

    def write(self, name: str, content: bytes) -> None:
        """Replace a cache. Raises PublishFailed."""

    async def resource(self) -> object | None:
        """Return the HostedNetServices object of the administrator's file, None without one.

        Raises ValueError for a file that cannot be understood, PublishFailed where it cannot be read.
        """


class ApiIntFile(Protocol):
    """Where ``api-int`` leads in this boot: nodenet-hosted writes it, and nodenetd reads it."""

    def read(self) -> bytes | None:
        """Return its content, None without one or where it cannot be read."""

    def write(self, content: bytes) -> None:
        """Replace it. Raises PublishFailed."""


class Weights(Protocol):
    """The numbers that keepalived adds to this node's priorities."""

    def read(self, path: str) -> int | None:
        """Return the number of a file, None without a valid one."""

    def write(self, path: str, number: int) -> bool:
        """Replace the number; return whether it differed. Raises PublishFailed."""


class Checks(Protocol):
    """Requests to servers of this node and of its cluster."""

    async def check(self, target: Target, seconds: float) -> Result:
        """Return the result of one request within *seconds*; never raises for what the server does."""


class NameLookup(Protocol):
    """DNS servers on addresses of this node."""

    async def addresses(
        self, server: IPAddress, name: str, family: Family, port: int | None = None
    ) -> frozenset[IPAddress]:
        """Return the addresses of *name* that *server* answers, none where it does not answer in time."""


class OtherStacks(Protocol):
    """What other stacks have on this node."""

    def look(self, units: Collection[str], ports: Collection[int]) -> Others:
        """Return what is there of others than *units*. Raises Unavailable."""


class StaticPods(Protocol):
    """kubelet's static pods."""

    def manifests_stamp(self) -> int | None:
        """Return a number that another one follows when a static pod of kubelet comes or goes, None without any."""
