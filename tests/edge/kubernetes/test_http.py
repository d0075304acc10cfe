"""HTTP as servers may send it: lengths, chunks, interim answers, and what is not HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from edge.kubernetes.api_server import make_certificate
from nodenet.edge.kubernetes.http import Head, HttpError, HttpPool

MOST = 1000


@contextlib.asynccontextmanager
async def answering(directory: Path, *said: bytes) -> AsyncIterator[tuple[HttpPool, list[bytes]]]:
    """Answer the requests with these bytes, one after another, and end the connection after the last one."""
    left, heads = list(said), []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while left:
                heads.append(await reader.readuntil(b"\r\n\r\n"))
                writer.write(left.pop(0))
                await writer.drain()
        writer.close()

    await make_certificate(directory)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(directory / "server.crt", directory / "server.key")
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    port = server.sockets[0].getsockname()[1]
    trusting = ssl.create_default_context(cafile=str(directory / "server.crt"))
    pool = HttpPool(f"https://127.0.0.1:{port}/base/", trusting, {"A": "b"}, None)
    try:
        yield pool, heads
    finally:
        pool.close()
        server.close()


async def answer(directory: Path, said: bytes) -> tuple[Head, bytes]:
    async with answering(directory, said) as (pool, _):
        return await pool.request("GET", "/x", most=MOST)


@pytest.mark.parametrize(
    ("said", "status", "content"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", 200, b"ab"),
        (b"HTTP/1.1 404\r\ncontent-length:0\r\n\r\n", 404, b""),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n2;x=y\r\nbc\r\n0\r\nT: t\r\n\r\n",
            200,
            b"abc",
        ),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n", 200, b""),
        (b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", 200, b"a"),
        (b"HTTP/1.1 204 No\r\n\r\n", 204, b""),
        (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", 200, b"until the end"),
    ],
)
async def test_what_servers_send(tmp_path: Path, said: bytes, status: int, content: bytes) -> None:
    head, found = await answer(tmp_path, said)
    assert (head.status, found) == (status, content)


@pytest.mark.parametrize(
    "said",
    [
        b"SSH-2.0-x\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 99\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno field\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"a" * 70000,
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n" + b"x" * 1001,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n" + b"x" * 2000,
    ],
    ids=range(11),
)
async def test_what_is_not_taken(tmp_path: Path, said: bytes) -> None:
    with pytest.raises(HttpError):
        await answer(tmp_path, said)


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\na",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
    ],
)
async def test_an_answer_that_breaks_off_is_no_answer(tmp_path: Path, said: bytes) -> None:
    with pytest.raises(EOFError):
        await answer(tmp_path, said)


async def test_a_connection_is_used_again_unless_the_server_ends_it(tmp_path: Path) -> None:
    kept = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na"
    last = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nb"
    async with answering(tmp_path, kept, last, kept) as (pool, heads):
        found = [(await pool.request("GET", "/x?y", most=MOST))[1] for _ in range(3)]
    assert found == [b"a", b"b", b"a"]
    assert heads[0].startswith(b"GET /base/x?y HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"\r\nA: b\r\n" in heads[0]


async def test_a_body_is_sent_with_its_length(tmp_path: Path) -> None:
    async with answering(tmp_path, b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n") as (pool, heads):
        await pool.request("POST", "/x", b"{}", "application/json", most=MOST)
    assert heads[0].endswith(b"\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n")


async def test_a_cancelled_request_leaves_no_half_answer_to_the_next_one(tmp_path: Path) -> None:
    half = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab"
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nc"
    async with answering(tmp_path, half, whole, b"") as (pool, heads):
        first = asyncio.create_task(pool.request("GET", "/1", most=MOST))
        while not heads:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        first.cancel()
        await asyncio.wait({first})
        assert (await pool.request("GET", "/2", most=MOST))[1] == b"c"
