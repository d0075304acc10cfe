"""How is one HTTPS server asked many small questions at little cost? HTTP/1.1 (RFC 9112) on connections that are kept.

An allocation is four requests, and many pods start at once: a general client takes ten times the processor time of
this one for each. It knows what an API server sends: a status, fields, and a body with a length or in chunks. It
follows no redirect, and knows no proxy and no compression.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import ssl
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from urllib.parse import urlsplit

from nodenet.core.value import frozen

MOST_HEAD_BYTES = 64 << 10
CONNECT_SECONDS, HEAD_SECONDS = 5.0, 10.0
IDLE_SECONDS = 45.0
"""Go's servers end an idle connection after 90 s."""
CONNECTIONS = 12
"""More of them make no request faster: each costs a TLS handshake, and the API answers in a few milliseconds."""
PROBES = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 15),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3),
)
"""After 15 s of silence the kernel asks whether the server is still there, and ends the connection after three probes
without an answer (tcp(7)). A watch sends nothing: without probes it does not notice that a host has lost its power."""
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-5][0-9][0-9])(?: .*)?")


class HttpError(Exception):
    """The server does not speak HTTP as it should, or sends too much."""


class TooLong(HttpError):
    """The body of an answer has more bytes than its reader takes."""


@frozen
class Head:
    """The beginning of an answer."""

    status: int
    fields: Mapping[str, str]
    """By name in lower case."""


class _Connection:
    """One connection; between two requests it is idle."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.since = time.monotonic()
        self.used = False
        self.reusable = False

    @property
    def usable(self) -> bool:
        fresh = time.monotonic() - self.since < IDLE_SECONDS
        return fresh and not self.reader.at_eof() and not self.writer.is_closing()

    def close(self) -> None:
        self.writer.close()

    async def send(self, request: bytes) -> Head:
        """Send a request; return the head of its answer. Raises OSError, EOFError, HttpError."""
        self.reusable = False
        self.writer.write(request)
        await self.writer.drain()
        while (head := _head(await self._until(b"\r\n\r\n"))).status < 200:
            pass  # an interim answer (RFC 9110, 15.2)
        return head

    async def body(self, head: Head, most: int) -> AsyncIterator[bytes]:
        """Yield the parts of the body, *most* bytes in all. Raises OSError, EOFError, HttpError."""
        coding, length = head.fields.get("transfer-encoding", ""), head.fields.get("content-length")
        count = 0
        async for part in self._parts(coding.lower(), length, bodyless=head.status in (204, 304)):
            count += len(part)
            if count > most:
                raise TooLong(f"the answer is longer than {most} bytes")
            yield part
        framed = coding.lower() == "chunked" or length is not None or head.status in (204, 304)
        self.reusable = framed and head.fields.get("connection", "").lower() != "close"

    async def _parts(self, coding: str, length: str | None, *, bodyless: bool) -> AsyncIterator[bytes]:
        if bodyless:
            return
        if coding == "chunked":
            while size := _size((await self._until(b"\r\n")).partition(b";")[0].strip()):
                while size:
                    part = await self._some(size)
                    size -= len(part)
                    yield part
                await self._until(b"\r\n")
            while await self._until(b"\r\n") != b"\r\n":
                pass  # a trailer
        elif coding or (length is not None and not (length.isascii() and length.isdigit() and len(length) < 16)):
            raise HttpError(f"the body of the answer has an unknown form: {(coding or str(length))[:40]!a}")
        elif length is not None:
            left = int(length)
            while left:
                part = await self._some(left)
                left -= len(part)
                yield part
        else:
            while part := await self.reader.read(1 << 16):
                yield part

    async def _some(self, most: int) -> bytes:
        part = await self.reader.read(min(most, 1 << 16))
        if not part:
            raise EOFError("the connection ended in the middle of an answer")
        return part

    async def _until(self, end: bytes) -> bytes:
        try:
            return await self.reader.readuntil(end)
        except asyncio.LimitOverrunError as error:
            raise HttpError(f"the head of the answer is longer than {MOST_HEAD_BYTES} bytes") from error


class HttpPool:
    """The connections to one server, with one TLS context."""

    def __init__(
        self,
        server: str,
        context: ssl.SSLContext,
        fields: Mapping[str, str],
        server_name: str | None,
        head_seconds: float = HEAD_SECONDS,
    ) -> None:
        """*server*: its URL. *fields* are sent with each request. *server_name*: what its certificate must be for.

        *head_seconds*: after so long the answer of a stream must begin.
        """
        parts = urlsplit(server)
        self._host, self._port = parts.hostname or "", parts.port or 443
        self._context = context
        self._head_seconds = head_seconds
        self._server_name = server_name or self._host
        self._base = parts.path.rstrip("/")
        lines = {"Host": parts.netloc, **fields}
        self._fields = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        self._idle: deque[_Connection] = deque()
        self._slots = asyncio.Semaphore(CONNECTIONS)

    async def request(
        self, method: str, target: str, body: bytes | None = None, kind: str = "", *, most: int
    ) -> tuple[Head, bytes]:
        """Return the answer, of *most* bytes. Raises OSError, EOFError, HttpError."""
        request = self._request(method, target, body, kind)
        async with self._slots:
            while True:
                connection = self._take() or await self._connect()
                try:
                    head = await connection.send(request)
                    content = b"".join([part async for part in connection.body(head, most)])
                except (ConnectionError, EOFError):
                    connection.close()
                    if connection.used and method == "GET":
                        connection.used = False
                        continue  # the server ended it while it was idle
                    raise
                except BaseException:
                    connection.close()
                    raise
                self._give_back(connection)
                return head, content

    @contextlib.asynccontextmanager
    async def stream(
        self, target: str, method: str = "GET", body: bytes | None = None, kind: str = "", *, most: int
    ) -> AsyncIterator[tuple[Head, AsyncIterator[bytes]]]:
        """Yield the head of an answer and the parts of its body, on a connection of its own. Raises as ``request``."""
        connection = await self._connect()
        try:
            async with asyncio.timeout(self._head_seconds):
                head = await connection.send(self._request(method, target, body, kind))
            async with contextlib.aclosing(connection.body(head, most)) as parts:  # type: ignore[type-var]
                yield head, parts
        finally:
            connection.close()

    def close(self) -> None:
        """Close the idle connections; a request under way closes its own."""
        while self._idle:
            self._idle.pop().close()

    def _request(self, method: str, target: str, body: bytes | None, kind: str) -> bytes:
        form = "" if body is None else f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        return f"{method} {self._base}{target} HTTP/1.1\r\n{self._fields}{form}\r\n".encode() + (body or b"")

    def _take(self) -> _Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.usable:
                connection.used = True
                return connection
            connection.close()
        return None

    def _give_back(self, connection: _Connection) -> None:
        if not connection.reusable:
            connection.close()
            return
        connection.since = time.monotonic()
        self._idle.append(connection)

    async def _connect(self) -> _Connection:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                reader, writer = await asyncio.open_connection(
                    self._host, self._port, ssl=self._context, server_hostname=self._server_name, limit=MOST_HEAD_BYTES
                )
        except TimeoutError as error:
            raise HttpError(f"no connection within {CONNECT_SECONDS:g} s") from error
        line: socket.socket = writer.get_extra_info("socket")
        for option in PROBES:
            line.setsockopt(*option)
        return _Connection(reader, writer)


def _head(text: bytes) -> Head:
    first, *lines = text.removesuffix(b"\r\n\r\n").split(b"\r\n")
    status = _STATUS.fullmatch(first)
    if status is None:
        raise HttpError(f"the answer begins with {first[:40]!a}")
    fields = {}
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon:
            raise HttpError(f"the head of the answer has the line {line[:40]!a}")
        fields[name.strip().lower().decode("latin-1")] = value.strip().decode("latin-1")
    return Head(int(status[1]), fields)


def _size(text: bytes) -> int:
    if not re.fullmatch(rb"[0-9A-Fa-f]{1,8}", text):
        raise HttpError(f"a chunk of the answer has the size {text[:40]!a}")
    return int(text, 16)
