"""CoreDNS of this node: found, lost, and not believed where another user may answer."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from ipaddress import ip_address

from structlog.testing import capture_logs

from fakes import FakeProbe
from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services.upstreams import Place
from nodenet.core.kernel.sock_diag import Listening
from nodenet.stages.hosted_services.cluster_dns import ClusterDns

LOCAL, NODE_IP = ip_address("127.0.0.1"), ip_address("192.0.2.10")
PLACE = (LOCAL, 5354)


@dataclass
class FakeSockets:
    """UDP sockets: place → the users who have one there."""

    makers: dict[Place, set[int]] = field(default_factory=dict)
    broken: Unavailable | None = None

    def udp(self, ports: Collection[int]) -> tuple[Listening, ...]:
        if self.broken:
            raise self.broken
        return tuple(
            Listening(port, 1, address, uid=uid)
            for (address, port), users in self.makers.items()
            for uid in users
            if port in ports
        )


@dataclass
class Rig:
    """Servers that answer, and whose sockets they have."""

    probe: FakeProbe = field(default_factory=FakeProbe)
    sockets: FakeSockets = field(default_factory=FakeSockets)

    def __post_init__(self) -> None:
        self.dns = ClusterDns(self.probe, self.sockets, "c.example.com")

    def serve(self, place: Place, *users: int) -> None:
        self.probe.ports.add(place)
        self.sockets.makers[place] = set(users)

    async def look(self) -> bool:
        return await self.dns.look((LOCAL, NODE_IP))


async def test_registered_dead_and_back() -> None:
    rig = Rig()
    assert not await rig.look()
    rig.serve(PLACE, 0)
    assert await rig.look()
    assert rig.dns.place == PLACE
    assert not await rig.look()
    rig.probe.ports.clear()
    assert await rig.look()
    assert rig.dns.place is None
    rig.serve(PLACE, 0)
    assert await rig.look()
    assert rig.dns.place == PLACE


async def test_a_server_of_any_user_is_not_asked_and_is_named_once() -> None:
    """It would answer for pods and services of the cluster."""
    rig = Rig()
    rig.serve(PLACE, 1000)
    with capture_logs() as logs:
        for _ in range(3):
            assert not await rig.look()
    (entry,) = logs
    assert entry["event"] == (
        "A server on port 5354 of this node is not asked for names of c.example.com: "
        "user 1000 has a socket on 127.0.0.1, and only root's is believed"
    )


async def test_a_socket_of_a_user_beside_root_s_ends_the_trust() -> None:
    rig = Rig()
    rig.serve(PLACE, 0)
    await rig.look()
    rig.serve(PLACE, 0, 1000)
    assert await rig.look()
    assert rig.dns.place is None


async def test_the_server_on_another_address_is_found_when_the_first_one_is_not_root_s() -> None:
    rig = Rig()
    rig.serve(PLACE, 1000)
    rig.serve((NODE_IP, 5353), 0)
    assert await rig.look()
    assert rig.dns.place == (NODE_IP, 5353)


async def test_where_the_kernel_does_not_say_who_listens_none_is_asked() -> None:
    rig = Rig()
    rig.serve(PLACE, 0)
    await rig.look()
    rig.sockets.broken = Unavailable("the kernel does not list its sockets")
    assert await rig.look()
    assert rig.dns.place is None
