"""How does a call leave this connection, and how does one that comes in wait for its turn?"""

from __future__ import annotations

import asyncio
import re
import sys
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dbus_next.signature import Variant

from nodenet.core.errors import Unavailable
from nodenet.edge.bus.frames import ERROR, Frame, close

if TYPE_CHECKING:
    from dbus_next.message import Message

    from nodenet.edge.bus.transport import Transport

ABSENT = (".ServiceUnknown", ".NameHasNoOwner", ".NoReply", ".Disconnected")
"""How the errors end that the bus itself answers with where a service is not there, or no longer."""
UNREADABLE = "org.freedesktop.DBus.Error.InconsistentMessage"
REPLY_BYTES = 16 * 1024 * 1024
"""More than NetworkManager's answer for ten thousand links; the bus passes on only replies to calls that were made."""
_NOT_TEXT = re.compile("[\0\ud800-\udfff]")


class Refused(Exception):
    """The called service answered with a D-Bus error."""

    def __init__(self, name: str, text: str) -> None:
        """Keep the error's *name*, which programs look at, and its *text*, which people read."""
        super().__init__(f"{name}: {text}")
        self.name = name
        self.text = text


class Calls:
    """The calls over one connection that wait for a reply."""

    def __init__(self, transport: Transport) -> None:
        """Call over *transport*."""
        self._transport = transport
        self._serial = 0
        self._waiting: dict[int, asyncio.Future[Frame]] = {}

    def send(self, message: Message) -> int:
        """Send a message; return its serial number. Its descriptors are closed when they are sent, or cannot be.

        Raises an error of dbus-next's for a body that does not fit the signature, OSError where the bus passes no
        descriptors.
        """
        if message.unix_fds and not self._transport.passes_descriptors:
            close(message.unix_fds)
            raise OSError("the bus passes no file descriptors")
        self._serial += 1
        message.serial = self._serial
        message.body = encodable(message.body)
        data = message._marshall(negotiate_unix_fd=True)  # noqa: SLF001  (dbus-next has no other way)
        self._transport.send(data, message.unix_fds or ())
        return self._serial

    async def answer_to(self, message: Message, seconds: float) -> list[Any]:
        """Send a method call; return the body of its reply.

        Raises Unavailable when the bus goes away, the destination has no owner or no reply comes within *seconds*;
        Refused when the service answers with another error.
        """
        serial = self.send(message)
        reply: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        self._waiting[serial] = reply
        if self._transport.ended.done():
            reply.cancel()
        try:
            # Not wait_for: before Python 3.12 it swallows a cancellation that comes with the reply.
            async with asyncio.timeout(seconds):
                await asyncio.wait({reply})
        except TimeoutError as error:
            raise Unavailable(f"no answer from {message.destination} within {seconds:g} s") from error
        finally:
            self._waiting.pop(serial, None)
        if reply.cancelled():
            raise Unavailable(f"the system bus went away before {message.destination} answered")
        return _body(reply.result(), str(message.destination))

    def room(self, frame: Frame) -> int:
        """Return how large the body of a reply may be: nothing is kept that answers no call."""
        return REPLY_BYTES if frame.reply_serial in self._waiting else 0

    def take(self, frame: Frame) -> None:
        """Give a reply to the call that waits for it, if one does."""
        reply = self._waiting.pop(frame.reply_serial, None)
        if reply and not reply.done():
            reply.set_result(frame)

    def end(self) -> None:
        """End all calls: the connection has ended."""
        while self._waiting:
            self._waiting.popitem()[1].cancel()


def _body(reply: Frame, destination: str) -> list[Any]:
    if reply.kind == ERROR and reply.error_name.endswith(ABSENT):
        raise Unavailable(f"{destination} is not on the bus")
    try:
        body = reply.values()
    except ValueError as error:
        raise Refused(UNREADABLE, f"the answer of {destination} cannot be read: {error}") from error
    if reply.kind == ERROR:
        raise Refused(reply.error_name, str(body[0]) if body else "")
    return body


def encodable(value: Any) -> Any:  # noqa: ANN401  (the body of a message, or a part)
    """Return *value* with U+FFFD for what no D-Bus string may hold: NUL and lone surrogates.

    Texts come from files and from other programs; the bus ends a connection that sends such a string.
    """
    match value:
        case str():
            return value if value.isascii() and "\0" not in value else _NOT_TEXT.sub("\ufffd", value)
        case list() | tuple():
            return [encodable(each) for each in value]
        case dict():
            return {encodable(key): encodable(each) for key, each in value.items()}
        case Variant():
            return Variant(value.signature, encodable(value.value))
        case _:
            return value


MOST_OF_A_CALLER = 128
"""As many calls as dbus-daemon lets a connection have open (max_replies_per_connection)."""
MOST = 16_384
BYTES_OF_A_CALLER = 128 * 1024
"""128 usual calls fit. Any program may send calls of 20 KB, most of which is the path; a few of these fit."""
BYTES = MOST // MOST_OF_A_CALLER * BYTES_OF_A_CALLER
"""16 MB. As many callers fill it as fill the queue with usual calls."""


class CallQueue:
    """Calls that wait for their answer."""

    def __init__(self) -> None:
        """Begin empty."""
        self._callers: dict[str, _Caller] = {}
        self._size = 0
        self._bytes = 0

    def __len__(self) -> int:
        """How many calls wait."""
        return self._size

    def put(self, call: Frame) -> bool:
        """Queue a call; return False where its caller, or all together, have too many or too large ones."""
        size = _bytes_of(call)
        caller = self._callers.get(call.sender) or _Caller()
        if self._size >= MOST or self._bytes + size > BYTES or not caller.has_room(size):
            return False
        self._callers[call.sender] = caller
        caller.calls.append(call)
        caller.bytes += size
        self._size += 1
        self._bytes += size
        return True

    def take(self) -> Frame | None:
        """Return the next call, None when none waits."""
        if not self._size:
            return None
        sender = next(iter(self._callers))
        caller = self._callers.pop(sender)
        call = caller.calls.popleft()
        size = _bytes_of(call)
        caller.bytes -= size
        if caller.calls:
            self._callers[sender] = caller  # behind all others
        self._size -= 1
        self._bytes -= size
        return call


@dataclass(slots=True)
class _Caller:
    """The calls of one program that wait."""

    calls: deque[Frame] = field(default_factory=deque)
    bytes: int = 0

    def has_room(self, size: int) -> bool:
        return len(self.calls) < MOST_OF_A_CALLER and self.bytes + size <= BYTES_OF_A_CALLER


def _bytes_of(call: Frame) -> int:
    """Return how much memory a call takes: the message, and its texts, which its caller chose."""
    return sys.getsizeof(call) + sum(sys.getsizeof(part) for part in call)
