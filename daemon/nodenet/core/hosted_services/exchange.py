"""May an instance of VRRP on this node advertise its VIP? What must hold, in one place.

1. This node may hold the VIP (``duties``). Otherwise keepalived has no such instance.
2. No other stack of this node speaks VRRP (``two_stacks``). Otherwise keepalived does not run.
3. The answers on the wire do not speak against it (``stance``).
4. Advertisements are exchanged with the peers, in the family of this VIP (``exchange``): in dual stack the other family
   says nothing about it.

The last two decide the number of the VIP (``keepalived.MUTE_FILES``), and with it whether its instance advertises.

keepalived receives nothing while its ``unicast_src_ip`` is not on the link that it listens on: after three intervals it
takes the holder for dead, and a second host has the VIP. Its option ``track_src_ip`` does not prevent that (2.2.7, and
https://github.com/acassen/keepalived/issues/1847). So a candidate has to hear its peers, and a holder has to be heard.
A holder that hears no peer does not notice that one with a higher priority takes its VIP: where the wire shows two
holders, it is the one that gives up, whatever the MACs are (``holders.yields``).

An instance without peers has nothing to exchange.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from nodenet.core.hosted_services.duties import VipDuty
from nodenet.core.hosted_services.keepalived import peers
from nodenet.core.hosted_services.model import Inputs, Place
from nodenet.core.ip import Family, IPAddress, family_of
from nodenet.core.kernel.snapshot import Address, AddressFlag

PATIENCE_INTERVALS = 2
"""After so many intervals a holder that is not heard gives its VIP up: peers take it after three (RFC 5798, 6.1)."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """The VIPs that this node must not advertise: it hears no peer (*deaf*), or no peer hears it (*unheard*).

    *unhearing*: those that it holds and may advertise, and whose peers it does not hear.
    """

    deaf: frozenset[IPAddress] = frozenset()
    unheard: frozenset[IPAddress] = frozenset()
    unhearing: frozenset[IPAddress] = frozenset()


def exchange(
    inputs: Inputs, duties: Iterable[VipDuty], sources: Mapping[Family, Place], present: Collection[Address]
) -> Exchange:
    """Return which VIPs lack the exchange.

    *sources*: the places in the configuration that keepalived has read; a newer one may be on the disk.
    *present*: which of the VIPs and node IPs the links have.
    """
    held = {one.address for one in present}
    usable = {(one.address, one.link) for one in present if _is_usable(one)}
    anywhere = {address for address, _ in usable}
    deaf, unheard, unhearing = set(), set(), set()
    for duty in duties:
        family = family_of(duty.address)
        if not duty.wanted or family not in sources:
            continue
        source = sources[family]
        if (source.address, source.link) in usable or not peers(inputs, duty, source):
            continue
        if duty.address not in held:
            deaf.add(duty.address)
        elif family is Family.IPV6 and source.address not in anywhere:
            # Of IPv4, keepalived writes the header itself: the peers hear a holder whose address is on no link.
            unheard.add(duty.address)
        else:
            unhearing.add(duty.address)
    return Exchange(frozenset(deaf), frozenset(unheard), frozenset(unhearing))


def _is_usable(address: Address) -> bool:
    """Return whether packets are sent from it and taken for it: not while it is tentative (RFC 4862, 5.4)."""
    return AddressFlag.TENTATIVE not in address.flags or AddressFlag.OPTIMISTIC in address.flags
