"""What do hosted services need from the outside world: their files, their units, the nft table, and dnsmasq itself?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Protocol

from nodenet.core.hosted_services.running import Running


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
        """Order its end; none that does not run is no error. Raises UnitFailed, Unavailable."""

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


class Dnsmasq(Protocol):
    """This node's dnsmasq, over D-Bus."""

    async def owner(self) -> str | None:
        """Return the bus's own name of the process that runs now, None while none is on the bus."""

    async def set_servers(self, servers: Sequence[Sequence[str]]) -> None:
        """Replace all upstream servers: each an address, perhaps with ``#PORT``, then domains. Raises Unavailable."""

    async def read_hosts(self) -> None:
        """Let it read its hosts file again and forget what it has cached. Raises Unavailable."""
