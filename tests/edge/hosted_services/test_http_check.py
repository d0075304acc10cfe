"""What becomes of a check whatever the server answers: any user may listen on a port that a service has left."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import ssl
from functools import partial
from pathlib import Path

import pytest

from edge.namespace import Namespace
from nodenet.core.hosted_services.haproxy import BY_WIRE
from nodenet.core.hosted_services.health import Answer, Distrust, Target
from nodenet.edge.hosted_services.http_check import HttpChecks
from nodenet.edge.hosted_services.servers import RedirectTable
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


RULES = Path(__file__).parents[3] / "fixtures/hosted_services/control-plane/redirect.nft"
VIP = "192.0.2.2"


async def answered(holder: socket.socket, own: socket.socket) -> list[int | None]:
    """Return the status that a marked check of the VIP gets, and one without a mark."""

    async def serve(status: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 " + status + b" x\r\n")
        writer.close()

    servers = [
        await asyncio.start_server(partial(serve, status), sock=line.dup())
        for line, status in ((holder, b"200"), (own, b"503"))
    ]
    found = [(await HttpChecks().check(Target(VIP, 6443, "/x", mark=mark), 5)).status for mark in (BY_WIRE, 0)]
    for server in servers:
        server.close()
    return found


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("nft") is None, reason="needs root and nft")
def test_a_marked_check_of_the_vip_reaches_its_holder_and_not_this_node_s_own_balancer() -> None:
    here, there = Namespace(), Namespace()
    try:
        here.ip(f"link add eth0 type veth peer name far0 netns {there._holder.pid}")
        here.ip("link set lo up", "link set eth0 up", "address add 192.0.2.10/24 dev eth0")
        there.ip("link set far0 up", f"address add {VIP}/24 dev far0")
        holder = there.call(lambda: socket.create_server(("", 6443)))
        own = here.call(lambda: socket.create_server(("", 9445)))
        here.call(lambda: asyncio.run(RedirectTable().put(RULES.read_text())))
        assert here.call(lambda: asyncio.run(answered(holder, own))) == [200, 503]
        there.ip(f"address del {VIP}/24 dev far0")
        here.ip(f"address add {VIP}/24 dev eth0")
        assert here.call(lambda: asyncio.run(answered(holder, own))) == [503, 503], "this node is the holder"
        holder.close()
        own.close()
    finally:
        for host in (here, there):
            host.close()
