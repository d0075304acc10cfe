"""May an instance of VRRP on this node advertise its VIP? What must hold, in one place.

1. This node may hold the VIP (``duties``). Otherwise keepalived has no such instance.
2. No other stack of this node speaks VRRP (``two_stacks``). Otherwise keepalived does not run.
3. No host that is no node answered for it before this node took part (``stance``).
4. Advertisements are exchanged with the peers, in the family of this VIP: in dual stack the other family says nothing
   about it.

The last two decide the number of the VIP (``keepalived.MUTE_FILES``), and with it whether its instance advertises.

keepalived receives nothing while its ``unicast_src_ip`` is not on the link that it listens on: after three intervals it
takes the holder for dead, and a second host has the VIP. Its option ``track_src_ip`` does not prevent that (2.2.7, and
https://github.com/acassen/keepalived/issues/1847). So a candidate without its node IP takes no part, and a holder gives
the VIP up after ``patience``. An instance without peers has nothing to exchange.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from nodenet.core.hosted_services.duties import VipDuty
from nodenet.core.hosted_services.keepalived import peers
from nodenet.core.hosted_services.model import Inputs, Place
from nodenet.core.ip import Family, IPAddress, family_of
from nodenet.core.kernel.snapshot import Address, AddressFlag

PATIENCE_INTERVALS = 2
"""After so many intervals a holder that is not heard gives its VIP up: peers take it after three (RFC 5798, 6.1)."""
PATIENCE_SECONDS = 5.0
"""Of IPv4, keepalived writes the header itself: the peers hear a holder whose node IP is away for a moment."""


def silent(
    inputs: Inputs, duties: Iterable[VipDuty], sources: Mapping[Family, Place], present: Collection[Address]
) -> frozenset[IPAddress]:
    """Return the VIPs whose node IP is not on the link that keepalived uses, and that a peer may hold.

    *sources*: the places in the configuration that keepalived has read; a newer one may be on the disk.
    *present*: which of the node IPs the links have.
    """
    usable = {(one.address, one.link) for one in present if _is_usable(one)}
    found = set()
    for duty in duties:
        source = sources.get(family_of(duty.address))
        if duty.wanted and source and (source.address, source.link) not in usable and peers(inputs, duty, source):
            found.add(duty.address)
    return frozenset(found)


def patience(vip: IPAddress, interval: float) -> float:
    """Return for how many seconds a holder keeps *vip* without its node IP."""
    return PATIENCE_INTERVALS * interval if family_of(vip) is Family.IPV6 else PATIENCE_SECONDS


def _is_usable(address: Address) -> bool:
    """Return whether packets are sent from it and taken for it: not while it is tentative (RFC 4862, 5.4)."""
    return AddressFlag.TENTATIVE not in address.flags or AddressFlag.OPTIMISTIC in address.flags
