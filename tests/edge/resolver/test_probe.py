"""The probe of a DNS server, against real sockets on the loopback."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import socket
import subprocess
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path

import pytest

from nodenet.edge.resolver import ResolverProbe

LOOPBACK = ip_address("127.0.0.1")
REST = bytes(8)


@contextlib.contextmanager
def listening() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.bind((str(LOOPBACK), 0))
        made.setblocking(False)
        yield made


async def probe(server: socket.socket, answer: bytes | None, name: str = "api-int.example.com") -> tuple[bool, bytes]:
    """Probe *server*, which answers the query's number and then *answer*; return the result and the query."""
    asking = asyncio.create_task(ResolverProbe(server.getsockname()[1]).answers(LOOPBACK, name))
    loop = asyncio.get_running_loop()
    query, sender = await loop.sock_recvfrom(server, 512)
    if answer is not None:
        server.sendto(query[:2] + answer, sender)
    return await asking, query


async def test_any_response_is_a_sign_of_life() -> None:
    """SERVFAIL as well; the query is for the name, recursion desired."""
    with listening() as server:
        heard, query = await probe(server, b"\x81\x82" + REST)
        assert heard
        assert query[2:4] == b"\x01\x00"
        assert query[12:].startswith(b"\x07api-int\x07example\x03com\x00")
        assert (await probe(server, b"\x81\x82" + REST, ""))[1][12:] == b"\x00\x00\x01\x00\x01"


@pytest.mark.parametrize("answer", [None, b"", b"\x01\x00" + REST, b"\x81"])
async def test_what_is_no_response_is_none(answer: bytes | None) -> None:
    """Silence, a few bytes, a query that comes back as it is: not a DNS server."""
    with listening() as server:
        assert not (await probe(server, answer))[0]


async def test_a_response_to_somebody_else_is_none() -> None:
    """The number must be the query's (RFC 5452)."""
    with listening() as server:
        asking = asyncio.create_task(ResolverProbe(server.getsockname()[1]).answers(LOOPBACK, "x"))
        query, sender = await asyncio.get_running_loop().sock_recvfrom(server, 512)
        server.sendto(bytes([query[0] ^ 1, query[1]]) + b"\x81\x80" + REST, sender)
        assert not await asking


async def test_a_closed_port_and_a_foreign_address_are_refused_at_once() -> None:
    """Nobody waits for the deadline; nothing is left open."""
    with listening() as server:
        port = server.getsockname()[1]
    assert not await ResolverProbe(port).answers(LOOPBACK, "x")
    assert not await ResolverProbe(port).answers(ip_address("fe80::1"), "x")


@pytest.fixture(name="dnsmasq")
def _dnsmasq(tmp_path: Path) -> Iterator[int]:
    """A real server on the loopback that knows nobody to ask; its port."""
    if shutil.which("dnsmasq") is None:
        pytest.skip("dnsmasq is not installed (Debian package dnsmasq-base)")
    with listening() as free:
        port = free.getsockname()[1]
    options = (f"--port={port}", f"--listen-address={LOOPBACK}", "--bind-interfaces", "--no-resolv", "--no-hosts")
    argv = ["dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", f"--pid-file={tmp_path / 'pid'}", *options]
    server = subprocess.Popen(argv, stderr=subprocess.DEVNULL)
    yield port
    server.terminate()
    server.wait()


async def test_dnsmasq_answers(dnsmasq: int) -> None:
    """As soon as it listens."""
    async with asyncio.timeout(10):
        while not await ResolverProbe(dnsmasq).answers(LOOPBACK, "api-int.example.com"):
            await asyncio.sleep(0.05)
