"""How does the daemon use D-Bus, on a bus that may be late, stopped, killed or missing?

``Bus.run`` keeps one connection open: whatever ends it, it connects again after a pause. Signals go through a bounded
outbox, which merges changes and waits for an answer of the bus before it sends more.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import structlog
from dbus_next.constants import MessageType
from dbus_next.message import Message
from dbus_next.signature import Variant

from nodenet.core.errors import Unavailable
from nodenet.core.messages import Message as MessageId
from nodenet.core.value import frozen
from nodenet.edge.bus.call import Calls, Refused
from nodenet.edge.bus.frames import ERROR, METHOD_CALL, METHOD_RETURN, NO_REPLY_EXPECTED, SIGNAL, Frame, close
from nodenet.edge.bus.transport import Outbox, Transport

BUS_NAME = "org.freedesktop.DBus"
BUS_PATH = "/org/freedesktop/DBus"
Handler = Callable[[Sequence[Any]], None]


@frozen
class Signal:
    """Which signals are wanted (D-Bus specification, "Match Rules")."""

    sender: str
    """The well-known name whose owner sends it."""
    path: str
    interface: str
    member: str
    argument: tuple[int, str] | None = None
    """The position of an argument, and the string it must be."""

    @property
    def rule(self) -> str:
        """The match rule for the bus."""
        keys = {"sender": self.sender, "path": self.path, "interface": self.interface, "member": self.member}
        keys |= {f"arg{self.argument[0]}": self.argument[1]} if self.argument else {}
        return ",".join(["type='signal'", *(f"{key}='{value}'" for key, value in keys.items())])


def name_owner_changed(name: str) -> Signal:
    """Return the signal that *name* has another owner, or none."""
    return Signal(BUS_NAME, BUS_PATH, BUS_NAME, "NameOwnerChanged", (0, name))


class Subscriptions:
    """The signals that are wanted, and the connections that own the names of their senders."""

    def __init__(self) -> None:
        """Begin with none."""
        self._wanted: list[tuple[Signal, Handler]] = []
        self._owners: dict[str, str] = {BUS_NAME: BUS_NAME}

    def add(self, signal: Signal, handler: Handler) -> None:
        """Pass the body of each such signal to *handler*."""
        self._wanted.append((signal, handler))

    @property
    def senders(self) -> set[str]:
        """The names whose owners must be known."""
        return {signal.sender for signal, _ in self._wanted} - {BUS_NAME}

    @property
    def rules(self) -> set[str]:
        """The match rules of all subscriptions, and of the owners of their senders."""
        owners = {name_owner_changed(name).rule for name in self.senders}
        return {signal.rule for signal, _ in self._wanted} | owners

    def forget_owners(self) -> None:
        """Begin with a new connection: nothing is known about it."""
        self._owners = {BUS_NAME: BUS_NAME}

    def owner_is(self, name: str, owner: str) -> None:
        """Store the bus's answer that *owner* owns *name*, unless a change was reported since: that is newer."""
        self._owners.setdefault(name, owner)

    def has_owner(self, name: str) -> bool | None:
        """Return whether a connection owns *name*, None while the bus has not said it."""
        return None if name not in self._owners else bool(self._owners[name])

    def owner_changed(self, frame: Frame) -> None:
        """Take the bus's report of another owner, if *frame* is one."""
        if (frame.sender, frame.member, frame.path) == (BUS_NAME, "NameOwnerChanged", BUS_PATH):
            name, _, owner = frame.values()
            if name in self.senders:
                self._owners[name] = owner

    def wants(self, frame: Frame) -> bool:
        """Return whether the signal *frame* comes from the right sender and has a handler."""
        return next(self._for(frame), None) is not None or frame.sender == BUS_NAME

    def deliver(self, frame: Frame, failed: Callable[[Exception], None]) -> None:
        """Pass a signal to its handlers; *failed* gets what a handler raises, and the other handlers still run."""
        for signal, handler in tuple(self._for(frame)):
            try:
                body = frame.values()
                if signal.argument is None or body[signal.argument[0]] == signal.argument[1]:
                    handler(body)
            except Exception as error:  # noqa: BLE001  (reported by *failed*)
                failed(error)

    def _for(self, frame: Frame) -> Iterator[tuple[Signal, Handler]]:
        header = (frame.path, frame.interface, frame.member)
        for signal, handler in self._wanted:
            if (signal.path, signal.interface, signal.member) == header:
                owner = self._owners.get(signal.sender)
                if owner and owner == frame.sender:
                    yield signal, handler


log = structlog.get_logger()

DBUS = (BUS_NAME, BUS_PATH, BUS_NAME)
SYSTEM_BUS = "unix:path=/run/dbus/system_bus_socket"
PROPERTIES = "org.freedesktop.DBus.Properties"
UNKNOWN_METHOD = "org.freedesktop.DBus.Error.UnknownMethod"
PRIMARY_OWNER, ALREADY_OWNER = 1, 4
"""Answers of RequestName by which the name is ours (D-Bus specification)."""
CALL_SECONDS = 5.0
CROWDED_SECONDS, CROWDED_TRIES = 2.0, 20
BACK_OFF_SECONDS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
STABLE_SECONDS = 10.0
"""After a connection that lasted as long, the back-off begins from its start."""
STUCK_SECONDS = 10.0
"""A bus that takes nothing of so much for so long is connected to again."""
CALL_BYTES = 4096
"""The longest arguments that a method of ours takes are three strings of 256 characters."""
SIGNAL_BYTES = 1024 * 1024

# What clients of the bus need beside it.
__all__ = ["Bus", "Frame", "Message", "MessageType", "Refused", "Signal", "Variant", "just", "name_owner_changed"]


class Bus:
    """One connection to the system bus, kept up for as long as ``run`` runs."""

    def __init__(self, *, address: str | None = None, changed: Callable[[bool], None]) -> None:
        """Prepare only. *changed* is called when the bus comes (True) and goes (False)."""
        self._address = address or os.environ.get("DBUS_SYSTEM_BUS_ADDRESS", SYSTEM_BUS)
        self._changed = changed
        self._transport: Transport | None = None
        self._connections = itertools.count(1)
        self._calls: Calls | None = None
        self._up = asyncio.Event()
        self._subscriptions = Subscriptions()
        self._name: str | None = None
        self.owns_name = False
        """Whether programs reach us by our name; state file and journal say the same without it."""
        self._serve: Callable[[Frame], None] | None = None
        self._outbox = Outbox()
        self._emitting = asyncio.Event()
        self._reported = ""

    @property
    def connected(self) -> bool:
        """Whether the bus can be called at this moment."""
        return self._up.is_set() and self._transport is not None and not self._transport.ended.done()

    @property
    def greeted(self) -> bool:
        """Whether the bus has answered at all: it may be slow, and is not dead."""
        return self._transport is not None and self._transport.authenticated and not self._transport.ended.done()

    @property
    def crowded(self) -> bool:
        """Whether the bus takes less than it is sent."""
        return self._transport is None or self._transport.crowded

    def serve(self, name: str, handler: Callable[[Frame], None]) -> None:
        """Own *name* and pass every method call to *handler*."""
        self._name, self._serve = name, handler

    def subscribe(self, signal: Signal, handler: Handler) -> None:
        """Pass the body of each such signal to *handler*; call before ``run``."""
        self._subscriptions.add(signal, handler)

    async def listen(self, signal: Signal, handler: Handler) -> None:
        """Subscribe while the bus runs. Raises as ``call``."""
        await self.call(*DBUS, "AddMatch", "s", [name_owner_changed(signal.sender).rule])
        await self.call(*DBUS, "AddMatch", "s", [signal.rule])
        self._subscriptions.add(signal, handler)
        await self._learn_owner(signal.sender)

    async def wait_up(self, seconds: float) -> bool:
        """Wait until the bus answers, at most *seconds*; return whether it does."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._up.wait()
        return self.connected

    async def drained(self) -> None:
        """Wait until the bus has taken most of what it was sent, or has gone.

        dbus-daemon no longer reads a connection whose messages fill the queues of clients that do not read. Only
        another connection helps then.
        """
        if transport := self._transport:
            try:
                async with asyncio.timeout(STUCK_SECONDS):
                    await transport.drained()
            except TimeoutError as error:
                transport.close(error)

    async def run(self) -> None:
        """Connect, reconnect and emit until cancelled."""
        attempt = 0
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._emit_forever())
            while True:
                began = time.monotonic()
                try:
                    async with self._connection() as transport:
                        await asyncio.wait({transport.ended})
                except (OSError, EOFError, TimeoutError, Unavailable, Refused):
                    pass  # not there, or gone: either way the next attempt is the answer
                except Exception as error:  # noqa: BLE001  (reported; no error ends the supervision)
                    self._report("The connection to the system bus failed", error)
                attempt = 0 if time.monotonic() - began > STABLE_SECONDS else attempt
                await asyncio.sleep(BACK_OFF_SECONDS[min(attempt, len(BACK_OFF_SECONDS) - 1)])
                attempt += 1

    @contextlib.asynccontextmanager
    async def _connection(self) -> AsyncIterator[Transport]:
        transport = self._transport = Transport(next(self._connections), self._received, self._room)
        self._calls = Calls(transport)
        transport.ended.add_done_callback(self._ended)
        self._subscriptions.forget_owners()
        try:
            async with asyncio.timeout(CALL_SECONDS):
                await transport.connect(self._address, descriptors=self._serve is not None)
                await self._ask_bus("Hello")
                await asyncio.gather(*(self._ask_bus("AddMatch", "s", [rule]) for rule in self._subscriptions.rules))
                await asyncio.gather(*(self._learn_owner(name) for name in self._subscriptions.senders))
                if self._name:
                    self.owns_name = await self._own(self._name)
            self._up.set()
            self._changed(True)  # noqa: FBT003  (a callback's only argument)
            yield transport
        finally:
            transport.close()
            self._calls.end()
            if self._up.is_set():
                self._up.clear()
                self._changed(False)  # noqa: FBT003

    def _ended(self, ended: asyncio.Future[Exception | None]) -> None:
        if self._calls:
            self._calls.end()
        reason = ended.result()
        if reason and not isinstance(reason, (OSError, EOFError)):
            self._report("The connection to the system bus broke", reason)

    async def _own(self, name: str) -> bool:
        """Ask for *name*; return whether it is ours. Without it no program can call us, but we can call others."""
        try:
            (reply,) = await self._ask_bus("RequestName", "su", [name, 0])  # 0: queue behind another owner
        except Refused:  # no policy file allows it
            return False
        return reply in (PRIMARY_OWNER, ALREADY_OWNER)

    def has_owner(self, name: str) -> bool | None:
        """Return whether a program has *name*, of which signals are subscribed; None while that is not known."""
        return self._subscriptions.has_owner(name)

    async def _learn_owner(self, name: str) -> None:
        with contextlib.suppress(Unavailable):  # the next connection asks
            try:
                (owner,) = await self._ask_bus("GetNameOwner", "s", [name])
            except Refused:
                owner = ""
            self._subscriptions.owner_is(name, owner)

    async def _ask_bus(self, member: str, signature: str = "", body: Sequence[Any] = ()) -> list[Any]:
        message = Message(*DBUS, member, signature=signature, body=list(body))
        return await self._answer_to(message, CALL_SECONDS)

    async def _answer_to(self, message: Message, seconds: float) -> list[Any]:
        if self._calls is None:
            raise Unavailable("the system bus does not answer")
        return await self._calls.answer_to(message, seconds)

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

        Raises Unavailable when there is no bus or it goes away, *destination* has no owner or no reply comes
        within *seconds*; Refused when the service answers with another error.
        """
        if not self.connected:
            raise Unavailable("the system bus does not answer")
        message = Message(destination, path, interface, member, signature=signature, body=list(body))
        return await self._answer_to(message, seconds)

    async def get(self, destination: str, path: str, interface: str, name: str) -> Any:  # noqa: ANN401
        """Return the plain value of a property. Raises as ``call``."""
        (value,) = await self.call(destination, path, PROPERTIES, "Get", "ss", [interface, name])
        return value.value

    async def uid_of(self, sender: str) -> int:
        """Return the user id behind a connection's unique name. Raises as ``call``.

        Asked again when no answer comes: dbus-daemon drops its answers while our queue is full of others' messages.
        """
        question = (*DBUS, "GetConnectionUnixUser", "s", [sender])
        for _ in range(CROWDED_TRIES):
            with contextlib.suppress(Unavailable):
                return int((await self.call(*question, seconds=CROWDED_SECONDS))[0])
        return int((await self.call(*question))[0])

    def reply(self, call: Frame, reply: Message) -> None:
        """Send the reply to a call; dropped when the connection that it came over has ended since.

        The descriptors of *reply* are closed when they are sent, or when they cannot be.
        Raises an error of dbus-next's for a body that does not fit its signature, OSError where the bus passes no
        descriptors.
        """
        if self._calls and self._transport and self._transport.number == call.connection:
            self._calls.send(reply)
        else:
            close(reply.unix_fds or ())

    def emit(self, key: object, make: Callable[[], Message | None]) -> None:
        """Emit what *make* returns as soon as the bus takes it; a later one with the same *key* replaces it."""
        self._outbox.put(key, make)
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
            except Exception as error:  # noqa: BLE001  (reported; one signal less does not end the others)
                self._report("A signal could not be sent", error)
                self._emitting.set()

    async def _emit_window(self) -> None:
        while self._outbox:
            for make in self._outbox.window():
                if self._calls and (message := make()):
                    self._calls.send(message)
            await self._ask_bus("GetId")  # answered only when everything before it has been read

    def _room(self, frame: Frame) -> int:
        """Return how large the body of a message may be, judged by its header."""
        if frame.kind == METHOD_CALL:
            return CALL_BYTES
        if frame.kind == SIGNAL:
            return SIGNAL_BYTES if self._subscriptions.wants(frame) else 0
        return self._calls.room(frame) if self._calls else 0

    def _received(self, frame: Frame) -> None:
        if frame.kind == METHOD_CALL:
            if self._serve:
                self._serve(frame)
            elif not (frame.flags & NO_REPLY_EXPECTED or self.crowded):
                self.reply(frame, Message.new_error(frame, UNKNOWN_METHOD, "nothing can be called here"))
        elif frame.kind == SIGNAL:
            self._subscriptions.owner_changed(frame)
            self._subscriptions.deliver(frame, lambda error: self._report(f"The signal {frame.member} failed", error))
        elif frame.kind in (METHOD_RETURN, ERROR) and self._calls:
            self._calls.take(frame)

    def _report(self, what: str, error: Exception) -> None:
        """Log an error that has no D-Bus name, once until another one comes."""
        text = f"{what}: {error!r}"
        if text != self._reported:
            self._reported = text
            log.error(text, message=MessageId.INTERNAL_ERROR)


def just(message: Message) -> Callable[[], Message]:
    """Return what ``Bus.emit`` takes, for a message that is what it is."""
    return lambda: message
