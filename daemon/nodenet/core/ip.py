"""Which family does an address have, and what is an address?"""

from __future__ import annotations

from enum import Enum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

IPAddress = IPv4Address | IPv6Address


IPNetwork = IPv4Network | IPv6Network


OVN_MASQUERADE = (ip_network("169.254.0.0/17"), ip_network("169.254.169.0/29"), ip_network("fd69::/112"))
"""Where OVN-Kubernetes takes addresses that each node has alike, unless the cluster names other subnets."""


class Family(Enum):
    """An address family, by its name in the settings."""

    IPV4 = "ipv4"
    IPV6 = "ipv6"

    # There is one of each; Enum's own hash is written in Python and would be the better part of a selection.
    __hash__ = object.__hash__

    def __str__(self) -> str:
        """As people write it."""
        return "IPv4" if self is Family.IPV4 else "IPv6"


def is_masquerade(address: IPAddress) -> bool:
    """Return whether *address* is one that OVN-Kubernetes gives each node alike."""
    return any(address in network for network in OVN_MASQUERADE)


def family_of(value: IPAddress | IPNetwork) -> Family:
    """Return the family of an address or network."""
    return Family.IPV4 if value.version == 4 else Family.IPV6
