"""What do stages need from the kernel: the links as they are, one link's settings and neighbours, hosts behind it?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from nodenet.core.ip import IPAddress
from nodenet.core.kernel.neighbours import Neighbour
from nodenet.core.kernel.snapshot import Snapshot
from nodenet.core.ownership.things import Thing
from nodenet.core.probes.questions import Answer
from nodenet.core.settings.model import ProbeTarget


class Kernel(Protocol):
    """The kernel's links, addresses and routes."""

    def snapshot(self) -> Snapshot:
        """Return them as they are now."""

    def can_bind(self, address: IPAddress, link_index: int) -> bool:
        """Return whether a server could listen on *address*."""

    def set_up(self, link: str) -> None:
        """Set *link* up, as `ip link set LINK up` does. Raises Unavailable."""


class Standing(Protocol):
    """What other programs have on the links of this node (``core.ownership``)."""

    def noted(self) -> tuple[Thing, ...]:
        """Return it as it is now. Raises Unavailable."""

    def take(self, things: Iterable[Thing]) -> None:
        """Take *things* off their links. Raises Unavailable."""

    def put(self, things: Iterable[Thing]) -> tuple[tuple[Thing, str], ...]:
        """Put *things* on their links; return those that the kernel refused, and why. Raises Unavailable."""


class Sysctls(Protocol):
    """The kernel's settings of links, by name below /proc/sys with the link left out."""

    def of_link(self, link: str) -> dict[str, str]:
        """Return all; none when the link is gone."""

    def read(self, link: str, name: str) -> str | None:
        """Return one, None where there is none."""

    def write(self, link: str, values: Mapping[str, str]) -> tuple[str, ...]:
        """Set what differs; return the names of what did. Raises Unavailable."""


class Neighbours(Protocol):
    """Who else is on a link."""

    async def answers(self, address: IPAddress, link: str, seconds: float) -> bool:
        """Return whether *address* answers on *link* within *seconds*. Raises Unavailable."""

    def known(self, link: str) -> tuple[Neighbour, ...]:
        """Return the hosts on *link* that packets can be sent to without asking. Raises Unavailable."""

    def learn(self, link: str, neighbours: Iterable[Neighbour]) -> None:
        """Let packets to *neighbours* leave by *link* without asking. Raises Unavailable."""


class Targets(Protocol):
    """Hosts anywhere that must be reachable."""

    async def answers(self, target: ProbeTarget, seconds: float) -> Answer:
        """Return whether *target* answers within *seconds*, at once when it does."""
