"""Of thousands of addresses, which need a look of their own?

Addresses that differ in nothing but their number are a crowd. Rules and rank see a number only by the ranges that it
lies in, and by its size; where such a range begins or ends stands a landmark. Between two landmarks a crowd gets one
verdict and one rank but for the number, so that the first and the last of such a stretch stand for all of it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from ipaddress import IPv4Address, IPv6Address
from itertools import pairwise
from typing import NamedTuple

from nodenet.core.ip import IPAddress
from nodenet.core.kernel.snapshot import Address, Link, Snapshot
from nodenet.core.node_ip.policy import Policy
from nodenet.core.node_ip.ranking import PRIVATE, Surroundings, vip_lengths
from nodenet.core.node_ip.rules import SPECIAL, Case, Rule

FEW = 16
"""So many are looked at one by one: finding the landmarks of a crowd costs more."""
_BITS = {4: 32, 6: 128}
_Range = tuple[int, int]
"""First number and last."""


class AddressGroup(NamedTuple):
    """Addresses by number that no rule tells apart; *first* is the case of the first of them."""

    first: Case
    addresses: Sequence[Address]
    rule: Rule | None = None

    def cases(self) -> Iterator[Case]:
        """Yield the case of each address."""
        return map(self._case, self.addresses)

    def ends(self) -> Iterator[Case]:
        """Yield the first and the last: whichever the rank prefers is the best of all."""
        yield self.first
        if len(self.addresses) > 1:
            yield self._case(self.addresses[-1])

    def _case(self, address: Address) -> Case:
        _, _, link, policy, unbindable = self.first
        return Case(address, int(address.address), link, policy, unbindable)


class Boundaries:
    """Where ranges begin and end that rules, rank or somebody's question tell apart."""

    def __init__(self, policy: Policy, around: Surroundings, asked_for: Collection[IPAddress]) -> None:
        """*asked_for*: addresses that are looked at one by one, whoever they are."""
        self._vips = policy.vips
        self._around = around
        meanings = [hint.meaning for hint in policy.hints if not isinstance(hint.meaning, str)]
        single = [meaning for meaning in meanings if isinstance(meaning, IPv4Address | IPv6Address)]
        networks = [meaning for meaning in meanings if not isinstance(meaning, IPv4Address | IPv6Address)]
        self._hints = single
        self._fixed: dict[int, list[_Range]] = {4: [], 6: []}
        for ranges in (*SPECIAL.values(), *PRIVATE):
            for version, wide in ranges.items():
                self._fixed[version].append(wide)
        for network in networks:
            self._fixed[network.version].append((int(network.network_address), int(network.broadcast_address)))
        for address in (*single, *self._vips, *asked_for):
            self._fixed[address.version].append((int(address), int(address)))

    def of(self, address: Address) -> list[int]:
        """Return where address_groups begin in the crowd of *address*, in order."""
        version = address.address.version
        ranges = self._fixed[version] + [
            _subnet(anchor, length) for anchor, length in self._anchors(address) if anchor.version == version
        ]
        return sorted({0, *(first for first, _ in ranges), *(last + 1 for _, last in ranges)})

    def _anchors(self, address: Address) -> Iterator[tuple[IPAddress, int]]:
        """Yield whom the rank seeks on an address's subnet, with the prefix length it takes for that."""
        route = self._around.default_routes.get((address.link, address.family))
        for anchor in (*self._hints, *(route.gateways if route else ())):
            yield anchor, address.prefix_length
        for length in vip_lengths(address, self._around):
            for vip in self._vips:
                yield vip, length


def _subnet(anchor: IPAddress, length: int) -> _Range:
    width = _BITS[anchor.version] - length
    first = int(anchor) >> width << width
    return first, first + (1 << width) - 1


def address_groups(
    snapshot: Snapshot, policy: Policy, unbindable: Collection[IPAddress], landmarks: Boundaries
) -> Iterator[AddressGroup]:
    """Yield the addresses of *snapshot* in address_groups that nobody has judged yet."""
    links = {link.name: link for link in snapshot.links}
    crowds: defaultdict[tuple[object, ...], list[Address]] = defaultdict(list)
    for address in snapshot.addresses:
        crowds[_likeness(address)].append(address)
    for crowd in crowds.values():
        link = links.get(crowd[0].link) or Link(0, crowd[0].link)
        for part in _parts(crowd, landmarks):
            yield AddressGroup(Case(part[0], _number(part[0]), link, policy, unbindable), part)


def _likeness(address: Address) -> tuple[object, ...]:
    """Return all that rules and rank look at in an address, but its number."""
    return (
        address.link,
        address.address.__class__,
        address.prefix_length,
        address.flags,
        address.label,
        address.preferred_lifetime == 0,
        address.peer,
    )


def _parts(crowd: list[Address], landmarks: Boundaries) -> Iterator[Sequence[Address]]:
    if len(crowd) <= FEW or crowd[0].peer is not None:
        # With a peer it is the peer's number that decides about subnets.
        yield from ((address,) for address in crowd)
        return
    crowd.sort(key=_number)
    begins = [bisect_left(crowd, landmark, key=_number) for landmark in landmarks.of(crowd[0])]
    for begin, end in pairwise((*begins, len(crowd))):
        if begin < end:
            yield crowd[begin:end]


def _number(address: Address) -> int:
    return int(address.address)
