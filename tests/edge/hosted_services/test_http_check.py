"""What becomes of a check whatever the server answers: any user may listen on a port that a service has left."""

from __future__ import annotations

import asyncio

import pytest

from nodenet.core.hosted_services.health import Answer, Target
from nodenet.edge.hosted_services.http_check import HttpChecks


async def answer(said: bytes) -> Answer:
    """Return what a check makes of a server that says *said* and closes the connection."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(said)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        return (await HttpChecks().check(Target("127.0.0.1", port, "/x"), 5)).answer


async def test_only_status_200_is_good() -> None:
    assert await answer(b"HTTP/1.1 200 OK\r\n") is Answer.GOOD
    assert await answer(b"HTTP/1.1 503 no\r\n") is Answer.DEAD


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"HTTP/1.1 200",
        b"\n",
        b"x" * 5000,
        b"x" * 5000 + b"\n",
        b"HTTP/1.1 \xb2\n",
        b"HTTP/1.1 " + b"9" * 900 + b"\n",
    ],
    ids=range(7),
)
async def test_whatever_a_server_says_is_no_error(said: bytes) -> None:
    assert await answer(said) is Answer.DEAD


async def test_a_ca_that_cannot_be_read_is_no_reason_to_ask_without_one() -> None:
    found = await HttpChecks().check(Target("127.0.0.1", 1, "/x", "/nowhere/ca.crt", "api-int.c"), 5)
    assert (found.answer, found.problem) == (
        Answer.DEAD,
        "the CA /nowhere/ca.crt cannot be used: No such file or directory",
    )
