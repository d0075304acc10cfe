"""Which VIPs are on this node's links? (rtnetlink(7))"""

from __future__ import annotations

from collections.abc import Collection

from nodenet.core.ip import IPAddress
from nodenet.core.kernel.snapshot import Address
from nodenet.edge.kernel.netlink import read_addresses


class VipAddresses:
    """The addresses on this node's links."""

    def present(self, wanted: Collection[IPAddress]) -> tuple[Address, ...]:
        """Return those among *wanted* that are on a link. Raises Unavailable."""
        return tuple(address for address in read_addresses() if address.address in wanted)
