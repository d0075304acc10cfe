"""What does nodenet-hosted need from the wire, from the kernel's addresses and from keepalived's processes?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from nodenet.core.hosted_services.health import Result, Target
from nodenet.core.hosted_services.units import Others
from nodenet.core.ip import Family, IPAddress
from nodenet.core.kernel.snapshot import Address


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
