"""How does a log call become a journal entry with fields, and what is printed on the console?

Under systemd every call is one entry in the journal's native protocol (systemd.io/JOURNAL_NATIVE_PROTOCOL). Errors,
waits and readiness are printed on the console too, for a machine where no login is possible. When nodenetd is started
by hand, calls are lines on standard error. Logging never blocks, and never raises an error of the journal: lost entries
are counted.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import socket
import sys
from array import array
from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import Enum
from typing import Any, Protocol

import structlog

from nodenet.core.messages import Message

SOCKET = "/run/systemd/journal/socket"
CONSOLE = "/dev/console"
LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}
PRIORITIES = {"debug": 7, "info": 6, "warning": 4, "error": 3, "critical": 2}
"""syslog(3) levels."""
FIELD = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
OWN_FIELDS = frozenset({"MESSAGE", "MESSAGE_ID", "PRIORITY", "SYSLOG_IDENTIFIER", "DROPPED_ENTRIES"})
ON_CONSOLE = frozenset({Message.READY, Message.READY_DEGRADED, Message.STAGE_WAITING})
"""Printed on the console besides errors: what the boot waits for, and that it is ready."""
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL
_DEV_NULL = os.makedev(1, 3)


class Sink(Protocol):
    """The destination of entries."""

    def write(self, level: str, event: Mapping[str, Any]) -> None:
        """Write one entry; never block, never raise OSError."""


class Journal:
    """journald, over its native protocol."""

    def __init__(self, identifier: str, path: str = SOCKET, console: Console | None = None) -> None:
        """Send to the socket *path*, as *identifier*; errors and waits go to *console* too."""
        self.dropped = 0
        """Entries that were lost since the last one that was delivered."""
        self._identifier = identifier
        self._path = path
        self._console = console

    def write(self, level: str, event: Mapping[str, Any]) -> None:
        """Send one entry; one that is lost is counted, and the next one that is delivered reports the number."""
        entry = fields(level, event, self._identifier)
        if self.dropped:
            entry["MESSAGE"] += f" ({self.dropped} entries before this one were lost)"
            entry["DROPPED_ENTRIES"] = str(self.dropped)
        try:
            self._send(encoded(entry))
            self.dropped = 0
        except OSError:
            # journald is down or does not read. A blocking socket would stop the boot here.
            self.dropped += 1
        if self._console and (PRIORITIES[level] <= PRIORITIES["error"] or event.get("message") in ON_CONSOLE):
            self._console.write(f"{self._identifier}: {readable(event)}")

    def _send(self, datagram: bytes) -> None:
        kind = socket.SOCK_DGRAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC
        with socket.socket(socket.AF_UNIX, kind) as line:
            try:
                line.sendto(datagram, self._path)
            except OSError as error:
                if error.errno not in (errno.EMSGSIZE, errno.ENOBUFS):
                    raise
                _send_sealed(line, datagram, self._path)


def _send_sealed(line: socket.socket, datagram: bytes, path: str) -> None:
    """Send what is too large for a datagram as a sealed memory file, which cannot be changed any more."""
    memory = os.memfd_create("journal-entry", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with os.fdopen(memory, "wb", buffering=0) as file:
        file.write(datagram)
        fcntl.fcntl(memory, fcntl.F_ADD_SEALS, _SEALS)
        line.sendmsg([], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", [memory]))], 0, path)


class Console:
    """The machine's console: often a slow serial line, sometimes absent."""

    def __init__(self, path: str = CONSOLE) -> None:
        """Write to *path*, opened at the first line."""
        self.failures = 0
        """Lines that were not written completely."""
        self._path = path
        # Kept open: closing a serial line waits until it has sent everything.
        self._descriptor: int | None = None

    def write(self, text: str) -> None:
        """Write as much of one line as goes without blocking; a hung-up terminal (vhangup(2)) is opened again."""
        shown = "".join(character if character.isprintable() else " " for character in text)
        for _ in range(2):
            try:
                if self._descriptor is None:
                    flags = os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC
                    self._descriptor = os.open(self._path, flags)
                os.write(self._descriptor, f"{shown}\r\n".encode(errors="replace"))
            except BlockingIOError:
                break
            except OSError:
                self.close()
            else:
                return
        self.failures += 1

    def close(self) -> None:
        """Close the terminal."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            with suppress(OSError):
                os.close(descriptor)


class Terminal:
    """Standard error, when nodenetd was started by hand."""

    def __init__(self, identifier: str) -> None:
        """Begin each line with *identifier*."""
        self._identifier = identifier

    def write(self, level: str, event: Mapping[str, Any]) -> None:
        """Print one line, and a traceback below it if there is one."""
        shown = "" if level == "info" else f"{level}: "
        text = f"{self._identifier}: {shown}{readable(event)}"
        with suppress(OSError, ValueError):
            print("\n".join(filter(None, (text, event.get("exception")))), file=sys.stderr, flush=True)  # noqa: T201


def configure(
    identifier: str,
    *,
    socket_path: str = SOCKET,
    level: str = "info",
    native: bool | None = None,
    seen: Callable[[Message], None] | None = None,
) -> Sink:
    """Send the calls of ``structlog.get_logger()`` to the journal, or to standard error if that is not the journal.

    *native* overrules that choice. The *message* of a call is a Message, with which *seen* is called; other keywords
    become fields.
    """
    native = _is_journal(sys.stderr.fileno()) if native is None else native
    sink: Sink = Journal(identifier, socket_path, Console()) if native else Terminal(identifier)

    def deliver(_: object, method: str, event: Mapping[str, Any]) -> Mapping[str, Any]:
        sink.write(_level(method), event)
        if seen is not None and isinstance(message := event.get("message"), Message):
            seen(message)
        raise structlog.DropEvent

    structlog.configure(
        processors=[structlog.processors.format_exc_info, deliver],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
    )
    return sink


def fields(level: str, event: Mapping[str, Any], identifier: str) -> dict[str, str]:
    """Return the entry's fields. Raises ValueError for a keyword that is not a valid field name."""
    message = event.get("message")
    entry = {
        "MESSAGE": str(event["event"]),
        "PRIORITY": str(PRIORITIES[level]),
        "SYSLOG_IDENTIFIER": identifier,
    }
    if isinstance(message, Message):
        entry["MESSAGE_ID"] = message.value
    for key, value in event.items():
        if key not in ("event", "message") and value is not None:
            name = key.upper()
            if not FIELD.fullmatch(name) or name in OWN_FIELDS:
                raise ValueError(f"{key!r} cannot be a field of a journal entry")
            entry[name] = str(value.value if isinstance(value, Enum) else value)
    return entry


def encoded(entry: Mapping[str, str]) -> bytes:
    """Return *entry* in the native protocol: NAME=value, or with the value's length where it has several lines."""
    parts = []
    for name, text in entry.items():
        value = text.encode(errors="backslashreplace")
        if b"\n" in value:
            parts.append(name.encode() + b"\n" + len(value).to_bytes(8, "little") + value + b"\n")
        else:
            parts.append(name.encode() + b"=" + value + b"\n")
    return b"".join(parts)


def readable(event: Mapping[str, Any]) -> str:
    """Return an entry as one text without fields: the message, and the remedy if it has one."""
    text, remedy = str(event["event"]), event.get("remedy")
    return f"{text}. {remedy}" if remedy else text


def _level(method: str) -> str:
    return {"exception": "error", "warn": "warning", "fatal": "critical"}.get(method, method)


def _is_journal(descriptor: int) -> bool:
    """Return whether *descriptor* is connected to the journal (systemd.exec(5), JOURNAL_STREAM).

    So is /dev/null: systemd connects it when journald was not running at our start.
    """
    with suppress(OSError):
        status = os.fstat(descriptor)
        stream = f"{status.st_dev}:{status.st_ino}"
        return os.environ.get("JOURNAL_STREAM") == stream or status.st_rdev == _DEV_NULL
    return True
