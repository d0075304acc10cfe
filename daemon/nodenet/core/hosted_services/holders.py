"""Who holds a VIP according to the answers on the wire, and who gives it up if two hosts hold it?

No API is asked: an address is held by the hosts that answer for it (RFC 826, RFC 4861), and each node decides alone.
Nodes that see each other's answers come to the same decision, because all compare the same link-layer addresses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nodenet.core.ip import IPAddress


@dataclass(frozen=True, slots=True)
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


def strangers(sighting: Sighting, peers: Mapping[str, str]) -> frozenset[str]:
    """Return the MACs that answer for the VIP and do not belong to a node that may hold it."""
    return sighting.others - peers.keys()


def yields(sighting: Sighting, own_mac: str, peers: Mapping[str, str], *, hears: bool = True) -> bool:
    """Return whether this node gives the VIP up: the peer with the highest MAC keeps it.

    A node that *hears* no peer gives it up to any of them: a peer with a higher priority takes it again and again.
    A stranger's answer moves no VIP: any host of the LAN could otherwise take it from the cluster.
    """
    rivals = sighting.others & peers.keys()
    return sighting.here and any(not hears or _number(mac) > _number(own_mac) for mac in rivals)


def probe_seconds(candidates: int, *, held_here: bool) -> float:
    """Return the seconds between two questions on the wire.

    The holder asks often, because only it notices a second holder soon. Each question is a broadcast, so that the
    other candidates of a large cluster ask more rarely: together about two a second.
    """
    return 2.0 if held_here else max(10.0, candidates / 2)


def _number(mac: str) -> int:
    return int(mac.replace(":", ""), 16)
