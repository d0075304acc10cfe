"""How are objects on the bus served: calls that read to all users, calls that change something to root?

Calls that read wait in a separate queue; calls of root never wait behind them. A subclass defines the object and its
methods. Every call, whatever it contains, is answered with a reply or an error.
"""

from __future__ import annotations

import abc
import asyncio
import time
from collections.abc import Coroutine, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import structlog

from nodenet.core.errors import AccessDenied, NodenetError, Unavailable, UsageInvalid
from nodenet.core.messages import Message as MessageId
from nodenet.core.stage_name import StageName
from nodenet.core.status.bus_interfaces import Interface, introspection
from nodenet.edge.bus.call import CallQueue
from nodenet.edge.bus.connection import PROPERTIES, UNKNOWN_METHOD, Bus, Frame, Message, Refused, Variant, just
from nodenet.edge.bus.frames import NO_REPLY_EXPECTED, close

log = structlog.get_logger()

LONGEST_ARGUMENT = 256
LIMITS_EXCEEDED = "org.freedesktop.DBus.Error.LimitsExceeded"
MOST_UNCHECKED = 64
"""Orders for which the bus is being asked who calls."""
SHORT_SECONDS = 0.002
"""After an answer that took longer, the process does something else for as long."""
MACHINE_ID = Path("/etc/machine-id")
Objects = Mapping[str, tuple[Interface, StageName | None]]
"""Object path → its interface, and the stage that it represents."""


class BusObjects(abc.ABC):
    """The objects that a process serves under one name."""

    def __init__(self, bus: Bus, name: str, objects: Objects) -> None:
        """Serve *objects* on *bus*."""
        self._bus = bus
        self._objects = objects
        self._emitted = 0
        self._dirty: dict[str, dict[str, Any]] = {path: {} for path in objects}
        self._tasks: set[asyncio.Task[None]] = set()
        self._questions = CallQueue()
        self._answering: asyncio.Task[None] | None = None
        self._unchecked = 0
        self._failed: set[str] = set()
        bus.serve(name, self.handle)

    @abc.abstractmethod
    def values(self, path: str) -> dict[str, Any]:
        """Return the value of each property of an object."""

    @abc.abstractmethod
    def document(self, member: str, arguments: list[str]) -> str | None:
        """Return the document that a question asks for, None for arguments that it does not take."""

    @abc.abstractmethod
    async def obey(self, member: str, arguments: list[str]) -> Any:  # noqa: ANN401
        """Do what an order of root asks for; return what its reply holds, a new descriptor among it. May raise."""

    def emit(self, path: str, interface: Interface, name: str, body: list[Any]) -> None:
        """Emit a signal; while the bus is stalled, the oldest ones are lost."""
        self._emitted += 1
        message = Message.new_signal(path, interface.name, name, interface.signals[name], body)
        self._bus.emit((name, self._emitted), just(message))

    def emit_properties(self, path: str, old: dict[str, Any], new: dict[str, Any]) -> None:
        """Emit which properties of an object changed, as one signal."""
        self._dirty[path] |= {name: value for name, value in new.items() if value != old.get(name)}
        if self._dirty[path]:
            self._bus.emit(("PropertiesChanged", path), partial(self._properties_changed, path))

    def _properties_changed(self, path: str) -> Message:
        """Return the signal as of the moment it is sent, so that a stalled bus costs one message an object."""
        interface, _ = self._objects[path]
        changed, self._dirty[path] = _variants(interface, self._dirty[path]), {}
        return Message.new_signal(path, PROPERTIES, "PropertiesChanged", "sa{sv}as", [interface.name, changed, []])

    def handle(self, call: Frame) -> None:
        """Take a method call. Orders begin at once, questions are answered one by one."""
        if self._is_order(call) and self._unchecked < MOST_UNCHECKED:
            self._unchecked += 1  # here, not in the task: many calls can come in one turn of the loop
            self._start(self._carry_out(call))
        elif call.flags & NO_REPLY_EXPECTED:
            return  # the caller wants no reply
        elif not self._is_order(call) and self._questions.put(call):
            if self._answering is None or self._answering.done():
                self._answering = self._start(self._answer_questions())
        elif not self._bus.crowded:
            self._reply(call, Message.new_error(call, LIMITS_EXCEEDED, "too many calls at once"))

    def _start(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _answer_questions(self) -> None:
        """Answer what waits, in at most half of the daemon's time."""
        while call := self._questions.take():
            began = time.monotonic()
            self._reply(call, self._answer(call))
            await self._bus.drained()
            took = time.monotonic() - began
            await asyncio.sleep(took if took > SHORT_SECONDS else 0)

    def _answer(self, call: Frame) -> Message:
        try:
            return self._answered(call)
        except Exception as error:  # noqa: BLE001  (the caller is not left without an answer)
            return self._failure(call, error)

    async def _carry_out(self, call: Frame) -> None:
        try:
            reply = await self._carried_out(call)
        except Exception as error:  # noqa: BLE001  (the same)
            reply = self._failure(call, error)
        self._reply(call, reply)

    def _failure(self, call: Frame, error: Exception) -> Message:
        """Return the error reply: the cause and the remedy, never a traceback."""
        if isinstance(error, NodenetError):
            return Message.new_error(call, error.bus_name, str(error))
        if call.member not in self._failed:  # once: anybody may call again and again
            self._failed.add(call.member)
            text = f"{call.member} over D-Bus failed: {error!r}"
            log.error(text, message=MessageId.INTERNAL_ERROR, exc_info=error)
        return Message.new_error(call, NodenetError.bus_name, "an internal error, see the journal")

    def _reply(self, call: Frame, reply: Message) -> None:
        if call.flags & NO_REPLY_EXPECTED:
            close(reply.unix_fds or ())  # an inhibitor that no caller gets must not last
            return
        try:
            self._bus.reply(call, reply)
        except Exception as error:  # noqa: BLE001  (a value that does not fit its type is a fault of ours)
            self._bus.reply(call, self._failure(call, error))

    def _answered(self, call: Frame) -> Message:
        """Return the reply to a question."""
        interface, _ = self._objects.get(call.path, (None, None))
        described = introspection(call.path, self._objects)
        match call.interface, call.member, interface:
            case "org.freedesktop.DBus.Introspectable", "Introspect", _ if text := described:
                signature, body = "s", [text]
            case "org.freedesktop.DBus.Peer", "Ping", _:
                signature, body = "", []
            case "org.freedesktop.DBus.Peer", "GetMachineId", _:
                signature, body = "s", [_machine_id()]
            case "org.freedesktop.DBus.Properties", _, Interface():
                signature, body = self._property(interface, call)
            case name, _, Interface() if name == interface.name:
                signature, body = "s", [self._document(interface, call)]
            case _:
                text = f"{call.interface}.{call.member} is not a method of {call.path}"
                return Message.new_error(call, UNKNOWN_METHOD, text)
        return Message.new_method_return(call, signature, body)

    async def _carried_out(self, call: Frame) -> Message:
        """Do what an order asks for; return its reply."""
        try:
            arguments = await self._checked(call)
        finally:
            self._unchecked -= 1
        _, outward = self._objects[call.path][0].methods[call.member]
        result = await self.obey(call.member, arguments)
        if outward == "h":
            return Message.new_method_return(call, outward, [0], [result])
        return Message.new_method_return(call, outward, [] if result is None else [result])

    def _property(self, interface: Interface, call: Frame) -> tuple[str, list[Any]]:
        """Return signature and body of the reply to a call of org.freedesktop.DBus.Properties."""
        if call.member == "Set":
            raise AccessDenied(f"Every property of {interface.name} is read-only")
        if (call.member, call.signature) not in (("GetAll", "s"), ("Get", "ss")):
            raise unknown(call)
        values = self.values(call.path)
        match arguments_of(call):
            case [wanted] if wanted in (interface.name, ""):
                return "a{sv}", [_variants(interface, values)]
            case [wanted, name] if wanted in (interface.name, "") and name in values:
                return "v", [Variant(interface.properties[name], values[name])]
        raise unknown(call)

    async def _checked(self, call: Frame) -> list[str]:
        """Return the arguments of an order. The caller is checked here too: a policy file may be missing or edited."""
        interface, stage = self._objects[call.path]
        if call.signature != interface.methods[call.member][0]:
            raise unknown(call)
        arguments = arguments_of(call) + ([stage.value] if stage else [])
        try:
            uid = await self._bus.uid_of(call.sender)
        except Refused as error:
            raise AccessDenied("the bus does not say who calls", remedy="Call again") from error
        if uid != 0:
            raise AccessDenied(f"{call.member} is for root only", remedy="Call it as root")
        return arguments

    def _is_order(self, call: Frame) -> bool:
        """Return whether *call* is of a method for root only."""
        interface, _ = self._objects.get(call.path, (None, None))
        return interface is not None and interface.name == call.interface and call.member in interface.mutators

    def _document(self, interface: Interface, call: Frame) -> str:
        """Return the document that a call asks for."""
        if call.signature == interface.methods.get(call.member, (None,))[0]:
            found = self.document(call.member, arguments_of(call))
            if found is not None:
                return found
        raise unknown(call)


def _machine_id() -> str:
    """Return the machine's id (machine-id(5)). Raises Unavailable while it has none."""
    try:
        return MACHINE_ID.read_text(encoding="ascii").strip()
    except (OSError, ValueError) as error:
        raise Unavailable("this machine has no id yet", remedy="See machine-id(5)") from error


def _variants(interface: Interface, values: dict[str, Any]) -> dict[str, Variant]:
    return {name: Variant(interface.properties[name], value) for name, value in values.items()}


def arguments_of(call: Frame) -> list[str]:
    """Return the arguments, all of which are short strings. Raises UsageInvalid."""
    if call.body is None:
        raise UsageInvalid(f"arguments of {call.size} bytes are longer than {LONGEST_ARGUMENT} characters each")
    arguments = [str(argument) for argument in call.values()]
    for argument in arguments:
        if len(argument) > LONGEST_ARGUMENT:
            raise UsageInvalid(f"an argument of {len(argument)} characters is longer than {LONGEST_ARGUMENT}")
    return arguments


def unknown(call: Frame) -> UsageInvalid:
    """Return the error for a call that no interface here has."""
    return UsageInvalid(
        f"{call.interface}.{call.member}({call.signature}) is not known here",
        remedy=f"See its introspection at {call.path}",
    )
