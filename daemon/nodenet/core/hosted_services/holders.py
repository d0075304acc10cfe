"""Who holds a VIP according to the answers on the wire?

No API is asked: an address is held by the hosts that answer for it (RFC 826, RFC 4861). Any host of the LAN can answer:
what is seen is reported, and moves no VIP.
"""

from __future__ import annotations

from collections.abc import Mapping

from nodenet.core.ip import IPAddress
from nodenet.core.value import frozen

REMEDY = "look for filtered VRRP, for another hosted.advert_interval, and for a host that uses the address of the VIP"
"""What two holders mean."""


@frozen
class Sighting:
    """Who was seen to hold *address*: this node (*here*), and the MACs of other hosts that answered for it."""

    address: IPAddress
    here: bool
    others: frozenset[str] = frozenset()

    @property
    def count(self) -> int:
        """How many hosts hold the address."""
        return len(self.others) + self.here


def holders(sighting: Sighting, own_name: str, peers: Mapping[str, str]) -> tuple[str, ...]:
    """Return the holders, this node first: a node's name where *peers* (MAC → name) has it, else the MAC."""
    own = (own_name,) if sighting.here else ()
    return (*own, *sorted(peers.get(mac, mac) for mac in sighting.others))


def with_macs(sighting: Sighting, own_name: str, peers: Mapping[str, str]) -> str:
    """Return the holders for people: other hosts with their MAC, which a switch can find."""
    others = (f"{peers[mac]} ({mac})" if mac in peers else mac for mac in sighting.others)
    return " and ".join([*((own_name,) if sighting.here else ()), *sorted(others)]) or "no node"


def strangers(sighting: Sighting, peers: Mapping[str, str]) -> frozenset[str]:
    """Return the MACs that answer for the VIP and are not known as a node's."""
    return sighting.others - peers.keys()


def probe_seconds(candidates: int, *, held_here: bool, settled: bool = True) -> float:
    """Return the seconds between two questions on the wire.

    The holder asks often, because only it notices a second holder soon. Each question is a broadcast, so that the
    other candidates of a large cluster ask more rarely: together about two a second, and ten while it is not *settled*.
    """
    if not settled:
        return max(2.0, candidates / 10)
    return 2.0 if held_here else max(10.0, candidates / 2)
