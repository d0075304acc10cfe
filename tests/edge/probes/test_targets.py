"""Who answers behind a router, between three namespaces of the test's own."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import ssl
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path

import pytest

from edge.namespace import PATIENCE_SECONDS, Namespace
from nodenet.core.ip import IPAddress
from nodenet.core.probes.questions import Answer
from nodenet.core.settings.model import ProbeTarget
from nodenet.edge.probes.https_request import CONNECT_SECONDS
from nodenet.edge.probes.targets import Targets
from tls_certificates import certificate

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("nsenter") or not shutil.which("ip"),
    reason="a network namespace needs root, nsenter and iproute2",
)
FAR4, FAR6, NOBODY = ip_address("198.51.100.1"), ip_address("2001:db8:1::1"), ip_address("198.51.100.9")
PORT = 6443
SHORT = 1.0
LONGER = 3.0
"""The first ARP request on a new link may be lost; the kernel repeats it after a second."""


@pytest.fixture
def sides() -> Iterator[tuple[Namespace, Namespace]]:
    """The node, and a router that has the targets too."""
    here, there = Namespace(), Namespace()
    try:
        for side in (here, there):
            side.sysctl("net/ipv6/conf/default/accept_dad", 0)
        here.sysctl("net/ipv4/ping_group_range", "0 0")
        here.ip(
            f"link add eth0 type veth peer name far0 netns {there._holder.pid}",
            "address add 192.0.2.5/24 dev eth0",
            "address add 2001:db8::5/64 dev eth0",
            "link set eth0 up",
        )
        there.ip(
            "link set lo up",
            "address add 192.0.2.1/24 dev far0",
            "address add 2001:db8::1/64 dev far0",
            f"address add {FAR4}/32 dev lo",
            f"address add {FAR6}/128 dev lo",
            "link set far0 up",
        )
        here.ip("route add default via 192.0.2.1", "-6 route add default via 2001:db8::1")
        yield here, there
    finally:
        here.close()
        there.close()


def answer(node: Namespace, address: IPAddress, port: int | None = None, seconds: float = PATIENCE_SECONDS) -> Answer:
    return node.call(lambda: asyncio.run(Targets().answers(ProbeTarget(address, port), seconds)))


@pytest.mark.parametrize("address", [FAR4, FAR6], ids=str)
def test_a_host_answers_small_and_large_pings(sides: tuple[Namespace, Namespace], address: IPAddress) -> None:
    assert answer(sides[0], address) is Answer.YES


@pytest.mark.parametrize("address", [FAR4, FAR6], ids=str)
def test_large_packets_vanish(sides: tuple[Namespace, Namespace], address: IPAddress) -> None:
    """The node sends more than the other end takes, as with jumbo frames on a switch that has none."""
    here, there = sides
    here.ip("link set eth0 mtu 9000")
    there.ip("link set far0 mtu 1500")
    assert answer(here, address, seconds=LONGER) is Answer.SMALL


def test_a_router_that_reports_the_path_mtu_is_an_answer(sides: tuple[Namespace, Namespace]) -> None:
    """Path MTU discovery works, so connections do."""
    here, there = sides
    third = Namespace()
    try:
        there.sysctl("net/ipv4/ip_forward", 1)
        there.ip(
            f"link add near1 mtu 1400 type veth peer name host1 netns {third._holder.pid}",
            "address add 203.0.113.1/24 dev near1",
            "link set near1 up",
        )
        third.ip(
            "address add 203.0.113.5/24 dev host1",
            "link set host1 up",
            "route add default via 203.0.113.1",
        )
        assert answer(here, ip_address("203.0.113.5")) is Answer.YES
    finally:
        third.close()


def test_nobody_answers(sides: tuple[Namespace, Namespace]) -> None:
    """Without a route neither."""
    here, _ = sides
    assert answer(here, NOBODY, seconds=SHORT) is Answer.NO
    assert answer(here, NOBODY, PORT, seconds=SHORT) is Answer.NO
    here.ip("route del default")
    assert answer(here, FAR4, seconds=SHORT) is Answer.NO


def test_a_node_that_may_not_ping_knows_nothing(sides: tuple[Namespace, Namespace]) -> None:
    """The kernel's default excludes every group."""
    sides[0].sysctl("net/ipv4/ping_group_range", "1 0")
    assert answer(sides[0], FAR4) is Answer.UNKNOWN


def test_a_port_that_is_open_and_one_that_is_not(sides: tuple[Namespace, Namespace]) -> None:
    here, there = sides
    assert answer(here, FAR4, PORT, seconds=SHORT) is Answer.NO
    server = there.call(lambda: socket.create_server((str(FAR4), PORT)))
    with server:
        assert answer(here, FAR4, PORT) is Answer.YES


HERE = ip_address("127.0.0.1")


async def served(
    tmp_path: Path, said: bytes, ca_file: Path | None = None, *, after: float = 0.0
) -> tuple[Answer, bytes]:
    """Return what an HTTPS server gives that answers *said* *after* some seconds, and the line that it was asked.

    Its certificate is one of the CA for another name than its address; *ca_file*: instead of that CA.
    """
    ca, ca_key = certificate(tmp_path, "ca", expired=False)
    made, key = certificate(tmp_path, "api-int.c", expired=False, signed=("-CA", ca, "-CAkey", ca_key))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(made, key)
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[0])
        await asyncio.sleep(after)
        writer.write(said)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, str(HERE), 0, ssl=tls) as server:
        target = ProbeTarget(HERE, server.sockets[0].getsockname()[1], "/readyz", str(ca_file or ca))
        found = await Targets().answers(target, LONGER + 5 * after if said.startswith(b"HTTP/1.1 2") else SHORT)
    return found, asked[0] if asked else b""


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (b"HTTP/1.1 200 OK\r\n", Answer.YES),
        (b"HTTP/1.1 401 Unauthorized\r\n", Answer.YES),
        (b"HTTP/1.1 503 Service Unavailable\r\n", Answer.NO),
        (b"", Answer.NO),
        (b"SSH-2.0-x 200 x\r\n", Answer.NO),
        (b"HTTP/1.1 \xb2\r\n", Answer.NO),
        (b"x" * 5000, Answer.NO),
    ],
    ids=range(7),
)
async def test_an_https_server_answers_with_any_status_but_an_error_of_its_own(
    tmp_path: Path, said: bytes, expected: Answer
) -> None:
    assert await served(tmp_path, said) == (expected, b"GET /readyz HTTP/1.1")


async def test_an_https_server_may_take_the_time_that_is_given(tmp_path: Path) -> None:
    """More than a connection may take: one that is busy with its boot, or far away."""
    found, _ = await served(tmp_path, b"HTTP/1.1 200 OK\r\n", after=CONNECT_SECONDS + 0.2)
    assert found is Answer.YES


async def test_an_https_server_of_another_ca_is_no_answer(tmp_path: Path) -> None:
    other, _ = certificate(tmp_path, "other", expired=False)
    assert await served(tmp_path, b"HTTP/1.1 200 OK\r\n", other) == (Answer.NO, b"")


async def test_without_the_ca_an_https_server_cannot_be_asked(tmp_path: Path) -> None:
    """It may come later: kubelet's configuration brings it to some nodes."""
    assert await served(tmp_path, b"HTTP/1.1 200 OK\r\n", tmp_path / "none") == (Answer.UNKNOWN, b"")


async def test_nobody_serves(tmp_path: Path) -> None:
    ca, _ = certificate(tmp_path, "ca", expired=False)
    assert await Targets().answers(ProbeTarget(HERE, 1, "/", str(ca)), SHORT) is Answer.NO
