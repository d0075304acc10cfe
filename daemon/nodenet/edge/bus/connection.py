"""How does the daemon speak D-Bus, on a bus that may be late, stalled, killed or never there?

The only room that knows dbus-next, beside ``bus_call`` and the thin clients next to it. Two of that library's
habits are answered here: it never reconnects (``Bus.run`` does, with back-off), and it drops the connection once
about a hundred messages queue on a bus that does not read (what is emitted goes through a bounded, coalescing
outbox that waits for an answer of the bus before it sends more).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dbus_next.aio.message_bus import MessageBus
from dbus_next.constants import BusType, MessageType, RequestNameReply
from dbus_next.message import Message
from dbus_next.signature import Variant

from nodenet.core.errors import Unavailable
from nodenet.edge.bus.call import Refused, answer_to

DBUS = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
SYSTEM_BUS = "unix:path=/run/dbus/system_bus_socket"
PROPERTIES = "org.freedesktop.DBus.Properties"
CALL_SECONDS = 5.0
BACK_OFF_SECONDS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
OUTBOX_LIMIT = 64
WINDOW = 16
"""Messages emitted before the bus must have answered; far below the hundred that dbus-next survives."""

__all__ = ["Bus", "Message", "MessageType", "Refused", "Variant", "just"]


@dataclass(frozen=True, slots=True)
class Subscription:
    """A match rule (D-Bus specification, "Match Rules") and who is told."""

    rule: str
    path: str
    member: str
    handler: Callable[[Sequence[Any]], None]


class Bus:
    """One connection to the system bus, kept up for as long as ``run`` runs."""

    def __init__(self, *, address: str | None = None, changed: Callable[[bool], None]) -> None:
        """Prepare only. *changed* is told when the bus comes (True) and goes (False)."""
        self._address = address or os.environ.get("DBUS_SYSTEM_BUS_ADDRESS", SYSTEM_BUS)
        self._changed = changed
        self._bus: Any = None
        self._up = asyncio.Event()
        self._subscriptions: list[Subscription] = []
        self._name: str | None = None
        self.owns_name = False
        """Whether programs reach us by our name; state file and journal say the same without it."""
        self._serve: Callable[[Message], bool] | None = None
        self._outbox: dict[object, Callable[[], Message | None]] = {}
        self._emitting = asyncio.Event()
        self._lent: dict[asyncio.Future[Any], Sequence[int]] = {}
        """Descriptors that are queued to be sent."""

    @property
    def connected(self) -> bool:
        """Whether the bus can be called at this moment; never for whoever learns from a call that it went away."""
        return self._up.is_set() and bool(self._bus.connected)

    def serve(self, name: str, handler: Callable[[Message], bool]) -> None:
        """Own *name* and hand every method call to *handler*, which returns whether it was for it."""
        self._name, self._serve = name, handler

    def subscribe(self, rule: str, path: str, member: str, handler: Callable[[Sequence[Any]], None]) -> None:
        """Tell *handler* the body of each signal *member* from *path*; call before ``run``."""
        self._subscriptions.append(Subscription(rule, path, member, handler))

    async def listen(self, rule: str, path: str, member: str, handler: Callable[[Sequence[Any]], None]) -> None:
        """Subscribe while the bus runs. Raises as ``call``."""
        await self.call(*DBUS, "AddMatch", "s", [rule])
        self._subscriptions.append(Subscription(rule, path, member, handler))

    async def wait_up(self, seconds: float) -> bool:
        """Wait until the bus answers, at most *seconds*; tell whether it does."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._up.wait()
        return self.connected

    async def run(self) -> None:
        """Connect, reconnect and emit until cancelled."""
        attempt = 0
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._emit_forever())
            while True:
                try:
                    async with self._connection() as gone:
                        attempt = 0
                        await gone
                except (OSError, EOFError, TimeoutError, Unavailable, Refused):
                    pass  # not there, or gone: either way the next attempt is the answer
                except Exception as error:  # dbus-next raises bare library errors when a bus dies
                    if type(error).__module__.split(".")[0] != "dbus_next":
                        raise
                await asyncio.sleep(BACK_OFF_SECONDS[min(attempt, len(BACK_OFF_SECONDS) - 1)])
                attempt += 1

    @contextlib.asynccontextmanager
    async def _connection(self) -> AsyncIterator[Any]:
        _must_accept(self._address)
        bus = _Connection(self._address, BusType.SYSTEM, negotiate_unix_fd=self._serve is not None)
        try:
            async with asyncio.timeout(CALL_SECONDS):
                await bus.connect()
            bus.add_message_handler(self._received)
            self._bus = bus
            for rule in {subscription.rule for subscription in self._subscriptions}:
                await self._ask_bus("AddMatch", "s", [rule])
            if self._name:
                self.owns_name = await self._own(self._name)
            self._up.set()
            self._changed(True)  # noqa: FBT003  (a callback's only argument)
            yield bus.wait_for_disconnect()
        finally:
            self._bus = None
            if self._up.is_set():
                self._up.clear()
                self._changed(False)  # noqa: FBT003
            bus.close()
            while self._lent:
                _close(self._lent.popitem()[1])

    async def _own(self, name: str) -> bool:
        """Ask for *name*; tell whether it is ours. Without it nobody can call us, but we can call others."""
        try:
            (reply,) = await self._ask_bus("RequestName", "su", [name, 0])  # 0: queue behind another owner
        except Refused:  # no policy file allows it
            return False
        return reply in (RequestNameReply.PRIMARY_OWNER.value, RequestNameReply.ALREADY_OWNER.value)

    async def _ask_bus(self, member: str, signature: str = "", body: Sequence[Any] = ()) -> list[Any]:
        message = Message(*DBUS, member, signature=signature, body=list(body))
        return await answer_to(message, self._bus, CALL_SECONDS)

    async def call(  # noqa: PLR0913  (a D-Bus call has that many parts)
        self,
        destination: str,
        path: str,
        interface: str,
        member: str,
        signature: str = "",
        body: Sequence[Any] = (),
        *,
        seconds: float = CALL_SECONDS,
    ) -> list[Any]:
        """Call a method and return the body of its reply.

        Raises Unavailable when there is no bus or it goes away, nobody owns *destination* or no reply comes
        within *seconds*; Refused when the service answers with another error.
        """
        if not self.connected:
            raise Unavailable("the system bus does not answer")
        message = Message(destination, path, interface, member, signature=signature, body=list(body))
        return await answer_to(message, self._bus, seconds)

    async def get(self, destination: str, path: str, interface: str, name: str) -> Any:  # noqa: ANN401
        """Return the plain value of a property. Raises as ``call``."""
        (value,) = await self.call(destination, path, PROPERTIES, "Get", "ss", [interface, name])
        return value.value

    async def uid_of(self, sender: str) -> int:
        """Return the user id behind a connection's unique name. Raises as ``call``."""
        (uid,) = await self.call(*DBUS, "GetConnectionUnixUser", "s", [sender])
        return int(uid)

    def reply(self, message: Message) -> None:
        """Send the reply to a call that came over this bus; dropped when the bus has gone since.

        Descriptors that it carries are closed here once they are on their way or never will be: not earlier, for
        what is queued names them by number, and numbers are used again.
        """
        if self._bus is None or not self._bus.connected:
            _close(message.unix_fds)
            return
        sent = self._bus.send(message)
        if message.unix_fds:
            self._lent[sent] = message.unix_fds
            sent.add_done_callback(self._take_back)

    def _take_back(self, sent: asyncio.Future[Any]) -> None:
        if not sent.cancelled():
            sent.exception()  # the connection broke: its end is told elsewhere
        _close(self._lent.pop(sent, ()))

    def emit(self, key: object, make: Callable[[], Message | None]) -> None:
        """Emit what *make* returns as soon as the bus takes it; a later one with the same *key* replaces it."""
        self._outbox.pop(key, None)
        while len(self._outbox) >= OUTBOX_LIMIT:
            self._outbox.pop(next(iter(self._outbox)))
        self._outbox[key] = make
        self._emitting.set()

    async def _emit_forever(self) -> None:
        while True:
            await self._emitting.wait()
            await self._up.wait()
            self._emitting.clear()
            try:
                await self._emit_window()
            except (Unavailable, Refused):
                self._emitting.set()
                await asyncio.sleep(BACK_OFF_SECONDS[3])

    async def _emit_window(self) -> None:
        while self._outbox:
            for key in list(self._outbox)[:WINDOW]:
                message = self._outbox.pop(key)()
                if message is not None:
                    self.reply(message)
            await self._ask_bus("GetId")  # answered only when everything before it has been read

    def _received(self, message: Message) -> bool:
        _close(message.unix_fds)  # nobody asked for any, and whoever sends some must not fill our table
        if message.message_type is MessageType.METHOD_CALL:
            return self._serve(message) if self._serve else False
        if message.message_type is MessageType.SIGNAL:
            for subscription in self._subscriptions:
                if (subscription.path, subscription.member) == (message.path, message.member):
                    subscription.handler(message.body)
        return False


class _Connection(MessageBus):  # type: ignore[misc]  # dbus-next has no types
    """dbus-next's connection, which would ask for ever, without a pause, a bus that hangs up before it has greeted."""

    async def _auth_readline(self) -> str:
        line = b""
        while not line.endswith(b"\r\n"):
            if not (read := await self._loop.sock_recv(self._sock, 2)):
                raise EOFError
            line += read
        return line[:-2].decode()

    def close(self) -> None:
        """Disconnect, which alone leaves the socket open; asyncio is not to complain of an end that nobody awaited."""
        self.disconnect()
        self._sock.close()
        self._disconnect_future.cancel()


def just(message: Message) -> Callable[[], Message]:
    """Return what ``Bus.emit`` takes, for a message that is what it is."""
    return lambda: message


def _close(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors or ():
        os.close(descriptor)


def _must_accept(address: str) -> None:
    """Raise OSError unless the bus takes a connection now: dbus-next's own connect would block the loop.

    A stalled bus fills its backlog with our attempts; the next connect(2) then waits for ever.
    """
    path = address.removeprefix("unix:path=").split(",", maxsplit=1)[0]
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as probe:
        probe.connect(path)
