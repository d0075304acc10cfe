"""The kernel as the daemon reaches it: snapshots, settings of links, neighbours, and events of the uplink."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from nodenet.core.errors import Unavailable
from nodenet.core.ip import IPAddress
from nodenet.core.kernel.neighbours import Neighbour
from nodenet.core.kernel.snapshot import Link, Snapshot
from nodenet.core.ownership.things import Kind, Thing
from simulation.disk import NO_DESCRIPTORS
from simulation.edge import Edge
from simulation.kernel import READ_ONLY
from simulation.keyfile import ip_address


@dataclass(slots=True)
class Sysctls(Edge):
    def _values(self, link: str) -> dict[str, str] | None:
        kernel = self.world.kernel
        if link == "default":
            return kernel.defaults
        found = kernel.links.get(link)
        return None if found is None else found.sysctls

    def of_link(self, link: str) -> dict[str, str]:
        return dict(self._values(link) or {})

    def read(self, link: str, name: str) -> str | None:
        return (self._values(link) or {}).get(name)

    def write(self, link: str, values: Mapping[str, str]) -> tuple[str, ...]:
        self.life.step("sysctls.write")
        own = self._values(link)
        if own is None:
            raise Unavailable(f"there is no link {link}")
        changed = tuple(name for name, value in values.items() if own.get(name) != value)
        if READ_ONLY in changed:
            raise Unavailable(f"{READ_ONLY} of {link} cannot be written: Operation not permitted")
        own.update(values)
        return changed


@dataclass(slots=True)
class Neighbours(Edge):
    async def answers(self, address: IPAddress, link: str, seconds: float) -> bool:
        await self.life.cross("neighbours.answers", 0.001)
        until = self.world.now + seconds
        while True:
            segment = self.world.segment_of(link)
            if segment is not None and segment.answers(address):
                return True
            if self.world.now >= until:
                return False
            await self.life.cross("neighbours.asks", min(0.5, max(until - self.world.now, 0.01)))

    def known(self, link: str) -> tuple[Neighbour, ...]:  # noqa: ARG002
        return ()

    def learn(self, link: str, neighbours: Iterable[Neighbour]) -> None:
        pass

    def announce(self, link: str, addresses: Iterable[IPAddress]) -> None:  # noqa: ARG002
        self.life.step("neighbours.announce")


@dataclass(slots=True)
class KernelEdge(Edge):
    def snapshot(self) -> Snapshot:
        self.life.step("kernel.snapshot")
        if self.world.kernel_silent or self.world.disk.closed:
            why = NO_DESCRIPTORS if self.world.disk.closed else "No buffer space available"
            raise Unavailable(f"the kernel does not answer: {why}")
        return self.world.kernel.snapshot()

    def can_bind(self, address: IPAddress, link_index: int) -> bool:  # noqa: ARG002
        return self.world.kernel.nonlocal_bind or self.world.kernel.usable(address)

    def set_up(self, link: str) -> None:
        self.life.step("kernel.set_up")
        self.world.set_link(link, up=True)


@dataclass(slots=True)
class StandingEdge(Edge):
    def noted(self) -> tuple[Thing, ...]:
        self.life.step("standing.noted")
        if self.world.kernel_silent or self.world.disk.closed:
            raise Unavailable("the kernel does not answer")
        found = []
        for link in self.world.kernel.links.values():
            theirs = [address for address, (_, _, who) in link.addresses.items() if who in ("ovn", "keepalived")]
            found += [Thing(Kind.ADDRESS, link.name, (str(one),)) for one in theirs]
            found += [Thing(Kind.ROUTE, link.name, (one, "", "254", "0")) for one in sorted(link.routes)]
        return tuple(found)

    def take(self, things: Iterable[Thing]) -> None:
        self.life.step("standing.take")
        for thing in things:
            link = self.world.kernel.links.get(thing.link)
            if link and thing.kind is Kind.ROUTE:
                link.routes.discard(thing.name[0])
            elif link:
                self.world.kernel.take(thing.link, ip_address(thing.name[0]))

    def put(self, things: Iterable[Thing]) -> tuple[tuple[Thing, str], ...]:
        self.life.step("standing.put")
        for thing in things:
            link = self.world.kernel.links.get(thing.link)
            if link and thing.kind is Kind.ROUTE:
                link.routes.add(thing.name[0])
            elif link:
                self.world.kernel.give(thing.link, ip_address(thing.name[0]), 17, leased=False, who="ovn")
        return ()


@dataclass(slots=True)
class UplinkLinks(Edge):
    def link(self, name: str) -> Link | None:
        self.life.step("links.link")
        return next((link for link in self.world.kernel.snapshot().links if link.name == name), None)

    def listen(self, names: Sequence[str], changed: Callable[[], None], unrouted: Callable[[], None]) -> None:  # noqa: ARG002  (routes are looked at once a minute)
        self.life.step("links.listen")
        if self.world.listeners:
            self.world.listeners.link = changed

    def close(self) -> None:
        if self.life.alive and self.world.listeners:
            self.world.listeners.link = None
