"""Lessons for the node's DNS: what users of such stacks have reported, against the real dnsmasq.

Each test names where the problem was reported in public.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path

import pytest

from edge.bus.test_connection import quiet, running
from edge.hosted_services.lesson_world import cluster, end, need, until
from edge.namespace import Namespace
from edge.private_bus import PrivateBus
from nodenet.core.hosted_services import dnsmasq
from nodenet.core.hosted_services.model import Here, Service
from nodenet.core.hosted_services.plan import plan
from nodenet.core.ip import IPAddress
from nodenet.edge.hosted_services.servers import Dnsmasq

UNIT = Path(__file__).parents[3] / "units" / "nodenet-dnsmasq.service"
A, AAAA, MX, HTTPS = 1, 28, 15, 65
NXDOMAIN, SERVFAIL, REFUSED, NOERROR = 3, 2, 5, 0
INTERNAL, PUBLIC, DEAD = "127.0.0.31", "127.0.0.32", "127.0.0.33"
SERVER = """
import socket, sys, threading, time
address, known, pause, code = sys.argv[1], sys.argv[2].encode(), float(sys.argv[3]), int(sys.argv[4])
line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
line.bind((address, 53))
def answer(query, sender):
    time.sleep(30 if b"slow" in query else pause)
    if known in query:
        line.sendto(query[:2] + bytes.fromhex("85800001000100000000") + strip(query), sender)
    else:
        head = query[:2] + bytes([0x85, 0x80 | code]) + bytes.fromhex("0001000000000000")
        line.sendto(head + question(query), sender)
def question(query):
    place = 12
    while query[place]:
        place += query[place] + 1
    return query[12:place + 5]
def strip(query):
    return question(query) + b"\\xc0\\x0c" + bytes.fromhex("00010001000000010004") + socket.inet_aton("192.0.2.77")
while True:
    query, sender = line.recvfrom(4096)
    threading.Thread(target=answer, args=(query, sender), daemon=True).start()
"""


class DnsWorld:
    """A node's dnsmasq with nodenet's configuration, and DNS servers of the site, in one namespace."""

    def __init__(self, directory: Path, bus: PrivateBus) -> None:
        self.space = Namespace()
        self.space.ip("link set lo up")
        self.bus = bus
        self.inputs = replace(cluster(3)[0], here=Here("m0"))  # it answers on the loopback address alone
        made = plan(self.inputs)
        hosts = directory / "hosts"
        hosts.write_text(made.hosts)
        text = made.texts[Service.DNSMASQ].replace(dnsmasq.HOSTS, str(hosts))
        further = asyncio.run(Dnsmasq(quiet(bus.address), lambda: None).further())
        (directory / "dnsmasq.conf").write_text(text + further + "user=root\n")
        start = re.search(r"^ExecStart=(.*)$", UNIT.read_text(), re.MULTILINE)
        assert start
        command = start[1].replace("/run/nodenet/hosted", str(directory)).split()
        environment = {**os.environ, "DBUS_SYSTEM_BUS_ADDRESS": bus.address}
        given = [*self.space._prefix, *command]
        self.programs = [subprocess.Popen(given, env=environment, stderr=subprocess.DEVNULL)]

    def serve(self, address: str, *, knows: str, pause: float = 0.0, code: int = NXDOMAIN) -> None:
        """Start a DNS server that knows one name and denies all others."""
        script = [sys.executable, "-c", SERVER, address, knows, str(pause), str(code)]
        self.programs.append(subprocess.Popen([*self.space._prefix, *script]))

    def use(self, *servers: str, cluster_dns: tuple[IPAddress, int] | None = None) -> None:
        """Let dnsmasq ask these servers, as nodenetd does."""
        wanted = dnsmasq.servers(map(ip_address, servers), cluster_dns, self.inputs)

        async def set_servers() -> None:
            bus = quiet(self.bus.address)
            ours = Dnsmasq(bus, lambda: None)
            async with running(bus):
                assert await bus.wait_up(5)
                async with asyncio.timeout(10):
                    while await ours.owner() is None:
                        await asyncio.sleep(0.02)
                await ours.set_servers(wanted)

        asyncio.run(set_servers())

    def ask(self, name: str, kind: int = A, seconds: float = 6.0) -> tuple[int, int]:
        """Return code and number of answers. Raises TimeoutError."""
        return self.space.call(lambda: asked(name, kind, seconds))

    def close(self) -> None:
        for program in self.programs:
            end(program)
        self.space.close()


def query(name: str, kind: int) -> bytes:
    labels = b"".join(bytes([len(one)]) + one.encode() for one in name.split("."))
    return struct.pack("!6H", 4711, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack("!2H", kind, 1)


def asked(name: str, kind: int, seconds: float) -> tuple[int, int]:
    """Ask as a resolver does, again after each second."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.settimeout(1)
        deadline = time.monotonic() + seconds
        while True:
            line.sendto(query(name, kind), ("127.0.0.1", 53))
            try:
                answer = line.recv(4096)
            except (TimeoutError, ConnectionError):
                if time.monotonic() > deadline:
                    raise
                continue
            return answer[3] & 0x0F, int.from_bytes(answer[6:8])


@pytest.fixture
def world(tmp_path: Path, private_bus: PrivateBus) -> Iterator[DnsWorld]:
    need("dnsmasq", "dbus-daemon")
    with closing(DnsWorld(tmp_path, private_bus)) as made:
        yield made


def test_the_first_server_is_asked_first(world: DnsWorld) -> None:
    """The second server denied names of the first one (machine-config-operator#1527, #2122)."""
    world.serve(INTERNAL, knows="registry", pause=0.015)
    world.serve(PUBLIC, knows="quay")
    world.use(INTERNAL, PUBLIC)
    until(lambda: world.ask("first.site.example") == (NXDOMAIN, 0), "the servers")
    codes = [world.ask(f"registry{number}.site.example") for number in range(40)]
    assert codes == [(NOERROR, 1)] * 40


@pytest.mark.parametrize("code", [SERVFAIL, REFUSED])
def test_a_first_server_that_refuses_costs_no_name(world: DnsWorld, code: int) -> None:
    """With the order kept, the next server is asked where the first one cannot answer."""
    world.serve(INTERNAL, knows="nothing", code=code)
    world.serve(PUBLIC, knows="registry")
    world.use(INTERNAL, PUBLIC)
    until(lambda: world.ask("registry.site.example") == (NOERROR, 1), "an answer of the second one")


def test_a_first_server_that_is_dead_costs_one_retry(world: DnsWorld) -> None:
    """As with resolv.conf: the client asks again, and the second server answers (resolv.conf(5), timeout)."""
    world.serve(PUBLIC, knows="registry")
    world.space.ip(f"route add blackhole {DEAD}/32")
    world.use(DEAD, PUBLIC)

    assert world.ask("registry.site.example") == (NOERROR, 1)


@pytest.mark.parametrize("kind", [AAAA, MX, HTTPS])
def test_the_names_of_nodes_need_no_other_server(world: DnsWorld, kind: int) -> None:
    """AAAA of a node was forwarded: 15 s a lookup while the site's DNS is away (coredns/coredns, plugin hosts)."""
    world.space.ip(f"route add blackhole {DEAD}/32")
    world.use(DEAD)
    began = time.monotonic()
    for name in ("m1.c1.example.com", "api-int.c1.example.com"):
        assert world.ask(name, A)[0] == NOERROR
        assert world.ask(name, kind) == (NOERROR, 0), name
    assert time.monotonic() - began < 2


def test_other_names_of_the_clusters_domain_are_still_asked_for(world: DnsWorld) -> None:
    world.serve(INTERNAL, knows="bastion")
    world.use(INTERNAL)
    until(lambda: world.ask("bastion.c1.example.com") == (NOERROR, 1), "an answer of the site's server")
    assert world.ask("m1.c1.example.com") == (NOERROR, 1)


def test_two_hundred_questions_without_an_answer_stop_no_other(world: DnsWorld) -> None:
    """One pod that asks for a domain whose servers are away (kubespray#922, kubernetes#45976)."""
    world.serve(INTERNAL, knows="registry")
    world.use(INTERNAL)
    until(lambda: world.ask("registry.site.example") == (NOERROR, 1), "the servers")

    def flood() -> list[socket.socket]:
        lines = []
        for number in range(200):
            line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            line.sendto(query(f"slow-{number}.site.example", A), ("127.0.0.1", 53))
            lines.append(line)
        return lines

    lines = world.space.call(flood)
    time.sleep(0.5)
    try:
        assert world.ask("registry.other.example") == (NOERROR, 1)
    finally:
        for line in lines:
            line.close()


def silent(count: int) -> Sequence[socket.socket]:
    return [socket.create_connection(("127.0.0.1", 53), 5) for _ in range(count)]


def test_idle_connections_by_tcp_do_not_end_tcp(world: DnsWorld) -> None:
    """Twenty idle connections of one pod stopped DNS by TCP for all (dnsmasq(8), ``max-tcp-connections``)."""
    world.use(INTERNAL)
    lines = world.space.call(lambda: silent(25))
    try:
        assert len(world.space.call(asked_by_tcp)) > 12
    finally:
        for line in lines:
            line.close()


def asked_by_tcp() -> bytes:
    with socket.create_connection(("127.0.0.1", 53), 5) as line:
        line.settimeout(5)
        text = query("api-int.c1.example.com", A)
        line.sendall(struct.pack("!H", len(text)) + text)
        return line.recv(4096)
