"""A server that speaks HTTP over TLS as the Kubernetes API does, and answers what a test wants."""

from __future__ import annotations

import asyncio
import json
import ssl
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

ESTABLISHED, KEEPALIVE = "01", "02"
"""In /proc/net/tcp: the state of a connection, and which of its timers runs."""


@dataclass(frozen=True)
class Request:
    """What the server was asked for."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True)
class Reply:
    """What it answers; a watch is answered with *lines* and stays open for *seconds*."""

    status: int = 200
    document: Any = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    lines: tuple[Any, ...] = ()
    seconds: float = 0.0
    silent: bool = False
    """Close the connection without an answer."""


def status(code: int, message: str = "as the test wants") -> Reply:
    """A refusal, with its Status object."""
    return Reply(code, {"kind": "Status", "apiVersion": "v1", "code": code, "message": message})


class ApiServer:
    """Listens on loopback; *answer* may be changed at any time."""

    def __init__(self, answer: Callable[[Request], Reply], directory: Path) -> None:
        self.answer = answer
        self.requests: list[Request] = []
        self.connections = 0
        self.port = 0
        self.context: ssl.SSLContext | None = None
        self.directory = directory
        self.kubeconfig = directory / "kubeconfig"

    def write_kubeconfig(self, token: str = "first") -> None:  # noqa: S107  (a token of a test)
        """Write the credentials, as a program does that renews them."""
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "clusters": [
                {
                    "name": "test",
                    "cluster": {
                        "server": f"https://127.0.0.1:{self.port}",
                        "certificate-authority": str(self.directory / "server.crt"),
                    },
                }
            ],
            "users": [{"name": "test", "user": {"token": token}}],
        }
        fresh = self.kubeconfig.with_suffix(".new")
        fresh.write_text(json.dumps(document))
        fresh.chmod(0o600)
        fresh.replace(self.kubeconfig)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        self.connections += 1
        try:
            while (request := await _read(reader)) is not None:
                self.requests.append(request)
                reply = self.answer(request)
                if reply.silent or not await _write(writer, reply):
                    break
        except (ConnectionError, ssl.SSLError):
            pass
        finally:
            writer.close()

    async def is_probed(self) -> bool:
        """Return whether the timer of probes runs for every open connection, after five seconds at most."""
        for _ in range(50):
            if (timers := _timers(self.port)) and set(timers) == {KEEPALIVE}:
                return True
            await asyncio.sleep(0.1)
        return False


def _timers(port: int) -> list[str]:
    """Return which timer runs at the client of each open connection to *port* of loopback (proc_pid_net(5))."""
    rows = [line.split() for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:]]
    return [row[5].partition(":")[0] for row in rows if row[2] == f"0100007F:{port:04X}" and row[3] == ESTABLISHED]


@asynccontextmanager
async def api_server(directory: Path, answer: Callable[[Request], Reply]) -> AsyncIterator[ApiServer]:
    """Run a server until the block ends."""
    await make_certificate(directory)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(directory / "server.crt", directory / "server.key")
    served = ApiServer(answer, directory)
    served.context = context
    server = await asyncio.start_server(served.serve, "127.0.0.1", 0, ssl=context)
    served.port = server.sockets[0].getsockname()[1]
    served.write_kubeconfig()
    try:
        yield served
    finally:
        server.close()


async def make_certificate(directory: Path) -> None:
    """Make a certificate for loopback, which is its own authority: server.crt and server.key."""
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-days", "2"]
    files = ["-keyout", str(directory / "server.key"), "-out", str(directory / "server.crt")]
    names = ["-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1"]
    await asyncio.to_thread(subprocess.run, [*made, *names, *files], check=True, capture_output=True)


async def _read(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    except asyncio.IncompleteReadError:
        return None
    method, target, _ = head[0].split(" ")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    parts = urlsplit(target)
    return Request(method, parts.path, dict(parse_qsl(parts.query)), headers, json.loads(body) if body else None)


async def _write(writer: asyncio.StreamWriter, reply: Reply) -> bool:
    """Write an answer; return whether the connection goes on."""
    if not reply.lines and not reply.seconds:
        content = reply.document if isinstance(reply.document, bytes) else json.dumps(reply.document).encode()
        fields = {"Content-Type": "application/json", "Content-Length": str(len(content)), **reply.headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        writer.write(f"HTTP/1.1 {reply.status} X\r\n{head}\r\n".encode() + content)
        await writer.drain()
        return True
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    for line in reply.lines:
        content = json.dumps(line).encode() + b"\n"
        writer.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")
    await writer.drain()
    await asyncio.sleep(reply.seconds)
    writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True
