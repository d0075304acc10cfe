"""Which links, addresses and routes does this host have at one moment?

The kernel's words and values; nothing is decided here. Names tie the parts together as they do in iproute2's output:
a link's name is unique in its network namespace.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from nodenet.core.ip import Family, IPAddress, IPNetwork

MAIN_TABLE = "main"
IPV6_DEFAULT_METRIC = 1024
"""What the kernel gives an IPv6 route without a metric (IP6_RT_PRIO_USER, linux/ipv6_route.h); for IPv4 it is 0."""


class AddressFlag(StrEnum):
    """The flags of an address that we look at or pass on, by iproute2's names (ip-address(8))."""

    SECONDARY = "secondary"
    TEMPORARY = "temporary"
    DEPRECATED = "deprecated"
    TENTATIVE = "tentative"
    DAD_FAILED = "dadfailed"
    OPTIMISTIC = "optimistic"
    NO_DAD = "nodad"
    DYNAMIC = "dynamic"
    MANAGE_TEMPORARY = "mngtmpaddr"
    NO_PREFIX_ROUTE = "noprefixroute"


@dataclass(frozen=True, slots=True)
class Link:
    """A network link.

    *permanent_mac* is set only where it differs from *mac*: a port of a bond wears another one's.
    *master* is the bridge, bond or VRF that owns the link, *base* the link below a VLAN or the like, or the other
    end of a veth. *operstate* is RFC 2863's, in capitals.
    """

    index: int
    name: str
    altnames: tuple[str, ...] = ()
    kind: str | None = None
    up: bool = True
    carrier: bool = True
    loopback: bool = False
    operstate: str = "UNKNOWN"
    mac: str | None = None
    permanent_mac: str | None = None
    master: str | None = None
    carrier_changes: int = field(default=0, compare=False)
    """How often the carrier came or went. Only the kernel's own answer has it, not iproute2's."""
    mtu: int = field(default=0, compare=False)
    """0: not known. No decision of a node depends on it."""
    base: str | None = field(default=None, compare=False)
    """No decision of a node depends on it; snapshots of older versions have none."""

    @property
    def names(self) -> tuple[str, ...]:
        """Its name and its alternative names."""
        return (self.name, *self.altnames)

    @property
    def is_nic(self) -> bool:
        """Whether it is no bond, bridge, VLAN or the like, which has the MAC of a NIC below it."""
        return self.kind in (None, "veth") and not self.loopback

    @property
    def hardware_mac(self) -> str | None:
        """The MAC that survives renames and bonds."""
        return self.permanent_mac or self.mac


@dataclass(frozen=True, slots=True)
class Address:
    """An address on a link; lifetimes in seconds, None for ever. *prefix_length* is the peer's where there is one."""

    address: IPAddress
    prefix_length: int
    link: str
    label: str | None = None
    flags: frozenset[AddressFlag] = frozenset()
    valid_lifetime: int | None = None
    preferred_lifetime: int | None = None
    peer: IPAddress | None = None

    @property
    def is_permanent(self) -> bool:
        """Whether it stays until it is removed: DHCP and router advertisements give lifetimes."""
        return self.valid_lifetime is None

    @property
    def family(self) -> Family:
        """The address family."""
        return Family.IPV4 if self.address.version == 4 else Family.IPV6

    @property
    def is_tentative(self) -> bool:
        """Whether the kernel does not use it yet: another host may have it (RFC 4862, 5.4; RFC 4429)."""
        return AddressFlag.TENTATIVE in self.flags and AddressFlag.OPTIMISTIC not in self.flags

    def shares_prefix(self, other: IPAddress, prefix_length: int | None = None) -> bool:
        """Return whether *other* is on this address's subnet (or a subnet of *prefix_length* around it)."""
        mine = self.peer or self.address
        version = mine.version
        if version != other.version:
            return False
        length = self.prefix_length if prefix_length is None else prefix_length
        return (int(mine) ^ int(other)) >> ((32 if version == 4 else 128) - length) == 0


@dataclass(frozen=True, slots=True)
class NextHop:
    """One way out of a route; without a gateway the destination is on the link itself."""

    link: str | None
    gateway: IPAddress | None = None


@dataclass(frozen=True, slots=True)
class Route:
    """A route; several next hops make it multipath. *nexthop_id* names the kernel's next-hop object, if used."""

    destination: IPNetwork
    next_hops: tuple[NextHop, ...] = ()
    metric: int = 0
    table: str = MAIN_TABLE
    protocol: str | None = None
    kind: str = "unicast"
    nexthop_id: int | None = None

    @property
    def family(self) -> Family:
        """The family of the destination; a next hop may be of the other (RFC 5549)."""
        return Family.IPV4 if self.destination.version == 4 else Family.IPV6

    @property
    def is_default(self) -> bool:
        """Whether it leads everywhere."""
        return self.destination.prefixlen == 0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Links, addresses and routes as the kernel listed them; the order carries no meaning."""

    links: tuple[Link, ...] = ()
    addresses: tuple[Address, ...] = ()
    routes: tuple[Route, ...] = ()
