"""How are bytes sent to the bus and read from it without blocking the event loop?

One connection, from connect(2) to its end. Each turn of the loop reads at most ``READ_BYTES`` and handles at most
``FRAMES_PER_TURN`` messages, whatever waits in the socket. Bytes that the bus does not accept yet are queued. Of
signals only a few are sent at a time, and only the newest value of each property.
"""

from __future__ import annotations

import array
import asyncio
import os
import socket
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote

from nodenet.edge.bus.frames import ANCILLARY_BYTES, Frame, Framer, close, close_in_a_thread, received

if TYPE_CHECKING:
    from dbus_next.message import Message


def socket_path(address: str) -> str:
    """Return the path of the first Unix socket in *address*, as socket(7) takes it. Raises ValueError."""
    for server in address.split(";"):
        transport, _, rest = server.partition(":")
        keys = dict(pair.partition("=")[::2] for pair in rest.split(","))
        if transport == "unix" and "path" in keys:
            return unquote(keys["path"])
        if transport == "unix" and "abstract" in keys:
            return "\0" + unquote(keys["abstract"])
    raise ValueError(f"{address!r} names no Unix socket")


READ_BYTES = 64 * 1024
FRAMES_PER_TURN = 128
SENDS_PER_TURN = 64
ROOM_BYTES = 256 * 1024
"""How much may be queued before senders that can wait do so."""
LONGEST_LINE = 4096
"""Of the authentication protocol, which has lines."""


class Transport:
    """One connection to the bus."""

    def __init__(self, number: int, handle: Callable[[Frame], None], room: Callable[[Frame], int]) -> None:
        """*handle* takes each message in order; *room* returns how many bytes its body may have."""
        self.number = number
        self._received = handle
        self._framer = Framer(room, number)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        self._loop = asyncio.get_running_loop()
        self._queue: deque[tuple[memoryview, Sequence[int]]] = deque()
        self._queued = 0
        self._drained = asyncio.Event()
        self._drained.set()
        self.authenticated = False
        self.passes_descriptors = False
        self.ended: asyncio.Future[Exception | None] = self._loop.create_future()
        """Done when the connection ends, with the reason; None: it was closed here."""

    @property
    def crowded(self) -> bool:
        """Whether the bus takes less than it is sent."""
        return self._queued > ROOM_BYTES

    async def connect(self, address: str, *, descriptors: bool) -> None:
        """Connect and authenticate; *descriptors*: be able to send some. Raises OSError, EOFError, ValueError."""
        # Not sock_connect: a bus that is stalled has a full backlog, and connect(2) then fails with EAGAIN at once.
        self._socket.connect(socket_path(address))
        uid = str(os.getuid()).encode().hex()
        await self._loop.sock_sendall(self._socket, f"\0AUTH EXTERNAL {uid}\r\n".encode())
        if not (answer := await self._line()).startswith("OK"):
            raise ConnectionRefusedError(f"the bus refuses the authentication: {answer}")
        if descriptors:
            await self._loop.sock_sendall(self._socket, b"NEGOTIATE_UNIX_FD\r\n")
            self.passes_descriptors = (await self._line()).startswith("AGREE_UNIX_FD")
        await self._loop.sock_sendall(self._socket, b"BEGIN\r\n")
        self.authenticated = True
        self._loop.add_reader(self._socket, self._readable)

    async def _line(self) -> str:
        line = b""
        while not line.endswith(b"\r\n"):
            if not (read := await self._loop.sock_recv(self._socket, LONGEST_LINE)):
                raise EOFError
            line += read
            if len(line) > LONGEST_LINE:
                raise ConnectionRefusedError("the bus does not end its line")
        return line.decode(errors="replace").strip()

    def send(self, data: bytes, descriptors: Sequence[int] = ()) -> None:
        """Queue a message. Its *descriptors* belong to this connection from now on, and are closed when sent."""
        if self.ended.done():
            close(descriptors)
            return
        self._queue.append((memoryview(data), descriptors))
        self._queued += len(data)
        if self.crowded:
            self._drained.clear()
        if len(self._queue) == 1:
            self._writable()

    async def drained(self) -> None:
        """Wait until the bus has taken most of what is queued, or the connection has ended."""
        await self._drained.wait()

    def close(self, reason: Exception | None = None) -> None:
        """End the connection; what is queued is lost."""
        if self.ended.done():
            return
        self._loop.remove_reader(self._socket)
        self._loop.remove_writer(self._socket)
        # In a thread: unread descriptors in the socket are closed with it.
        close_in_a_thread([self._socket.detach()])
        while self._queue:
            close(self._queue.popleft()[1])
        self._queued = 0
        self._drained.set()
        self.ended.set_result(reason)

    def _readable(self) -> None:
        try:
            data, ancillary, _, _ = self._socket.recvmsg(READ_BYTES, ANCILLARY_BYTES, socket.MSG_CMSG_CLOEXEC)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self.close(error)
            return
        if ancillary:
            close_in_a_thread(received(ancillary))
        if not data:
            self.close(EOFError("the bus closed the connection"))
            return
        self._framer.feed(data)
        self._loop.remove_reader(self._socket)
        self._handle()

    def _handle(self) -> None:
        """Handle some of the messages that were read, the rest in the next turn."""
        try:
            for _ in range(FRAMES_PER_TURN):
                if self.ended.done():
                    return
                frame = self._framer.next()
                if frame is None:
                    self._loop.add_reader(self._socket, self._readable)
                    return
                self._received(frame)
        except Exception as error:  # noqa: BLE001  (whatever it is, the rest of the stream is not understood)
            self.close(error)
            return
        self._loop.call_soon(self._handle)

    def _writable(self) -> None:
        try:
            for _ in range(SENDS_PER_TURN):
                if not self._queue:
                    self._loop.remove_writer(self._socket)
                    return
                self._send_some()
        except (BlockingIOError, InterruptedError):
            pass
        except OSError as error:
            self.close(error)
            return
        self._loop.add_writer(self._socket, self._writable)

    def _send_some(self) -> None:
        data, descriptors = self._queue[0]
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
        sent = self._socket.sendmsg([data], rights)
        close(descriptors)
        self._queued -= sent
        if sent < len(data):
            self._queue[0] = (data[sent:], ())
        else:
            self._queue.popleft()
        if not self.crowded:
            self._drained.set()


LIMIT = 64
WINDOW = 16
"""Messages sent before the bus must have answered."""


class Outbox:
    """Signals that wait to be sent."""

    def __init__(self) -> None:
        """Begin empty."""
        self._waiting: dict[object, Callable[[], Message | None]] = {}

    def __bool__(self) -> bool:
        """Whether any waits."""
        return bool(self._waiting)

    def put(self, key: object, make: Callable[[], Message | None]) -> None:
        """Queue what *make* returns when it is sent; a later one with the same *key* replaces it."""
        self._waiting.pop(key, None)
        while len(self._waiting) >= LIMIT:
            self._waiting.pop(next(iter(self._waiting)))
        self._waiting[key] = make

    def window(self) -> list[Callable[[], Message | None]]:
        """Take the next ones to be sent."""
        return [self._waiting.pop(key) for key in list(self._waiting)[:WINDOW]]
