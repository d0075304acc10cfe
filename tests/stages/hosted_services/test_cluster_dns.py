"""CoreDNS of this node: found, lost, and not believed where another user may answer."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from ipaddress import ip_address

from structlog.testing import capture_logs

from fakes import FakeProbe
from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services.dnsmasq import Place
from nodenet.core.ip import Family, IPAddress
from nodenet.core.kernel.sock_diag import Listening
from nodenet.core.settings.model import ClusterDnsTrust
from nodenet.stages.hosted_services.node_dns import Asks, ClusterDns

LOCAL, NODE_IP = ip_address("127.0.0.1"), ip_address("192.0.2.10")
PLACE = (LOCAL, 5354)


SERVICE, CONTAINER = 11, 12
"""Control groups: of a service of systemd, and of a container."""


@dataclass
class FakeSockets:
    """UDP sockets: place → user and control group of each who has one there."""

    makers: dict[Place, set[tuple[int, int]]] = field(default_factory=dict)
    broken: Unavailable | None = None

    def udp(self, ports: Collection[int]) -> tuple[Listening, ...]:
        if self.broken:
            raise self.broken
        return tuple(
            Listening(port, group, address, uid=uid)
            for (address, port), users in self.makers.items()
            for uid, group in users
            if port in ports
        )

    def services(self) -> frozenset[int]:
        return frozenset({SERVICE})


@dataclass
class FakeNames:
    """What servers of this node answer: place → addresses of the name that only dnsmasq knows."""

    known: dict[Place, frozenset[IPAddress]] = field(default_factory=dict)

    async def addresses(
        self, server: IPAddress, name: str, family: Family, port: int | None = None
    ) -> frozenset[IPAddress]:
        assert name.startswith("nodenet-loop.")
        assert family is Family.IPV4
        return self.known.get((server, port or 53), frozenset())


@dataclass
class Rig:
    """Servers that answer, and whose sockets they have."""

    probe: FakeProbe = field(default_factory=FakeProbe)
    sockets: FakeSockets = field(default_factory=FakeSockets)
    names: FakeNames = field(default_factory=FakeNames)
    trust: ClusterDnsTrust = ClusterDnsTrust.SERVICE

    def __post_init__(self) -> None:
        self.dns = ClusterDns(Asks(self.probe, self.names, self.sockets), "c.example.com", self.trust)

    def serve(self, place: Place, *makers: tuple[int, int]) -> None:
        self.probe.ports.add(place)
        self.sockets.makers[place] = set(makers)

    async def look(self) -> bool:
        return await self.dns.look((LOCAL, NODE_IP))


async def test_registered_dead_and_back() -> None:
    rig = Rig()
    assert not await rig.look()
    rig.serve(PLACE, (53, SERVICE))
    assert await rig.look()
    assert rig.dns.place == PLACE
    assert not await rig.look()
    rig.probe.ports.clear()
    assert await rig.look()
    assert rig.dns.place is None
    rig.serve(PLACE, (53, SERVICE))
    assert await rig.look()
    assert rig.dns.place == PLACE


async def test_root_of_a_container_is_not_asked_and_is_named_once() -> None:
    """It has no capability, and answered names of the cluster for the whole node: images came from its address."""
    rig = Rig()
    rig.serve(PLACE, (0, CONTAINER))
    with capture_logs() as logs:
        for _ in range(3):
            assert not await rig.look()
    (entry,) = logs
    assert entry["event"] == (
        "A server on port 5354 of this node is not asked for names of c.example.com: "
        "a socket on 127.0.0.1, of user 0, is of no service of systemd"
    )
    allowed = Rig(trust=ClusterDnsTrust.ROOT)
    allowed.serve(PLACE, (0, CONTAINER))
    assert await allowed.look()
    allowed.serve(PLACE, (1000, CONTAINER))
    assert await allowed.look()
    assert allowed.dns.place is None, "a user is believed with no setting"


async def test_a_socket_beside_that_of_the_service_ends_the_trust() -> None:
    rig = Rig()
    rig.serve(PLACE, (53, SERVICE))
    await rig.look()
    rig.serve(PLACE, (53, SERVICE), (0, CONTAINER))
    assert await rig.look()
    assert rig.dns.place is None


async def test_the_server_on_another_address_is_found_when_the_first_one_is_not_believed() -> None:
    rig = Rig()
    rig.serve(PLACE, (1000, CONTAINER))
    rig.serve((NODE_IP, 5353), (53, SERVICE))
    assert await rig.look()
    assert rig.dns.place == (NODE_IP, 5353)


async def test_a_server_that_asks_this_nodes_dns_is_not_asked() -> None:
    """Each unknown name took four seconds and made a hundred questions (coredns#1712, kubernetes#71705)."""
    rig = Rig()
    rig.serve(PLACE, (53, SERVICE))
    rig.names.known[PLACE] = frozenset({LOCAL})
    with capture_logs() as logs:
        assert not await rig.look()
    assert "it asks this node's DNS, which would ask it" in logs[0]["event"]
    rig.names.known[PLACE] = frozenset({NODE_IP})
    assert await rig.look(), "a wildcard of its own is no loop"


async def test_where_the_kernel_does_not_say_who_listens_none_is_asked() -> None:
    rig = Rig()
    rig.serve(PLACE, (53, SERVICE))
    await rig.look()
    rig.sockets.broken = Unavailable("the kernel does not list its sockets")
    assert await rig.look()
    assert rig.dns.place is None
