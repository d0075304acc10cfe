"""Does this node take part in VRRP for a VIP, and with which weight?

keepalived reads one number for each purpose and one for each VIP from files, and adds them to the priority of the VIP
(keepalived.conf(5), ``track_file``). At ``OUT`` and below, the instance is in its fault state: it sends nothing and
holds no address. So no program is started or stopped, and nothing changes when nodenet-hosted dies.

Who holds a VIP is decided by VRRP alone. What answers on the wire is asked once, before this node takes part: the host
from which a cluster is installed holds the VIP, is no node, and its VRRP reaches none.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from nodenet.core.hosted_services.keepalived import PRIORITIES
from nodenet.core.hosted_services.model import Purpose

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


def after(stance: Stance, *, strangers: bool, waited: float, leaves: bool) -> Stance:
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


def weight(stance: Stance, purpose: Purpose, healthy: Iterable[int]) -> int:
    """Return the number for the file; *healthy* has the weight of each service of this node that is healthy."""
    if stance is Stance.DRAINING:
        return 1 - PRIORITIES[purpose]  # the lowest priority that still speaks: the VIP stays until a peer has it
    return sum(healthy) if stance is Stance.CANDIDATE else OUT
