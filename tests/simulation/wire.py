"""The wire: DHCP servers, gateways, and which host answers on which link."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Interface


@dataclass(slots=True)
class Segment:
    """One LAN. *lease* is what its DHCP server gives this node, None: there is no server."""

    gateway: IPv4Address | None
    lease: IPv4Interface | None
    seconds: float = 3600.0
    routed: bool = True
    """Whether the server names the gateway."""
    silent: bool = False
    """Whether the server does not answer at present."""
    other: IPv4Interface | None = None
    """What it gives instead, at present."""
    gateway_up: bool = True
    delay: float = 0.05

    @property
    def offer(self) -> IPv4Interface | None:
        return None if self.silent else self.other or self.lease


@dataclass(slots=True)
class Wire:
    """Which segment the cable of each NIC leads to, by MAC: a renamed NIC keeps its cable."""

    segments: dict[str, Segment] = field(default_factory=dict)
