"""When does the uplink make the node degraded, and what is reported?

A short loss is not reported, and a link that comes and goes is not reported each time: it must have been
back for some time first.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from nodenet.core.boot.outcome import Problem
from nodenet.core.common_wake import until_common
from nodenet.core.ip import Family, IPAddress
from nodenet.core.kernel.snapshot import Link
from nodenet.core.messages import Message
from nodenet.core.uplink_health.watched import Gateway, Place
from nodenet.core.value import frozen


@frozen
class Patience:
    """Seconds for which something must be lost, or back, before it is reported."""

    lost: float
    back: float


CARRIER = Patience(lost=2.0, back=5.0)
GATEWAY = Patience(lost=2.0, back=0.0)
ROUTE = Patience(lost=5.0, back=0.0)
"""NetworkManager removes and adds a route where it activates a profile again, as in a reload."""
KNOWN = Patience(lost=0.0, back=0.0)
"""The way out was lost for long enough already."""
NAME_SERVER = Patience(lost=5.0, back=0.0)
"""NetworkManager empties resolv.conf for a moment where it activates a profile again."""
CLAIM = Patience(lost=1.0, back=0.0)
"""One stray packet is no host: the answer to a second question counts."""
AGAIN_SECONDS = 2.0
"""Before what did not answer is asked again: a gateway, DNS servers, or the kernel."""
SILENT_SECONDS = 10.0
"""The same once its silence is reported."""


@frozen
class Condition:
    """What is reported about one thing: whether it is *lost*, and *since* when; times in seconds of CLOCK_BOOTTIME.

    *differs* is since when it is seen otherwise than reported, None while it is not.
    """

    lost: bool = False
    since: float | None = None
    differs: float | None = None

    def seen(self, now: float, patience: Patience, *, lost: bool) -> Condition:
        """Return the condition after a look at *now* that found it *lost* or not."""
        if lost is self.lost:
            return replace(self, differs=None)
        began = now if self.differs is None else self.differs
        if now - began < (patience.lost if lost else patience.back):
            return replace(self, differs=began)
        return Condition(lost, began if lost else None)

    def due(self, patience: Patience) -> float | None:
        """Return when to look again without an event; None: not before one."""
        if self.differs is None:
            return None
        return self.differs + (patience.back if self.lost else patience.lost)


FINE = Condition()


def until_asked(condition: Condition, now: float, seconds: float) -> float:
    """Return the seconds until that is asked again which was found in *condition*.

    What answers is asked at the next common time of timers with a period of *seconds*; *now* is the loop's time.
    """
    if condition.lost:
        return SILENT_SECONDS
    return until_common(now, seconds) if condition.differs is None else AGAIN_SECONDS


def has_carrier(links: Sequence[Link | None]) -> bool:
    """Return whether one of *links*, the uplinks, can carry packets; None is a link that does not exist."""
    return any(link is not None and link.up and link.carrier for link in links)


def carrier_problem(place: Place, names: Sequence[str], links: Sequence[Link | None], since: str) -> Problem:
    """Return the problem of uplinks *names*, none of which has a carrier *since* a time, in words."""
    what, remedy = no_carrier(place, names, links)
    return Problem(Message.UPLINK_LOST, f"{what}, since {since}", remedy)


def no_carrier(place: Place, names: Sequence[str], links: Sequence[Link | None]) -> tuple[str, str]:
    """Return why none of the uplinks *names* carries packets, and what to do."""
    role = f", the uplink of {place.link}," if len(names) == 1 and names[0] != place.link else ""
    if len(names) > 1:
        return f"{' and '.join(names)}, the uplinks of {place.link}, have no carrier", _CABLE
    if links[0] is None:
        return f"{names[0]}{role} does not exist", "Look for the driver or the device in `dmesg`"
    if not links[0].up:
        return f"{names[0]}{role} is down", f"`ip link set {names[0]} up`, or look who set it down"
    return f"{names[0]}{role} has no carrier", _CABLE


def claim_problem(claims: Mapping[IPAddress, Collection[str]], link: str, since: str) -> Problem:
    """Return the problem of other hosts that have claimed node IPs on *link* *since* a time, in words."""
    return Problem(Message.NODE_IP_CLAIMED, f"Another host on {link} says since {since}: {claimed(claims)}", FIND_HOST)


def claimed(claims: Mapping[IPAddress, Collection[str]]) -> str:
    """Return which other hosts have which node IPs."""
    return "; ".join(f"{' and '.join(sorted(macs))} has the node IP {address}" for address, macs in claims.items())


FIND_HOST = "Find the host (the switch knows the port of this MAC) and give it another address, or switch it off"
_CABLE = "Check the cable, the switch port and the other end of the link"


def gateway_problem(gateways: Sequence[Gateway], since: str) -> Problem:
    """Return the problem of *gateways*, which do not answer *since* a time, in words."""
    names = " and ".join(f"{each.address} on {each.link}" for each in gateways)
    kind = "gateway" if len(gateways) == 1 else "gateways"
    cause = f"No answer from the {kind} {names} since {since}"
    remedy = "Check the gateway and the way to it; `ip neigh` shows whether its link-layer address is known"
    if outside := [each for each in gateways if not each.on_subnet]:
        cause += f"; {outside[0].address} is in no subnet of {outside[0].link}"
        remedy = f"Correct the gateway, or the address and prefix length of {outside[0].link}"
    return Problem(Message.GATEWAY_SILENT, cause, remedy)


def route_problem(families: Collection[Family], link: str, since: str) -> Problem:
    """Return the problem of *families* without a default route *since* a time, in words; *link* has the node IPs."""
    names = " and ".join(str(family) for family in Family if family in families)
    cause = f"No default route for {names} any more since {since}"
    remedy = f"Look at `ip route`, `ip -6 route` and `journalctl -u NetworkManager`; `nmcli device reapply {link}` "
    return Problem(Message.ROUTE_LOST, cause, remedy + "restores the routes of its profile")


def cuts_off(problem: Problem | None) -> bool:
    """Return whether *problem* of the uplink is more than DNS servers that do not answer."""
    return problem is not None and problem.message is not Message.NAME_SERVERS_SILENT
