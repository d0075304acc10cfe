"""A node over fakes whose network is probed around an apply, and its time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from ipaddress import ip_address, ip_network

from fakes import FakeFiles, FakeKernel, FakeNeighbours, FakeProbe, FakeProfiles, FakeTargets
from nodenet.core.ip import IPAddress
from nodenet.core.kernel.snapshot import Address, Link, NextHop, Route, Snapshot
from nodenet.core.node_file.content import Desired
from nodenet.core.node_file.find import NodeFile
from nodenet.core.node_file.links import Links
from nodenet.core.probes.questions import Answer, Scope
from nodenet.core.settings.model import ProbeTarget
from nodenet.stages.apply.probes import ProbeEdges, Probes
from nodenet.stages.apply.probing import Probing
from virtual_time import VirtualLoop

GATEWAY, SERVER, NEW = (ip_address(f"192.0.2.{last}") for last in (1, 53, 5))
DEFAULT = Route(ip_network("0.0.0.0/0"), (NextHop("eth0", GATEWAY),))
ONLINE = Snapshot((Link(2, "eth0"),), (Address(ip_address("192.0.2.9"), 24, "eth0"),), (DEFAULT,))
OFFLINE = replace(ONLINE, routes=())
TARGET = ProbeTarget(ip_address("203.0.113.1"))
WISH = Desired(empty=False, links=Links(frozenset({"eth0"})), addresses=(("eth0", NEW),))
"""A file for eth0 with a new address."""
SECONDS = 15.0
RESOLV = {"/etc/resolv.conf": b"nameserver 192.0.2.53\n"}


def file(digest: str) -> NodeFile:
    return NodeFile("worker-0.yml", "", digest)


@dataclass
class SlowNeighbours(FakeNeighbours):
    """Neighbours that keep silent for as long as they may; some answer *late*, after so many seconds."""

    late: dict[IPAddress, float] = field(default_factory=dict)

    async def answers(self, address: IPAddress, link: str, seconds: float) -> bool:
        takes = self.late.get(address, 0.0)
        heard = await super().answers(address, link, seconds) and takes <= seconds
        await asyncio.sleep(takes if heard else seconds)
        return heard


@dataclass
class Rig:
    kernel: FakeKernel = field(default_factory=lambda: FakeKernel(ONLINE))
    neighbours: SlowNeighbours = field(default_factory=lambda: SlowNeighbours({GATEWAY}))
    servers: FakeProbe = field(default_factory=lambda: FakeProbe({SERVER}))
    targets: FakeTargets = field(default_factory=lambda: FakeTargets(Answer.YES))
    files: FakeFiles = field(default_factory=lambda: FakeFiles(dict(RESOLV)))
    profiles: FakeProfiles = field(default_factory=FakeProfiles)

    def __post_init__(self) -> None:
        edges = ProbeEdges(self.kernel, self.neighbours, self.servers, self.targets, self.files, self.profiles)
        self.probes = Probes(edges, Scope((TARGET,)), SECONDS)

    def around(self, digest: str = "d", *, proven: bool = False) -> Probing:
        return Probing(self.probes, file(digest), WISH, proven=proven)


def probed(probing: Probing, between: Callable[[], None] = lambda: None) -> Callable[[], Awaitable[None]]:
    """Return the probes before and after an apply, which is *between* them."""

    async def story() -> None:
        await probing.begin()
        between()
        await probing.accept()

    return story


def timed(story: Callable[[], Awaitable[None]]) -> float:
    """Run *story* on virtual time; return the seconds it took."""

    async def ran() -> float:
        loop = asyncio.get_running_loop()
        began = loop.time()
        await story()
        return loop.time() - began

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(ran())
