"""The wire: DHCP servers, routers, gateways, and which host answers on which link."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Interface, IPv6Address, IPv6Interface, IPv6Network

from nodenet.core.ip import IPAddress

ROUTER6 = IPv6Address("fe80::1")
"""The address by which a router announces itself."""
GATEWAY6 = IPv6Address("2001:db8::1")
"""The address of the same router that static configurations name."""
UNUSED, TAKEN = IPv4Address("192.0.2.254"), IPv4Address("192.0.2.9")
"""An address of the LAN that no host has, and one that another host has."""


@dataclass(slots=True)
class Segment:
    """One LAN. *lease* is what its DHCP server gives this node, None: there is no server.

    *prefix6* is what its router announces, None: there is no router for IPv6.
    """

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
    prefix6: IPv6Network | None = None
    router_silent: bool = False
    stray6: IPv6Network | None = None
    """What another host announces, beside the router or while that is silent."""
    hosts: frozenset[IPAddress] = frozenset()
    """Addresses of other hosts."""
    managed: bool = False
    """Whether hosts get their IPv6 addresses from its DHCPv6 server, of which the router says so (RFC 4861)."""

    @property
    def offer(self) -> IPv4Interface | None:
        return None if self.silent else self.other or self.lease

    @property
    def announced(self) -> IPv6Network | None:
        return None if self.router_silent else self.prefix6

    @property
    def gives6(self) -> bool:
        """Whether a host gets an IPv6 address of its router at present."""
        return self.announced is not None and not (self.managed and self.silent)

    def leased6(self, client: tuple[str, str]) -> IPv6Interface | None:
        """Return what the DHCPv6 server gives the *client* with this DUID and IAID: always the same (RFC 8415)."""
        if self.silent or self.prefix6 is None:
            return None
        number = zlib.crc32(" ".join(client).encode()) & 0xFFFF
        return IPv6Interface((int(self.prefix6.network_address) | 1 << 16 | number, 128))

    def answers(self, address: IPAddress) -> bool:
        """Whether a router of this LAN, or another host, has *address* and answers."""
        own = (self.gateway, ROUTER6, GATEWAY6) if self.prefix6 else (self.gateway,)
        return (self.gateway_up and address in own) or address in self.hosts


@dataclass(slots=True)
class Wire:
    """Which segment the cable of each NIC leads to, by MAC: a renamed NIC keeps its cable. *tagged*: that of a VLAN."""

    segments: dict[str, Segment] = field(default_factory=dict)
    tagged: dict[str, Segment] = field(default_factory=dict)
