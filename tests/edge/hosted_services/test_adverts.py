"""Which VRRP advertisements are heard, between namespaces of the test's own."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import struct
from collections.abc import Iterator

import pytest

from edge.namespace import Namespace
from nodenet.core.hosted_services.packets import VRRP_PROTOCOL, Advert
from nodenet.core.ip import Family
from nodenet.edge.hosted_services import adverts

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("nsenter") or not shutil.which("ip"),
    reason="a network namespace needs root, nsenter and iproute2",
)
HOPS = {
    socket.AF_INET: (socket.IPPROTO_IP, socket.IP_TTL),
    socket.AF_INET6: (socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS),
}
LAST = 99


@pytest.fixture
def host() -> Iterator[Namespace]:
    """A host whose own address in each family sends to it."""
    made = Namespace()
    made.sysctl("net/ipv6/conf/default/accept_dad", 0)
    made.ip("link set lo up")
    yield made
    made.close()


def heard_of(family: socket.AddressFamily, to: str, sent: list[tuple[int, int]]) -> list[Advert]:
    """Return what is heard of advertisements, each sent with a router id and a hop limit."""
    found: list[Advert] = []
    known = Family.IPV6 if family == socket.AF_INET6 else Family.IPV4

    async def listen() -> None:
        last = asyncio.Event()

        def take(advert: Advert, heard_in: Family) -> None:
            assert heard_in is known
            found.append(advert)
            if advert.router_id == LAST:
                last.set()

        async with adverts.listen(take):
            with socket.socket(family, socket.SOCK_RAW, VRRP_PROTOCOL) as line:
                for router, hops in (*sent, (LAST, 255)):
                    line.setsockopt(*HOPS[family], hops)
                    line.sendto(struct.pack("!BBBBHH", 0x31, router, 40, 1, 100, 0) + bytes(16), (to, 0))
                async with asyncio.timeout(5):
                    await last.wait()

    asyncio.run(listen())
    return [advert for advert in found if advert.router_id != LAST]


@pytest.mark.parametrize(("family", "to"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_what_a_router_has_passed_on_is_not_heard(host: Namespace, family: socket.AddressFamily, to: str) -> None:
    """Any host of the Internet could say who holds a VIP (RFC 5798, 5.1.1.3 and 5.1.2.3)."""
    sent = [(1, 64), (2, 254), (3, 255)]
    assert host.call(lambda: heard_of(family, to, sent)) == [Advert(3, 40, 3, 1.0)]
