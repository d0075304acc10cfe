"""A client that may send any bytes: what a stranger on the bus can do, and libraries do not."""

from __future__ import annotations

import array
import os
import socket
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

CALL, RETURN, ERROR, SIGNAL = 1, 2, 3, 4
NOBODY = 65534
Field = tuple[int, str, str | int | bytes]
NAME, PATH, MANAGER = "org.nodenet1", "/org/nodenet1", "org.nodenet1.Manager"


def become_nobody() -> None:
    """Give root up for the life of this process."""
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def padded(data: bytes, to: int) -> bytes:
    """Return *data* with the padding that an alignment *to* so many bytes needs."""
    return data + b"\0" * (-len(data) % to)


def string(text: str) -> bytes:
    """Return the encoding of a string or an object path."""
    data = text.encode()
    return struct.pack("<I", len(data)) + data + b"\0"


def signature(text: str) -> bytes:
    """Return the encoding of a signature."""
    return bytes([len(text)]) + text.encode() + b"\0"


def message(kind: int, serial: int, fields: Iterable[Field], body: bytes = b"", flags: int = 0) -> bytes:
    """Return a message; a field of another type than s, o, g, u is given as the bytes of its value."""
    head = b""
    for code, type_, value in fields:
        head = padded(head, 8) + bytes([code]) + signature(type_)
        match value:
            case bytes():
                head += value
            case int():
                head = padded(head, 4) + struct.pack("<I", value)
            case _ if type_ == "g":
                head += signature(value)
            case _:
                head = padded(head, 4) + string(value)
    fixed = b"l" + bytes([kind, flags, 1]) + struct.pack("<III", len(body), serial, len(head))
    return padded(fixed + head, 8) + body


class RawClient:
    """A connection."""

    def __init__(self, path: Path, *, descriptors: bool = False) -> None:
        """Connect and say Hello; *descriptors*: negotiate to pass them."""
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(20)
        self.socket.connect(str(path))
        self.socket.sendall(b"\0AUTH EXTERNAL " + str(os.geteuid()).encode().hex().encode() + b"\r\n")
        self._line()
        if descriptors:
            self.socket.sendall(b"NEGOTIATE_UNIX_FD\r\n")
            self._line()
        self.socket.sendall(b"BEGIN\r\n")
        self.serial = 0
        bus = "org.freedesktop.DBus"
        self.send(self.call("Hello", destination=bus, path="/org/freedesktop/DBus", interface=bus))
        self.socket.recv(65536)

    def _line(self) -> None:
        while self.socket.recv(1) != b"\n":
            pass

    def call(  # noqa: PLR0913  (a D-Bus call has that many parts)
        self,
        member: str,
        types: str = "",
        body: bytes = b"",
        *,
        destination: str = NAME,
        path: str = PATH,
        interface: str = MANAGER,
        kind: int = CALL,
        flags: int = 0,
        more: Sequence[Field] = (),
    ) -> bytes:
        """Return a message to the service."""
        self.serial += 1
        fields: list[Field] = [(1, "o", path), (3, "s", member), (6, "s", destination)]
        fields += [(2, "s", interface)] if interface else []
        fields += [(8, "g", types)] if types else []
        return message(kind, self.serial, [*fields, *more], body, flags)

    def signal(self, member: str, types: str = "", body: bytes = b"", **parts: str) -> bytes:
        """Return a signal to the service alone, from whatever *path* and *interface* are given."""
        return self.call(member, types, body, kind=SIGNAL, **parts)  # type: ignore[arg-type]  # all of them strings

    def send(self, data: bytes, descriptors: Sequence[int] = ()) -> None:
        """Send bytes."""
        if descriptors:
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
            data = data[self.socket.sendmsg([data], rights) :]
        self.socket.sendall(data)

    def answer(self) -> bytes:
        """Return what comes within the time-out, b"" when nothing does."""
        try:
            return self.socket.recv(65536)
        except TimeoutError:
            return b""
