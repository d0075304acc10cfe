"""The metrics over HTTP: for right requests, wrong ones and too many."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress

import pytest

from nodenet.edge.metrics import MOST_BYTES, MOST_CONNECTIONS, MOST_OPEN, Endpoint

GET = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as line:
        return int(line.getsockname()[1])


@asynccontextmanager
async def served() -> AsyncIterator[int]:
    port = free_port()
    task = asyncio.create_task(Endpoint(port, lambda: "a 1\n").run())
    while True:
        with suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            break
        assert not task.done(), "the port is taken"
        await asyncio.sleep(0.01)
    yield port
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def asked(port: int, request: bytes, host: str = "127.0.0.1") -> bytes:
    """Return the answer, empty where the server ends the connection instead."""
    reader, writer = await asyncio.open_connection(host, port)
    with closing(writer):
        writer.write(request)
        try:
            return await reader.read()
        except ConnectionError:  # what the server has not read makes a reset of its end
            return b""


async def test_the_figures_are_at_metrics_in_both_families() -> None:
    async with served() as port:
        for host in ("127.0.0.1", "::1"):
            head, _, body = (await asked(port, GET, host)).partition(b"\r\n\r\n")
            assert head.splitlines() == [
                b"HTTP/1.1 200 OK",
                b"Content-Type: text/plain; version=0.0.4; charset=utf-8",
                b"Content-Length: 4",
                b"Connection: close",
            ]
            assert body == b"a 1\n"
        assert (await asked(port, GET.replace(b"metrics", b"metrics?x=1"))).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (GET.replace(b"metrics", b"secrets"), b"404"),
        (GET.replace(b"GET", b"POST"), b"405"),
        (b"colour\r\n\r\n", b"400"),
        (b"\xff\x00 \xff HTTP/1.1\r\n\r\n", b"405"),
        (b"GET /" + b"x" * 2 * MOST_BYTES + b"\r\n\r\n", b""),
    ],
    ids=["another path", "another method", "no request", "bytes", "too long"],
)
async def test_other_requests_are_refused(request_bytes: bytes, status: bytes) -> None:
    async with served() as port:
        found = await asked(port, request_bytes)
        assert found.split(b" ")[1:2] == ([status] if status else [])
        assert (await asked(port, GET)).endswith(b"a 1\n"), "it serves the next one"


async def test_connections_that_say_nothing_do_not_take_all_places_for_long() -> None:
    async with served() as port:
        silent = []
        while (await asked(port, GET)).split(b" ")[1:2] != [b"503"]:  # a slow machine: they are closed by then
            silent += [await asyncio.open_connection("127.0.0.1", port) for _ in range(MOST_CONNECTIONS)]
        for reader, _ in silent:
            assert await reader.read() == b"", "closed after some seconds"
        while not (await asked(port, GET)).startswith(b"HTTP/1.1 200 "):
            await asyncio.sleep(0.01)
        for _, writer in silent:
            writer.close()


async def test_a_liveness_probe_is_answered_however_many_connections_say_nothing() -> None:
    """Kubelet restarted a leader to whose port any host had opened seventeen connections."""
    probe = GET.replace(b"metrics", b"healthz")
    async with served() as port:
        lines = []
        for count in range(2 * MOST_OPEN):
            lines.append(await asyncio.open_connection("127.0.0.1", port))
            if count % MOST_CONNECTIONS == 0 or count >= 2 * MOST_OPEN - 3:
                found = await asked(port, probe)
                assert (found.split(b" ")[1], found[-3:]) == (b"200", b"ok\n"), count
        reader, _ = lines[0]
        with suppress(ConnectionError):
            assert await reader.read() == b"", "the oldest one is closed"
        for _, writer in lines:
            writer.close()
        while not (await asked(port, GET)).startswith(b"HTTP/1.1 200 "):
            await asyncio.sleep(0.01)
