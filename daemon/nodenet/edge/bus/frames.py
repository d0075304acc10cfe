"""How is a stream of bytes read as D-Bus messages, whatever another program sent?

D-Bus specification, "Message Protocol". The bus checks that a message is well formed, but any local user chooses its
size, its types and its header fields. So only the header is read at first, and the reader of the stream decides from
it how large a body may be. A larger one is skipped without being kept. A body is decoded only when a caller asks for
its values.
"""

from __future__ import annotations

import array
import io
import os
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from dbus_next._private.unmarshaller import Unmarshaller
from dbus_next.signature import SignatureTree

METHOD_CALL, METHOD_RETURN, ERROR, SIGNAL = 1, 2, 3, 4
NO_REPLY_EXPECTED = 0x1
LARGEST_MESSAGE = 128 * 1024 * 1024
"""The specification's limit."""
HEADER_BYTES = 16 * 1024
"""A message with a longer header is skipped: the longest name is 255 characters, and no path of ours is long."""
KEPT_SIGNATURES = 512
"""dbus-next keeps every signature that it ever parsed, with its tree."""

_FIXED = {b"l"[0]: struct.Struct("<BBBBIII"), b"B"[0]: struct.Struct(">BBBBIII")}
_UINT32 = {b"l"[0]: struct.Struct("<I"), b"B"[0]: struct.Struct(">I")}
_FIXED_BYTES = 16
_NAMES = {
    1: ("o", "path"),
    2: ("s", "interface"),
    3: ("s", "member"),
    4: ("s", "error_name"),
    5: ("u", "reply_serial"),
    7: ("s", "sender"),
    8: ("g", "signature"),
}
"""Header fields that are used: code → type, name."""


class MalformedError(Exception):
    """The other end does not speak D-Bus: the rest of the stream cannot be read."""


class Frame(NamedTuple):
    """A message: its header, and its body as bytes; None where the body was larger than allowed."""

    kind: int
    flags: int
    serial: int
    order: int
    size: int
    """Bytes of the body."""
    path: str
    interface: str
    member: str
    error_name: str
    reply_serial: int
    sender: str
    signature: str
    connection: int
    """Which connection it came over: on another one, the same name is another sender."""
    body: bytes | None = b""

    def values(self) -> list[Any]:
        """Decode the body. Raises ValueError when that is not possible."""
        if self.body is None:
            raise ValueError(f"the body of {self.size} bytes is too large")
        if not self.signature:
            return []
        return _decode(self.order, self.signature, self.body)


class Framer:
    """Cuts a stream into frames."""

    def __init__(self, room: Callable[[Frame], int], connection: int = 0) -> None:
        """*room* returns how many bytes the body of a message may have, judged by its header."""
        self._room = room
        self._connection = connection
        self._bytes = bytearray()
        self._skip = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        if self._skip >= len(data) and not self._bytes:
            self._skip -= len(data)
            return
        self._bytes += data

    def next(self) -> Frame | None:
        """Return the next frame, None when more bytes are needed first. Raises MalformedError."""
        while True:
            if self._skip:
                skipped = min(self._skip, len(self._bytes))
                del self._bytes[:skipped]
                self._skip -= skipped
            if len(self._bytes) < _FIXED_BYTES:
                return None
            order, kind, flags, _, size, serial, length = _fixed(self._bytes)
            head = _FIXED_BYTES + _aligned(length, 8)
            if head > HEADER_BYTES:
                self._skip = head + size
                continue
            if len(self._bytes) < head:
                return None
            fields = _fields(bytes(self._bytes[:head]), order, _FIXED_BYTES + length)
            frame = Frame(kind, flags, serial, order, size, connection=self._connection, **{**_ABSENT, **fields})
            if size > self._room(frame):
                self._skip = head + size
                return frame._replace(body=None)
            if len(self._bytes) < head + size:
                return None
            frame = frame._replace(body=bytes(self._bytes[head : head + size])) if size else frame
            del self._bytes[: head + size]
            return frame


_ABSENT: dict[str, Any] = dict.fromkeys(("path", "interface", "member", "error_name", "sender", "signature"), "")
_ABSENT["reply_serial"] = 0


def _fixed(data: bytearray) -> tuple[int, ...]:
    layout = _FIXED.get(data[0])
    if layout is None:
        raise MalformedError(f"{data[0]:#04x} is no byte order of D-Bus")
    fixed = layout.unpack_from(data)
    _, _, _, version, size, _, length = fixed
    if version != 1 or size + length > LARGEST_MESSAGE:
        raise MalformedError(f"a message of version {version} with {size} bytes")
    return fixed


def _fields(head: bytes, order: int, end: int) -> dict[str, Any]:
    """Return the known header fields by name. Fields that a later specification may add are ignored, as it asks."""
    found: dict[str, Any] = {}
    uint32 = _UINT32[order].unpack_from
    at = _FIXED_BYTES
    try:
        while at < end:
            code, length = head[at], head[at + 1]
            kind = head[at + 2 : at + 2 + length].decode("ascii")
            at += 3 + length
            if kind in ("s", "o"):
                at = _aligned(at, 4)
                (length,) = uint32(head, at)
                value: Any = head[at + 4 : at + 4 + length].decode()
                at += 5 + length
            elif kind == "g":
                length = head[at]
                value = head[at + 1 : at + 1 + length].decode("ascii")
                at += 2 + length
            elif kind == "u":
                at = _aligned(at, 4)
                (value,) = uint32(head, at)
                at += 4
            else:
                value, at = None, _after(head, order, kind, at)
            wanted, name = _NAMES.get(code, ("", ""))
            if wanted == kind:
                found[name] = value
            at = _aligned(at, 8)
    except (IndexError, ValueError, struct.error) as error:
        raise MalformedError(f"a header that cannot be read: {error}") from error
    if at > _aligned(end, 8):
        raise MalformedError("a header field that is longer than the header")
    return found


def _after(head: bytes, order: int, kind: str, at: int) -> int:
    """Return the offset behind a value of any type. Raises ValueError."""
    reader = _reader(order, head)
    reader.offset = at
    try:
        reader.read_argument(_types(kind)[0])
    except Exception as error:  # dbus-next raises whatever its parts raise
        raise ValueError(f"a header field of type {kind!r}") from error
    return int(reader.offset)


def _decode(order: int, signature: str, body: bytes) -> list[Any]:
    reader = _reader(order, body)
    try:
        return [reader.read_argument(kind) for kind in _types(signature)]
    except Exception as error:  # dbus-next raises whatever its parts raise
        raise ValueError(f"a body that is not {signature!r}: {error!r}") from error


def _reader(order: int, data: bytes) -> Any:  # noqa: ANN401  (dbus-next has no types)
    reader = Unmarshaller(io.BytesIO())  # the stream is for what is missing, and nothing may be
    reader.buf = data
    reader.endian = order
    return reader


def _types(signature: str) -> list[Any]:
    if len(SignatureTree._cache) > KEPT_SIGNATURES:  # noqa: SLF001  (it has no limit)
        SignatureTree._cache.clear()  # noqa: SLF001
    types: list[Any] = SignatureTree._get(signature).types  # noqa: SLF001
    return types


def _aligned(offset: int, to: int) -> int:
    return offset + -offset % to


# How are file descriptors closed that come with a message? nodenetd uses none of them.
#
# Another thread than that of the event loop closes them: the sender can make close(2) block, for example with SO_LINGER
# (socket(7)) or with a file of a FUSE file system.

MOST_THREADS = 8
"""Threads that may be blocked by a close at once. Only root can send descriptors where the bus has our policy."""
MOST_PER_MESSAGE = 253
"""SCM_MAX_FD of unix(7)."""
ANCILLARY_BYTES = socket.CMSG_SPACE(MOST_PER_MESSAGE * array.array("i").itemsize)

_waiting: deque[int] = deque()
_free = threading.Semaphore(MOST_THREADS)


def received(ancillary: Iterable[tuple[int, int, bytes]]) -> list[int]:
    """Return the descriptors in the ancillary data of recvmsg(2)."""
    found = array.array("i")
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            found.frombytes(data[: len(data) - len(data) % found.itemsize])
    return found.tolist()


def close_in_a_thread(descriptors: Iterable[int]) -> None:
    """Close *descriptors* soon, without waiting for it."""
    _waiting.extend(descriptors)
    if _waiting and _free.acquire(blocking=False):
        threading.Thread(target=_close_all, daemon=True, name="close").start()


def close(descriptors: Iterable[int]) -> None:
    """Close descriptors of our own at once."""
    for descriptor in descriptors:
        os.close(descriptor)


def _close_all() -> None:
    try:
        while True:
            with suppress(OSError):  # an error of a file of another program
                os.close(_waiting.popleft())
    except IndexError:
        pass
    finally:
        _free.release()
