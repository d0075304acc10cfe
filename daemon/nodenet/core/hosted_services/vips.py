"""Who holds a VIP, and does this node take part in VRRP for it?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum

from nodenet.core.hosted_services.duties import VipDuty
from nodenet.core.hosted_services.keepalived import PRIORITIES, peers
from nodenet.core.hosted_services.model import Inputs, Place, Purpose
from nodenet.core.ip import Family, IPAddress, family_of
from nodenet.core.kernel.snapshot import Address
from nodenet.core.value import frozen

# Who holds a VIP according to the answers on the wire?
#
# No API is asked: an address is held by the hosts that answer for it (RFC 826, RFC 4861). Any host of the LAN can
# answer: what is seen is reported, and moves no VIP.

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


# Does this node take part in VRRP for a VIP, and with which weight?
#
# keepalived reads one number for each purpose and one for each VIP from files, and adds them to the priority of the VIP
# (keepalived.conf(5), ``track_file``). At ``OUT`` and below, the instance is in its fault state: it sends nothing and
# holds no address. So no program is started or stopped, and nothing changes when nodenet-hosted dies.
#
# Who holds a VIP is decided by VRRP alone. What answers on the wire is asked once, before this node takes part: the
# host from which a cluster is installed holds the VIP, is no node, and its VRRP reaches none.

OUT = -254
BALANCER_WEIGHT, API_SERVER_WEIGHT = 20, 5
"""The weights of the stack that nodenet replaces: mixed nodes compare the same priorities."""
ROUTER_WEIGHT = 20
STAY_OUT_SECONDS = 1800.0
"""The longest wait for a host that is no node: any host of the LAN may answer for a VIP, and for ever."""


class Stance(StrEnum):
    """What a node is for a VIP."""

    PROBING = "probing"
    """The wire was not asked yet."""
    CANDIDATE = "candidate"
    STAYING_OUT = "staying-out"
    """A host that is no node holds the VIP, such as the bootstrap node of an installation."""
    DRAINING = "draining"
    """This node goes: another one is to take the VIP over first."""


def next_stance(stance: Stance, *, strangers: bool, waited: float, leaves: bool) -> Stance:
    """Return the stance after a look at the wire.

    *strangers*: a host that is no node answers for the VIP. *waited*: for so many seconds this node has stayed out.
    *leaves*: this node is drained.
    """
    enters = stance in (Stance.PROBING, Stance.STAYING_OUT)
    if enters and strangers and waited < STAY_OUT_SECONDS:
        return Stance.STAYING_OUT
    return Stance.DRAINING if leaves else Stance.CANDIDATE


def at_start(weight: int | None, *, speaking: bool) -> Stance:
    """Return the stance of a companion that starts while keepalived is *speaking* VRRP with *weight*, or is not.

    A node that takes part continues to do so: the death of nodenet-hosted moves no VIP.
    """
    takes_part = speaking and weight is not None and weight > OUT
    return Stance.CANDIDATE if takes_part else Stance.PROBING


def weight_of(stance: Stance, purpose: Purpose, healthy: Iterable[int]) -> int:
    """Return the number for the file; *healthy* has the weight of each service of this node that is healthy."""
    if stance is Stance.DRAINING:
        return 1 - PRIORITIES[purpose]  # the lowest priority that still speaks: the VIP stays until a peer has it
    return sum(healthy) if stance is Stance.CANDIDATE else OUT


# May an instance of VRRP on this node advertise its VIP? What must hold, in one place.
#
# 1. This node may hold the VIP (``duties``). Otherwise keepalived has no such instance.
# 2. No other stack of this node speaks VRRP (``units.why_waiting``). Otherwise keepalived does not run.
# 3. No host that is no node answered for it before this node took part (``next_stance``).
# 4. Advertisements are exchanged with the peers, in the family of this VIP: in dual stack the other family says nothing
#    about it.
#
# The last two decide the number of the VIP (``keepalived.MUTE_FILES``), and with it whether its instance advertises.
#
# keepalived receives nothing while its ``unicast_src_ip`` is not on the link that it listens on: after three
# intervals it takes the holder for dead, and a second host has the VIP. Its option ``track_src_ip`` does not prevent
# that (2.2.7, and https://github.com/acassen/keepalived/issues/1847). So a candidate without its node IP takes no
# part, and a holder gives the VIP up after ``patience``. An instance without peers has nothing to exchange.

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
    usable = {(one.address, one.link) for one in present if not one.is_tentative}
    found = set()
    for duty in duties:
        source = sources.get(family_of(duty.address))
        if duty.wanted and source and (source.address, source.link) not in usable and peers(inputs, duty, source):
            found.add(duty.address)
    return frozenset(found)


def patience(vip: IPAddress, interval: float) -> float:
    """Return for how many seconds a holder keeps *vip* without its node IP."""
    return PATIENCE_INTERVALS * interval if family_of(vip) is Family.IPV6 else PATIENCE_SECONDS
