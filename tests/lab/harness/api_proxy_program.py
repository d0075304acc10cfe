"""How does the program between a client and kube-apiserver make faults?

`api_proxy.py` starts it in the network namespace of the server and gives it orders on a UNIX socket. It passes HTTP/1.1
on, request by request, and records each one. A rule changes what happens to the requests that it names.
"""

import asyncio
import contextlib
import json
import os
import re
import signal
import ssl
import sys
import time
from dataclasses import dataclass
from typing import Any

LIMIT = 1 << 24
HTTP_OK = 200
GONE = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": 410}
REASONS = {403: "Forbidden", 404: "NotFound", 409: "Conflict", 410: "Expired", 429: "TooManyRequests"}

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass
class Rule:
    """A fault for some requests."""

    action: str
    method: str = ""
    path: str = ""
    skip: int = 0
    times: int = 1_000_000
    status: int = 0
    seconds: float = 0.0
    pid: int = 0
    hits: int = 0

    def takes(self, method: str, target: str) -> bool:
        """Return whether this request is one of the rule's; count it if its method and path are."""
        if (self.method and self.method != method) or not re.search(self.path, target):
            return False
        self.hits += 1
        return self.skip < self.hits <= self.skip + self.times


class Lost(Exception):
    """The connection to the client has to end without an answer."""


class Proxy:
    """Everything of one proxy."""

    def __init__(self, listen: tuple[str, int], upstream: tuple[str, int], tls: tuple[str, str, str]) -> None:
        certificate, key, authority = tls
        self.listen, self.upstream = listen, upstream
        self.inside = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.inside.load_cert_chain(certificate, key)
        self.outside = ssl.create_default_context(cafile=authority)
        self.rules: list[Rule] = []
        self.log: list[dict[str, Any]] = []
        self.released = asyncio.Event()
        self.clients: set[asyncio.StreamWriter] = set()
        self.server: asyncio.Server | None = None

    async def order(self, order: dict[str, Any]) -> Any:
        """Do what a test orders; return the answer."""
        match order.pop("do"):
            case "rule":
                self.rules.append(Rule(**order))
            case "clear":
                self.rules.clear()
                self.release()
            case "log":
                return self.log
            case "release":
                self.release()
            case "cut":
                self.cut()
            case "close" if self.server is not None:
                self.server.close()
                self.server = None
                self.cut()
            case "open" if self.server is None:
                await self.start()
        return None

    async def start(self) -> None:
        """Listen."""
        address, port = self.listen
        self.server = await asyncio.start_server(
            self.serve, address, port, ssl=self.inside, limit=LIMIT, backlog=4096, reuse_address=True
        )

    def release(self) -> None:
        """Let the requests go on that a rule holds."""
        self.released.set()
        self.released = asyncio.Event()

    def cut(self) -> None:
        """End all connections of clients."""
        for writer in list(self.clients):
            writer.transport.abort()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection of a client until it ends."""
        self.clients.add(writer)
        upstream: Stream | None = None
        try:
            upstream = await asyncio.open_connection(*self.upstream, ssl=self.outside, limit=LIMIT)
            while (head := await reader.readuntil(b"\r\n\r\n")) and writer in self.clients:
                raw = head + await reader.readexactly(int(header(head, "content-length") or 0))
                await self.handle(raw, (reader, writer), upstream)
        except (OSError, Lost, asyncio.IncompleteReadError):
            pass  # one of the ends has gone, or the rule wants it so
        finally:
            self.clients.discard(writer)
            for end in (writer, *(upstream[1:] if upstream else ())):
                end.transport.abort()

    async def handle(self, raw: bytes, client: Stream, upstream: Stream) -> None:
        """Pass one request on, or do what a rule says."""
        method, target, _ = raw.partition(b"\r\n")[0].decode().split(" ")
        # Every rule counts the request; the first one that takes it decides.
        rule = next((rule for rule, taken in [(r, r.takes(method, target)) for r in self.rules] if taken), None)
        entry: dict[str, Any] = {"method": method, "path": target, "status": 0, "fault": rule.action if rule else ""}
        entry["began"] = time.monotonic()
        self.log.append(entry)
        if rule is not None and await self.answered(rule, client[1], entry):
            return
        upstream[1].write(raw)
        await upstream[1].drain()
        if rule is not None and rule.action in ("kill-after", "lose"):
            await pass_answer(upstream[0], None, entry)
            kill(rule.pid)
            raise Lost
        await until_either(pass_answer(upstream[0], client[1], entry), until_gone(client[0]))
        entry["seconds"] = time.monotonic() - entry["began"]

    async def answered(self, rule: Rule, writer: asyncio.StreamWriter, entry: dict[str, Any]) -> bool:
        """Do what a rule wants before the server has the request; return whether the client has its answer."""
        match rule.action:
            case "kill":
                kill(rule.pid)
                raise Lost
            case "delay":
                await asyncio.sleep(rule.seconds)
            case "hold":
                await self.released.wait()
            case "status":
                reply = {**GONE, "code": rule.status, "reason": REASONS.get(rule.status, "InternalError")}
                writer.write(answer(rule.status, json.dumps(reply).encode()))
            case "gone-event":
                event = {"type": "ERROR", "object": GONE}
                writer.write(answer(HTTP_OK, json.dumps(event).encode() + b"\n"))
            case "garbage":
                writer.write(answer(HTTP_OK, b'{"kind": "Li'))
            case _:
                return False
        if rule.action in ("delay", "hold"):
            return False
        entry["status"] = rule.status or HTTP_OK
        await writer.drain()
        return True


def header(head: bytes, name: str) -> str:
    """Return a header of a request or an answer, empty without one."""
    found = re.search(rf"^{name}:[ \t]*(.*?)\r$".encode(), head, re.MULTILINE | re.IGNORECASE)
    return found[1].decode() if found else ""


def answer(status: int, body: bytes) -> bytes:
    """Return a whole answer of ours."""
    head = f"HTTP/1.1 {status} Fault\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def pass_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter | None, entry: dict[str, Any]) -> None:
    """Pass one answer on as it comes; without a writer it is read and dropped."""

    async def give(part: bytes) -> None:
        if writer is not None:
            writer.write(part)
            await writer.drain()

    head = await reader.readuntil(b"\r\n\r\n")
    entry["status"] = int(head.split(b" ", 2)[1])
    await give(head)
    if header(head, "transfer-encoding") == "chunked":
        size = 1
        while size:
            line = await reader.readuntil(b"\r\n")
            size = int(line, 16)
            await give(line + await reader.readexactly(size + 2))
    else:
        await give(await reader.readexactly(int(header(head, "content-length") or 0)))


async def until_gone(reader: asyncio.StreamReader) -> None:
    """Return when the client has closed its connection; nothing of its next request is read."""
    while not reader.at_eof() and reader.exception() is None:
        await asyncio.sleep(0.05)
    raise Lost


async def until_either(*works: Any) -> None:
    """Wait for the first of some; the others are cancelled."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()


def kill(pid: int) -> None:
    """Kill a process, as a power cut would."""
    if pid:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


async def main() -> None:
    """Run until this process is ended."""
    wanted = json.loads(sys.argv[1])
    proxy = Proxy(tuple(wanted["listen"]), tuple(wanted["upstream"]), tuple(wanted["tls"]))
    await proxy.start()

    async def orders(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reply = await proxy.order(json.loads(await reader.read()))
        writer.write(json.dumps(reply).encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_unix_server(orders, wanted["orders"])
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
