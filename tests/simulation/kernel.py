"""The kernel: links with their carrier, addresses and the check for duplicates, default routes, settings of links."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, lru_cache
from ipaddress import IPv4Address, ip_network

from nodenet.core.ip import IPAddress, IPNetwork
from nodenet.core.kernel.snapshot import Address, AddressFlag, Link, NextHop, Route, Snapshot
from nodenet.stages.br_ex.duplicate_checks import ACCEPT_DAD

ANYWHERE = {4: ip_network("0.0.0.0/0"), 6: ip_network("::/0")}
USUAL_MTU = 1500
BITS = {4: 32, 6: 128}
LOOPBACK = IPv4Address("127.0.0.1")
DAD_SECONDS = 1.2
"""Duplicate address detection of IPv6: a random delay and one probe (RFC 4862 section 5.4)."""
READ_ONLY = "net/ipv4/conf/mc_forwarding"
"""Set by multicast routers only (ip-sysctl of the kernel)."""
FORWARDING = "net/ipv4/conf/forwarding"
DEFAULTS = {FORWARDING: "0", READ_ONLY: "0", ACCEPT_DAD: "1"}


@dataclass(slots=True)
class SimulatedLink:
    """A link; *addresses*: address → (prefix length, whether it was leased, who set it).

    *below*: the links that a bond or a VLAN is over.
    """

    index: int
    name: str
    mac: str
    kind: str | None = None
    carrier: bool = True
    plugged: bool = True
    """Whether a NIC has its cable; it has a carrier while it is *up*, too."""
    up: bool = True
    addresses: dict[IPAddress, tuple[int, bool, str]] = field(default_factory=dict)
    tentative: set[IPAddress] = field(default_factory=set)
    gateways: dict[IPAddress, int] = field(default_factory=dict)
    """Gateway of a default route → metric."""
    routes: set[str] = field(default_factory=set)
    """Destinations of the routes of other programs."""
    sysctls: dict[str, str] = field(default_factory=dict)
    below: list[str] = field(default_factory=list)
    master: str | None = None
    mtu: int = USUAL_MTU


class Kernel:
    """Changes call *changed*; *later* lets something happen after some seconds, unless the power is cut.

    *ended* is called with what the end of a check for duplicates does.
    """

    def __init__(
        self,
        changed: Callable[[], None],
        later: Callable[[float, Callable[[], None]], None],
        ended: Callable[[Callable[[], None]], None],
    ) -> None:
        self._ended = ended
        self._changed = changed
        self._later = later
        self.links: dict[str, SimulatedLink] = {}
        self.defaults = dict(DEFAULTS)
        """The settings of links to come."""
        self.version = 0
        self._seen: tuple[int, Snapshot] | None = None
        self._next_index = 2
        self.nonlocal_bind = False

    def touch(self) -> None:
        self.version += 1
        self._changed()

    def boot(self) -> None:
        self.links.clear()
        self.defaults = dict(DEFAULTS)

    def add(self, name: str, mac: str, kind: str | None = None, below: tuple[str, ...] = ()) -> SimulatedLink:
        link = SimulatedLink(self._next_index, name, mac, kind, below=list(below))
        link.sysctls = self.defaults | ({READ_ONLY: "1", FORWARDING: "1"} if kind is None else {})
        self._next_index += 1
        self.links[name] = link
        self._carry(link)
        self.touch()
        return link

    def remove(self, name: str) -> None:
        if self.links.pop(name, None):
            self.touch()

    def set_carrier(self, name: str, *, present: bool) -> None:
        if link := self.links.get(name):
            link.plugged = present
            self._set_carrier(link)

    def set_up(self, name: str, *, up: bool) -> None:
        """Set a NIC up or down, which costs it its routes and its IPv6 addresses (ip-link(8))."""
        if (link := self.links.get(name)) and link.up is not up:
            link.up = up
            if not up:
                link.gateways.clear()
                for address in [one for one in link.addresses if one.version == 6]:
                    self.take(name, address)
            self._set_carrier(link)
            self.touch()

    def set_mtu(self, name: str, mtu: int) -> None:
        if self.links[name].mtu != mtu:
            self.links[name].mtu = mtu
            self.touch()

    def _set_carrier(self, link: SimulatedLink) -> None:
        if link.carrier is not (link.plugged and link.up):
            link.carrier = link.plugged and link.up
            for above in self.links.values():
                self._carry(above)
            self.touch()

    def _carry(self, link: SimulatedLink) -> None:
        """Give a bond or VLAN the carrier of what is below it."""
        if link.kind in ("bond", "vlan"):
            below = (self.links.get(name) for name in link.below)
            link.carrier = any(one.carrier for one in below if one)

    def enslave(self, name: str, bond: str) -> bool:
        """Make a NIC the port of a bond; return whether there are both."""
        link, above = self.links.get(name), self.links.get(bond)
        if link is None or above is None:
            return False
        link.master = bond
        above.below = sorted({*above.below, name})
        self._carry(above)
        self.touch()
        return True

    def free(self, name: str) -> None:
        link = self.links.get(name)
        above = self.links.get(link.master) if link and link.master else None
        if link is None or above is None:
            return
        link.master = None
        above.below.remove(name)
        self._carry(above)
        self.touch()

    def give(self, name: str, address: IPAddress, prefix: int, *, leased: bool, who: str) -> None:
        if link := self.links.get(name):
            before = link.addresses.get(address)
            if before != (prefix, leased, who):
                link.addresses[address] = (prefix, leased, who)
                if before is None and address.version == 6 and link.sysctls[ACCEPT_DAD] != "0":
                    link.tentative.add(address)
                    self._later(DAD_SECONDS, lambda: self._ended(lambda: self._is_unique(link, address)))
                self.touch()

    def _is_unique(self, link: SimulatedLink, address: IPAddress) -> None:
        if address in link.tentative:
            link.tentative.discard(address)
            self.touch()

    def take(self, name: str, address: IPAddress) -> None:
        if (link := self.links.get(name)) and link.addresses.pop(address, None):
            link.tentative.discard(address)
            for gateway in [one for one in link.gateways if not _reaches(link, one)]:
                del link.gateways[gateway]
            self.touch()

    def route(self, name: str, gateway: IPAddress, metric: int | None) -> None:
        """Set a default route, None: remove it."""
        link = self.links.get(name)
        if link is None or link.gateways.get(gateway) == metric:
            return
        if metric is None:
            del link.gateways[gateway]
        else:
            link.gateways[gateway] = metric
        self.touch()

    def strip(self, name: str) -> None:
        """Take away what other programs have put on a link, as NetworkManager does that activates a profile there."""
        link = self.links.get(name)
        for address in [one for one, known in link.addresses.items() if known[2] == "ovn"] if link else ():
            self.take(name, address)
        if link and link.routes:
            link.routes.clear()
            self.touch()

    def flush(self, name: str, who: str) -> None:
        """Take away what *who* gave a link."""
        link = self.links.get(name)
        if link is None or not (link.addresses or link.gateways):
            return
        link.addresses = {address: known for address, known in link.addresses.items() if known[2] != who}
        link.tentative &= link.addresses.keys()
        link.gateways = {}
        self.touch()

    def held(self, name: str) -> frozenset[IPAddress]:
        link = self.links.get(name)
        return frozenset(link.addresses) if link else frozenset()

    def place_of(self, address: object) -> str | None:
        return next((link.name for link in self.links.values() if address in link.addresses), None)

    def usable(self, address: object) -> bool:
        """Whether a server can listen on *address*: it is there, and known to be unique."""
        return any(address in link.addresses and address not in link.tentative for link in self.links.values())

    def usable_addresses(self) -> frozenset[IPAddress]:
        """Return all of those."""
        return frozenset(address for link in self.links.values() for address in link.addresses.keys() - link.tentative)

    @property
    def has_network(self) -> bool:
        """Whether some link can send: with carrier and an address that a configuration gave it."""
        return any(
            link.carrier and any(who == "nm" for _, _, who in link.addresses.values()) for link in self.links.values()
        )

    def snapshot(self) -> Snapshot:
        if self._seen is None or self._seen[0] != self.version:
            self._seen = self.version, self._snapshot()
        return self._seen[1]

    def _snapshot(self) -> Snapshot:
        links = [Link(1, "lo", loopback=True, mac="00:00:00:00:00:00")]
        addresses = [Address(LOOPBACK, 8, "lo")]
        routes: list[Route] = []
        for link in self.links.values():
            links.append(_seen(link))
            for address, (prefix, leased, _) in link.addresses.items():
                flags = _flags(leased=leased, tentative=address in link.tentative)
                life = 3600 if leased else None
                addresses.append(
                    Address(address, prefix, link.name, flags=flags, valid_lifetime=life, preferred_lifetime=life)
                )
                protocol = "ra" if leased and address.version == 6 else "kernel"
                routes.append(Route(_network(address, prefix), (NextHop(link.name),), 100, protocol=protocol))
            routes += [
                Route(ANYWHERE[gateway.version], (NextHop(link.name, gateway),), metric, protocol="dhcp")
                for gateway, metric in link.gateways.items()
            ]
        return Snapshot(tuple(links), tuple(addresses), tuple(routes))


def _seen(link: SimulatedLink) -> Link:
    state = "UNKNOWN" if link.kind == "openvswitch" else "UP" if link.carrier else "DOWN"
    return Link(
        link.index,
        link.name,
        kind=link.kind,
        up=link.up,
        carrier=link.carrier,
        operstate=state,
        mac=link.mac,
        master=link.master,
        mtu=link.mtu,
    )


@cache
def _flags(*, leased: bool, tentative: bool) -> frozenset[AddressFlag]:
    flags = {AddressFlag.DYNAMIC, AddressFlag.NO_PREFIX_ROUTE} if leased else set()
    return frozenset(flags | ({AddressFlag.TENTATIVE} if tentative else set()))


@lru_cache(maxsize=1024)
def _network(address: IPAddress, prefix: int) -> IPNetwork:
    return ip_network((address, prefix), strict=False)


def _reaches(link: SimulatedLink, gateway: IPAddress) -> bool:
    if gateway.is_link_local:
        return any(address.version == gateway.version for address in link.addresses)
    shift = BITS[gateway.version]
    return any(
        address.version == gateway.version and int(gateway) >> (shift - prefix) == int(address) >> (shift - prefix)
        for address, (prefix, _, _) in link.addresses.items()
    )
