"""Which VIPs are on this node's links, and how is one taken off? (rtnetlink(7), RTM_DELADDR)"""

from __future__ import annotations

import errno
import socket
from collections.abc import Collection

from nodenet.core.errors import Unavailable
from nodenet.core.ip import IPAddress
from nodenet.core.kernel import rtnetlink_orders as orders
from nodenet.core.kernel.snapshot import Address
from nodenet.edge.kernel.netlink import read_addresses

_TIMEOUT_SECONDS = 2.0
_RECEIVE_BYTES = 4096
_GONE = (0, errno.EADDRNOTAVAIL, errno.ENODEV)


class VipAddresses:
    """The addresses on this node's links."""

    def present(self, wanted: Collection[IPAddress]) -> tuple[Address, ...]:
        """Return those among *wanted* that are on a link. Raises Unavailable."""
        return tuple(address for address in read_addresses() if address.address in wanted)

    def remove(self, address: Address) -> bool:
        """Take *address* off its link; return whether it was there. Raises Unavailable when the kernel refuses."""
        try:
            index = socket.if_nametoindex(address.link)
        except OSError:
            return False
        try:
            with socket.socket(
                socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE
            ) as kernel:
                kernel.settimeout(_TIMEOUT_SECONDS)
                kernel.send(orders.removal(address, index))
                code = orders.refusal(kernel.recv(_RECEIVE_BYTES))
        except OSError as error:
            raise Unavailable(f"{address.address} cannot be removed: {error.strerror or error}") from error
        if code not in _GONE:
            reason = f"error {code}"
            raise Unavailable(
                f"{address.address} cannot be removed from {address.link}: {reason}",
                remedy=f"Run: ip address delete {address.address}/{address.prefix_length} dev {address.link}",
            )
        return code == 0
