"""What of the uplink is lost after READY: carrier, address, gateway, name servers, a leg of a bond?"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Self

from nodenet.core.boot.outcome import Problem
from nodenet.core.ip import Family, IPAddress, family_of
from nodenet.core.kernel.snapshot import Link, Snapshot
from nodenet.core.messages import Message
from nodenet.core.since import until_common
from nodenet.core.uplink_health.watched import Gateway, Place, routed
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


BOND = "bond"


def notes(place: Place, names: Sequence[str], snapshot: Snapshot) -> tuple[str, ...]:
    """Return what an administrator should know of the legs of the uplinks *names* of *place*."""
    links = {link.name: link for link in snapshot.links}
    uplinks = [links[name] for name in names if name in links]
    found = [note for link in uplinks if link.kind == BOND for note in _note(link.name, _ports(link, snapshot))]
    return (*found, *_note(place.link, uplinks)) if len(uplinks) > 1 else tuple(found)


def _ports(bond: Link, snapshot: Snapshot) -> list[Link]:
    return [link for link in snapshot.links if link.master == bond.name]


def _note(name: str, legs: Sequence[Link]) -> Iterator[str]:
    lost = sorted(leg.name for leg in legs if not (leg.up and leg.carrier))
    if 0 < len(lost) < len(legs):
        have = "has" if len(lost) == 1 else "have"
        yield f"{name} runs on {len(legs) - len(lost)} of {len(legs)} ports: {' and '.join(lost)} {have} no carrier"


# When does the silence of DNS servers make the node degraded?
#
# A node needs DNS from the first answer that a DNS server of another host gave to this nodenetd. From then on it is a
# loss if none of the servers that are listed now answers, also where they are others than before, and if none is listed
# at all. A node that a server has never answered has lost nothing, and servers on the node itself are not asked.


@frozen
class DnsServers:
    """What is reported about the DNS servers, and what the last look found.

    *listed*: the servers of other hosts. *had*: those that have answered; once none of the list does, they are kept.
    """

    condition: Condition = FINE
    listed: tuple[IPAddress, ...] = ()
    had: tuple[IPAddress, ...] = ()

    def seen(self, now: float, listed: Sequence[IPAddress], answered: Collection[IPAddress], *, has_own: bool) -> Self:
        """Return what is known after a look at *now* (CLOCK_BOOTTIME), where *answered* of those *listed* answered.

        *has_own*: whether a server on the node is listed too.
        """
        lost = bool(self.had) and not answered and (bool(listed) or not has_own)
        had = tuple(each for each in listed if each in answered or each in self.had) if answered else self.had
        return type(self)(self.condition.seen(now, NAME_SERVER, lost=lost), tuple(listed), had)

    def unknown(self) -> Self:
        """Return what is known after a look that found no answer, where the network itself explains that."""
        return replace(self, condition=replace(self.condition, differs=None))

    def unwatched(self) -> Self:
        """Return what is known when nothing is watched any more: only what answered."""
        return type(self)(had=self.had)

    def problem(self, in_words: Callable[[float], str]) -> Problem | None:
        """Return what is reported, None where nothing is; *in_words* is a time as text."""
        if self.condition.since is None:
            return None
        since = f"since {in_words(self.condition.since)}"
        before = " and ".join(map(str, self.had))
        if not self.listed:
            cause, remedy = f"No DNS server is listed any more {since}; {before} answered before", _LIST_ONE
            return Problem(Message.NAME_SERVERS_SILENT, cause, remedy)
        silent = [each for each in self.listed if each in self.had] or list(self.listed)
        kind, them = ("DNS server", "it") if len(silent) == 1 else ("DNS servers", "them")
        cause = f"No answer from the {kind} {' and '.join(map(str, silent))} {since}"
        remedy = f"Check the {kind} and the way to {them}: `dig @{silent[0]} . NS`"
        if not set(silent) & set(self.had):
            cause += f"; {before} answered before and {'is' if len(self.had) == 1 else 'are'} not listed any more"
            remedy += "; or correct the addresses in the node file, the profile or the DHCP server"
        return Problem(Message.NAME_SERVERS_SILENT, cause, remedy)


_LIST_ONE = "List a DNS server that answers in the node file or the profile, or let the DHCP server offer one"


@frozen
class WayOut:
    """What is reported about gateways and default routes, and what the last look found.

    *had*: the families that had a default route; a node without one from the beginning needs none. *gone*: those that
    have none any more. *silent*: the gateways that did not answer.
    """

    gateways: Condition = FINE
    routes: Condition = FINE
    had: frozenset[Family] = frozenset()
    gone: frozenset[Family] = frozenset()
    silent: tuple[Gateway, ...] = ()

    @property
    def lost(self) -> bool:
        """Whether a loss is reported."""
        return self.gateways.lost or self.routes.lost

    def seen(self, now: float, place: Place, snapshot: Snapshot, silent: tuple[Gateway, ...]) -> Self:
        """Return what is known after a look at *now* (CLOCK_BOOTTIME), where the gateways *silent* did not answer.

        A family whose node IPs are gone needs no route: their loss is reported by itself.
        """
        here = frozenset(family_of(item.address) for item in snapshot.addresses if item.address in place.node_ips)
        present = routed(snapshot, place.families)
        if self.lost and not (here or present):
            return self  # the routes went with the node IPs: nothing is known to be back
        gone = (self.had - present) & here
        routes = self.routes.seen(now, ROUTE, lost=bool(gone))
        if self.gateways.lost and gone and not routes.lost:
            silent = silent or self.silent  # they have not answered: there is no route to ask over
        patience = KNOWN if self.routes.lost else GATEWAY
        gateways = self.gateways.seen(now, patience, lost=bool(silent))
        return type(self)(gateways, routes, self.had | present, gone, silent)

    def problem(self, link: str, in_words: Callable[[float], str]) -> Problem | None:
        """Return what is reported, None where nothing is; *link* has the node IPs, *in_words* is a time as text."""
        if self.routes.since is not None:
            return route_problem(self.gone, link, in_words(self.routes.since))
        return None if self.gateways.since is None else gateway_problem(self.silent, in_words(self.gateways.since))


def manager_away(in_words: Callable[[float], str], node_ips: Collection[IPAddress], snapshot: Snapshot) -> Problem:
    """Return the problem that NetworkManager is gone since now, with the end of the leases of *node_ips*.

    *in_words* is the time so many seconds from now, as people read it.
    """
    leases = [each for each in snapshot.addresses if each.address in node_ips and not each.is_permanent]
    ends = [
        f"the lease of {each.address} on {each.link} ends at {in_words(each.valid_lifetime or 0)}" for each in leases
    ]
    cause = "; ".join([f"NetworkManager has not run since {in_words(0)}", *ends])
    return Problem(
        Message.MANAGER_AWAY, cause, "Look at `journalctl -u NetworkManager`, then run `systemctl start NetworkManager`"
    )
