"""Which addresses does a subnet have to give, and in which order are they tried?

The order is one permutation of the subnet for each owner, so that two owners rarely try the same address and one owner
always begins with the same: an allocation that was interrupted finds its own Lease again.
"""

from __future__ import annotations

import bisect
import hashlib
import itertools
import math
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_interface

from nodenet.core.ip import IPAddress, IPNetwork
from nodenet.core.persistent_ips.model import Interface
from nodenet.core.value import frozen

MOST_CANDIDATES = 1 << 32
"""Only so many addresses at the beginning of an IPv6 subnet are given."""


@frozen
class Pool:
    """A subnet without what is excluded. *excluded* does not overlap itself."""

    subnet: IPNetwork
    excluded: tuple[IPNetwork, ...] = ()
    gateway: IPAddress | None = None

    @property
    def first(self) -> int:
        """The first address that can be given; the one before is the network, or all routers (RFC 4291, 2.6.1)."""
        return int(self.subnet.network_address) + 1

    @property
    def last(self) -> int:
        """The last address that can be given: IPv4's last one is the broadcast address."""
        last = int(self.subnet.broadcast_address) - (1 if self.subnet.version == 4 else 0)
        return min(last, self.first + MOST_CANDIDATES - 1)

    @property
    def size(self) -> int:
        """How many addresses can be given."""
        return sum(map(len, self._free()))

    def _free(self) -> list[range]:
        """Return the addresses that can be given, as numbers and in their order."""
        holes = [(int(one.network_address), int(one.broadcast_address)) for one in self.excluded]
        if self.gateway is not None:
            holes.append((int(self.gateway), int(self.gateway)))
        found, start = [], self.first
        for low, high in sorted(holes):
            found.append(range(start, min(low, self.last + 1)))
            start = max(start, high + 1)
        return [one for one in (*found, range(start, self.last + 1)) if one]

    def has(self, address: IPAddress) -> bool:
        """Return whether *address* can be given."""
        return (
            address in self.subnet
            and self.first <= int(address) <= self.last
            and address != self.gateway
            and not any(address in one for one in self.excluded)
        )

    def interface(self, address: IPAddress) -> Interface:
        """Return *address* with the subnet's prefix length."""
        return ip_interface(f"{address}/{self.subnet.prefixlen}")

    def candidates(self, seed: str) -> Iterator[IPAddress]:
        """Yield every address that can be given, once, in an order of this *seed*.

        What is excluded takes no time: a large subnet of which a few addresses are left is as fast as a small one.
        """
        free = self._free()
        ends = list(itertools.accumulate(map(len, free)))
        count = ends[-1] if ends else 1
        digest = hashlib.sha256(f"{self.subnet} {seed}".encode()).digest()
        start, step = int.from_bytes(digest[:16]) % count, int.from_bytes(digest[16:]) % count or 1
        while math.gcd(step, count) != 1:
            step += 1
        kind = IPv4Address if self.subnet.version == 4 else IPv6Address
        for number in range(count if free else 0):
            index = (start + number * step) % count
            part = bisect.bisect_right(ends, index)
            yield kind(free[part][index - ends[part]])
