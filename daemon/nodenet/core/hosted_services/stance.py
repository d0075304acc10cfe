"""Does this node take part in VRRP for a VIP, and with which weight?

keepalived reads one number for each purpose and one for each VIP from files, and adds them to the priority of the VIP
(keepalived.conf(5), ``track_file``). At ``OUT`` and below, the instance is in its fault state: it sends nothing and
holds no address. So no program is started or stopped, and nothing changes when nodenet-hosted dies.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from nodenet.core.hosted_services.keepalived import PRIORITIES
from nodenet.core.hosted_services.model import Purpose

OUT = -254
BALANCER_WEIGHT, API_SERVER_WEIGHT = 20, 5
"""The weights of the stack that nodenet replaces: mixed nodes compare the same priorities."""
ROUTER_WEIGHT = 20
LOOKS = 2
"""How many looks in a row must agree: during a takeover two nodes answer for a moment."""


class Stance(StrEnum):
    """What a node is for a VIP. In dual stack, VRRP may be filtered in one family only."""

    PROBING = "probing"
    """The wire was not asked yet."""
    CANDIDATE = "candidate"
    STAYING_OUT = "staying-out"
    """A host that is not a peer holds the VIP, such as the bootstrap node of an installation."""
    YIELDING = "yielding"
    """Another node holds the VIP too, and this one gives it up."""
    DRAINING = "draining"
    """This node goes: another one is to take the VIP over first."""


@dataclass(frozen=True, slots=True)
class Look:
    """What one look at the wire showed for a VIP."""

    strangers: bool = False
    """A host that is not a peer answers for it."""
    loses: bool = False
    """A peer and this node hold it, and this node must give it up."""
    held: bool = True
    """Some host holds it."""
    heard: bool = False
    """Advertisements of a peer for it came in a moment ago."""


@dataclass(frozen=True, slots=True)
class Position:
    """The stance, and for how many looks in a row the wire has spoken for another one."""

    stance: Stance = Stance.PROBING
    against: int = 0


def after(position: Position, look: Look) -> Position:
    """Return the position after one more look at the wire."""
    wanted = _wanted(position.stance, look)
    if wanted is position.stance:
        return Position(wanted)
    if position.stance is Stance.PROBING or position.against + 1 >= LOOKS:
        return Position(wanted)
    return Position(position.stance, position.against + 1)


def _wanted(stance: Stance, look: Look) -> Stance:
    match stance:
        case Stance.PROBING | Stance.STAYING_OUT:
            return Stance.STAYING_OUT if look.strangers else Stance.CANDIDATE
        case Stance.CANDIDATE:
            return Stance.YIELDING if look.loses else Stance.CANDIDATE
        case Stance.YIELDING:
            # Also a keepalived that hangs, and so gives nothing up, receives the other node's advertisements.
            over = not look.loses and (look.heard or not look.held)
            return Stance.CANDIDATE if over else Stance.YIELDING
        case Stance.DRAINING:
            # Its keepalived hangs, or VRRP is filtered: otherwise it has given up to the first advertisement.
            return Stance.YIELDING if look.loses else Stance.DRAINING


def drained(position: Position, *, leaves: bool) -> Position:
    """Return *position* on a node that *leaves*, or no longer does: a candidate is drained, the others stay."""
    if leaves and position.stance is Stance.CANDIDATE:
        return Position(Stance.DRAINING)
    if not leaves and position.stance is Stance.DRAINING:
        return Position(Stance.CANDIDATE)
    return position


def at_start(weight: int | None, *, speaking: bool) -> Position:
    """Return the position of a companion that starts while keepalived is *speaking* VRRP with *weight*, or is not.

    A node that takes part continues to do so: the death of nodenet-hosted moves no VIP.
    """
    takes_part = speaking and weight is not None and weight > OUT
    return Position(Stance.CANDIDATE if takes_part else Stance.PROBING)


def weight(stance: Stance, purpose: Purpose, healthy: Iterable[int]) -> int:
    """Return the number for the file; *healthy* has the weight of each service of this node that is healthy."""
    if stance is Stance.DRAINING:
        return 1 - PRIORITIES[purpose]  # the lowest priority that still speaks: the VIP stays until a peer has it
    return sum(healthy) if stance is Stance.CANDIDATE else OUT
