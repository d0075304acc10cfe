"""The kernel as the daemon reaches it: snapshots, settings of links, neighbours, and events of the uplink."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from nodenet.core.errors import Unavailable
from nodenet.core.ip import IPAddress
from nodenet.core.kernel.neighbours import Neighbour
from nodenet.core.kernel.snapshot import Link, Snapshot
from simulation.disk import NO_DESCRIPTORS
from simulation.edge import Edge
from simulation.kernel import READ_ONLY


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
