"""One question to a real socket, and what comes back from a server that answers, lies, is silent or is not there."""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator, Callable
from ipaddress import ip_address
from typing import cast

import pytest

from nodenet.core.ip import Family
from nodenet.edge.hosted_services.servers import NameLookup

HERE, LB = ip_address("127.0.0.1"), ip_address("192.0.2.9")


class Server(asyncio.DatagramProtocol):
    def __init__(self, reply: Callable[[bytes], bytes]) -> None:
        self._reply = reply
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        assert self._transport is not None
        if reply := self._reply(data):
            self._transport.sendto(reply, addr)


def answered(query: bytes) -> bytes:
    record = b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 0, 4) + LB.packed
    return query[:2] + b"\x85\x80" + struct.pack("!4H", 1, 1, 0, 0) + query[12:] + record


@contextlib.asynccontextmanager
async def serving(reply: Callable[[bytes], bytes]) -> AsyncIterator[int]:
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(lambda: Server(reply), local_addr=("127.0.0.1", 0))
    with contextlib.closing(transport):
        yield transport.get_extra_info("sockname")[1]


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        (answered, {LB}),
        (lambda query: answered(query)[:-2], set()),
        (lambda query: b"\0\0" + answered(query)[2:] if query[:2] != b"\0\0" else b"", set()),
        (lambda _: b"", set()),
    ],
)
async def test_what_a_server_answers(reply: Callable[[bytes], bytes], wanted: set[object]) -> None:
    async with serving(reply) as port:
        assert await NameLookup(port).addresses(HERE, "api-int.c1.example.com", Family.IPV4) == wanted


async def test_a_server_that_is_not_there_answers_nothing() -> None:
    async with serving(answered) as port:
        pass
    assert await NameLookup(port).addresses(HERE, "api-int.c1.example.com", Family.IPV4) == frozenset()
    away = ip_address("192.0.2.77")
    assert await NameLookup(1).addresses(away, "api-int.c1.example.com", Family.IPV4) == frozenset()
