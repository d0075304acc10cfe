"""What becomes of a check whatever the server answers: any user may listen on a port that a service has left."""

from __future__ import annotations

import asyncio
import shutil
import ssl
from pathlib import Path

import pytest

from nodenet.core.hosted_services.health import Answer, Distrust, Target
from nodenet.edge.hosted_services.http_check import HttpChecks
from tls_certificates import certificate, end_of


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


async def test_a_unix_socket_is_asked_like_a_port(tmp_path: Path) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n")
        writer.close()

    path = str(tmp_path / "ready.sock")
    target = Target("localhost", 0, "/x", unix_socket=path)
    assert (await HttpChecks().check(target, 5)).answer is Answer.DEAD
    async with await asyncio.start_unix_server(serve, path):
        assert (await HttpChecks().check(target, 5)).answer is Answer.GOOD


@pytest.mark.skipif(not shutil.which("openssl"), reason="needs openssl")
@pytest.mark.parametrize(
    ("old_ca", "old_server", "problem", "distrust"),
    [
        (True, False, "the CA {ca} has expired on {end_of_ca}", Distrust.CA),
        (False, True, "its certificate has expired on {end}", Distrust.CERTIFICATE),
        (False, False, "", None),
    ],
)
async def test_what_has_expired_is_named_with_its_date(
    tmp_path: Path,
    old_ca: bool,  # noqa: FBT001
    old_server: bool,  # noqa: FBT001
    problem: str,
    distrust: Distrust | None,
) -> None:
    ca, ca_key = certificate(tmp_path, "ca", expired=old_ca)
    made, key = certificate(tmp_path, "api-int.c", expired=old_server, signed=("-CA", ca, "-CAkey", ca_key))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(made, key)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n")
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls) as server:
        port = server.sockets[0].getsockname()[1]
        found = await HttpChecks().check(Target("127.0.0.1", port, "/x", str(ca), "api-int.c"), 5)
    assert found.answer is (Answer.DEAD if problem else Answer.GOOD)
    assert found.problem == problem.format(ca=ca, end_of_ca=end_of(ca), end=end_of(made))
    assert found.distrust is distrust


@pytest.mark.skipif(not shutil.which("openssl"), reason="needs openssl")
async def test_a_certificate_for_another_name_is_refused(tmp_path: Path) -> None:
    ca, ca_key = certificate(tmp_path, "ca", expired=False)
    made, key = certificate(tmp_path, "other.c", expired=False, signed=("-CA", ca, "-CAkey", ca_key))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(made, key)
    async with await asyncio.start_server(lambda *_: None, "127.0.0.1", 0, ssl=tls) as server:
        port = server.sockets[0].getsockname()[1]
        found = await HttpChecks().check(Target("127.0.0.1", port, "/x", str(ca), "api-int.c"), 5)
    assert (found.answer, found.distrust) == (Answer.DEAD, Distrust.CERTIFICATE)
    assert found.problem.startswith("its certificate is refused: Hostname mismatch")
