"""Which family does an address have, what is an address, and which ones does every node of OVN-Kubernetes have?"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import Enum
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network, ip_network

IPAddress = IPv4Address | IPv6Address


IPNetwork = IPv4Network | IPv6Network


class Family(Enum):
    """An address family, by its name in the settings."""

    IPV4 = "ipv4"
    IPV6 = "ipv6"

    # There is one of each; Enum's own hash is written in Python and would be the better part of a selection.
    __hash__ = object.__hash__

    def __str__(self) -> str:
        """As people write it."""
        return "IPv4" if self is Family.IPV4 else "IPv6"


def family_of(value: IPAddress | IPNetwork) -> Family:
    """Return the family of an address or network."""
    return Family.IPV4 if value.version == 4 else Family.IPV6


# Which addresses does OVN-Kubernetes give br-ex of every node alike?
#
# Of its masquerade subnet, which a cluster may choose (`internalMasqueradeSubnet`), br-ex has the second address, a
# route to the first one, and routes of services through the fourth one. No external id of Open vSwitch names it.

OVN_BRIDGE = "br-ex"
OVN_MASQUERADE = (ip_network("169.254.0.0/17"), ip_network("169.254.169.0/29"), ip_network("fd69::/112"))
"""The subnets that OVN-Kubernetes takes if the cluster names no others."""
_OF_BRIDGE, _OF_ALL, _OF_SERVICES = 2, 1, 4
_LONG, _HOST = 112, 128


def is_masquerade(address: IPAddress, subnets: Collection[IPNetwork] = ()) -> bool:
    """Return whether *address* is one that OVN-Kubernetes gives each node alike; *subnets* beside its defaults."""
    return any(address in network for network in (*OVN_MASQUERADE, *subnets))


def is_like_masquerade(link: str, address: int, prefix_length: int) -> bool:
    """Return whether a number is an IPv6 address on *link* as OVN-Kubernetes makes it: the second of a small subnet."""
    small = link == OVN_BRIDGE and _LONG <= prefix_length < _HOST
    return small and address % (1 << _HOST - prefix_length) == _OF_BRIDGE


def masquerade_shown(
    addresses: Iterable[IPv4Interface | IPv6Interface], routes: Iterable[tuple[IPNetwork, IPAddress | None]]
) -> tuple[IPNetwork, ...]:
    """Return the masquerade subnets that *addresses* and *routes* (destination, gateway) of br-ex show."""
    seen = list(routes)
    alone = {
        (net.version, int(net[0])) for net, gateway in seen if gateway is None and net.prefixlen == net.max_prefixlen
    }
    through = {(gateway.version, int(gateway)) for net, gateway in seen if gateway is not None and net.prefixlen}
    return tuple(
        network
        for address in addresses
        for network, first in [(address.network, int(address.network[0]))]
        if int(address.ip) == first + _OF_BRIDGE
        and (address.version, first + _OF_ALL) in alone
        and (address.version, first + _OF_SERVICES) in through
    )
