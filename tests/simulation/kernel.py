"""The kernel: links with their carrier, addresses, default routes, neighbours and settings of links."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, ip_network

from nodenet.core.kernel.snapshot import Address, AddressFlag, Link, NextHop, Route, Snapshot

ANYWHERE = ip_network("0.0.0.0/0")


@dataclass(slots=True)
class SimulatedLink:
    """A link; *addresses*: address → (prefix length, whether it was leased, who set it)."""

    index: int
    name: str
    mac: str
    kind: str | None = None
    carrier: bool = True
    addresses: dict[IPv4Address, tuple[int, bool, str]] = field(default_factory=dict)
    gateways: dict[IPv4Address, int] = field(default_factory=dict)
    """Gateway of a default route → metric."""
    sysctls: dict[str, str] = field(default_factory=dict)


class Kernel:
    """Changes call *changed*."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self.links: dict[str, SimulatedLink] = {}
        self.version = 0
        self._seen: tuple[int, Snapshot] | None = None
        self._next_index = 2
        self.nonlocal_bind = False

    def touch(self) -> None:
        self.version += 1
        self._changed()

    def add(self, name: str, mac: str, kind: str | None = None) -> SimulatedLink:
        link = SimulatedLink(self._next_index, name, mac, kind)
        self._next_index += 1
        self.links[name] = link
        self.touch()
        return link

    def remove(self, name: str) -> None:
        if self.links.pop(name, None):
            self.touch()

    def rename(self, old: str, new: str) -> None:
        link = self.links.pop(old)
        link.name = new
        self.links[new] = link
        self.touch()

    def set_carrier(self, name: str, *, present: bool) -> None:
        if (link := self.links.get(name)) and link.carrier is not present:
            link.carrier = present
            self.touch()

    def give(self, name: str, address: IPv4Address, prefix: int, *, leased: bool, who: str) -> None:
        if link := self.links.get(name):
            before = link.addresses.get(address)
            if before != (prefix, leased, who):
                link.addresses[address] = (prefix, leased, who)
                self.touch()

    def take(self, name: str, address: IPv4Address) -> None:
        if (link := self.links.get(name)) and link.addresses.pop(address, None):
            for gateway in [one for one in link.gateways if not _reaches(link, one)]:
                del link.gateways[gateway]
            self.touch()

    def route(self, name: str, gateway: IPv4Address, metric: int | None) -> None:
        """Set a default route, None: remove it."""
        link = self.links.get(name)
        if link is None or link.gateways.get(gateway) == metric:
            return
        if metric is None:
            del link.gateways[gateway]
        else:
            link.gateways[gateway] = metric
        self.touch()

    def flush(self, name: str, who: str) -> None:
        """Take away what *who* gave a link."""
        link = self.links.get(name)
        if link is None or not (link.addresses or link.gateways):
            return
        link.addresses = {address: known for address, known in link.addresses.items() if known[2] != who}
        link.gateways = {}
        self.touch()

    def held(self, name: str) -> frozenset[IPv4Address]:
        link = self.links.get(name)
        return frozenset(link.addresses) if link else frozenset()

    def place_of(self, address: object) -> str | None:
        return next((link.name for link in self.links.values() if address in link.addresses), None)

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
        addresses = [Address(IPv4Address("127.0.0.1"), 8, "lo")]
        routes = []
        for link in self.links.values():
            state = "UNKNOWN" if link.kind else "UP" if link.carrier else "DOWN"
            links.append(
                Link(link.index, link.name, kind=link.kind, carrier=link.carrier, operstate=state, mac=link.mac)
            )
            for address, (prefix, leased, _) in link.addresses.items():
                flags = frozenset({AddressFlag.DYNAMIC, AddressFlag.NO_PREFIX_ROUTE}) if leased else frozenset()
                life = 3600 if leased else None
                addresses.append(
                    Address(address, prefix, link.name, flags=flags, valid_lifetime=life, preferred_lifetime=life)
                )
                network = IPv4Network((int(address) >> (32 - prefix) << (32 - prefix), prefix))
                routes.append(Route(network, (NextHop(link.name),), 100, protocol="kernel"))
            routes += [
                Route(ANYWHERE, (NextHop(link.name, gateway),), metric, protocol="dhcp")
                for gateway, metric in link.gateways.items()
            ]
        return Snapshot(tuple(links), tuple(addresses), tuple(routes))


def _reaches(link: SimulatedLink, gateway: IPv4Address) -> bool:
    return any(
        int(gateway) >> (32 - prefix) == int(address) >> (32 - prefix)
        for address, (prefix, _, _) in link.addresses.items()
    )
