"""How does nodenetd answer programs over D-Bus, and how does it report changes to them?

The objects, their interfaces and values come from ``core.status.bus_interfaces`` and ``core.status.bus_values``.
All users may ask questions, so these wait in a separate queue; orders are for root and never wait behind them.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import structlog

from nodenet import __version__
from nodenet.core.errors import AccessDenied, NodenetError, Unavailable, UsageInvalid
from nodenet.core.messages import Message as MessageId
from nodenet.core.stage_name import StageName
from nodenet.core.status import bus_values
from nodenet.core.status.bus_interfaces import MANAGER, NAME, OBJECTS, PATH, Interface, introspection
from nodenet.core.status.document import BootStatus, document
from nodenet.edge.bus.call_queue import CallQueue
from nodenet.edge.bus.connection import PROPERTIES, UNKNOWN_METHOD, Bus, Frame, Message, Refused, Variant, just
from nodenet.edge.bus.frames import NO_REPLY_EXPECTED

log = structlog.get_logger()

LONGEST_ARGUMENT = 256
LIMITS_EXCEEDED = "org.freedesktop.DBus.Error.LimitsExceeded"
MOST_UNCHECKED = 64
"""Orders for which the bus is being asked who calls."""
SHORT_SECONDS = 0.002
"""After an answer that took longer, the daemon does something else for as long."""
MACHINE_ID = Path("/etc/machine-id")


@dataclass(frozen=True, slots=True)
class Orders:
    """What callers may ask for; each may raise NodenetError."""

    reload: Callable[[], Awaitable[None]]
    reselect: Callable[[], Awaitable[None]]
    remove_bridge: Callable[[], Awaitable[None]]
    run_stage: Callable[[StageName], None]
    inhibit: Callable[[StageName, str, str], int]
    """Returns the descriptor that goes to the caller; it is closed here once it is sent."""
    explain: Callable[[str], str]


class Service:
    """The object /org/nodenet1 and one below it for each stage."""

    def __init__(self, bus: Bus, orders: Orders, status: Callable[[], BootStatus]) -> None:
        """Serve on *bus*; *status* is asked whenever a property is read."""
        self._bus = bus
        self._orders = orders
        self._status = status
        self._shown: BootStatus | None = None
        self._sequence = 0
        self._emitted = 0
        self._dirty: dict[str, dict[str, Any]] = {path: {} for path in OBJECTS}
        self._tasks: set[asyncio.Task[None]] = set()
        self._questions = CallQueue()
        self._answering: asyncio.Task[None] | None = None
        self._unchecked = 0
        self._failed: set[str] = set()
        bus.serve(NAME, self.handle)

    def show(self, status: BootStatus) -> None:
        """Emit what changed since the last call."""
        before, self._shown = self._shown, status
        if before is None:
            return
        was = {path: self._values(path, before) for path in OBJECTS}
        for stage in bus_values.changed_stages(before, status):
            self._sequence += 1
            body = [stage.name.value, stage.status.value, stage.detail, _microseconds_now(), self._sequence]
            self._emit("StageChanged", body)
        for path in OBJECTS:
            self._emit_properties(path, was[path], self._values(path, status))
        for name, body in bus_values.signals(before, status).items():
            self._emit(name, body)

    def _emit(self, name: str, body: list[Any]) -> None:
        self._emitted += 1
        message = Message.new_signal(PATH, MANAGER.name, name, MANAGER.signals[name], body)
        self._bus.emit((name, self._emitted), just(message))

    def _emit_properties(self, path: str, old: dict[str, Any], new: dict[str, Any]) -> None:
        self._dirty[path] |= {name: value for name, value in new.items() if value != old[name]}
        if self._dirty[path]:
            self._bus.emit(("PropertiesChanged", path), partial(self._properties_changed, path))

    def _properties_changed(self, path: str) -> Message:
        """Return the signal as of the moment it is sent, so that a stalled bus costs one message an object."""
        interface, _ = OBJECTS[path]
        changed, self._dirty[path] = _variants(interface, self._dirty[path]), {}
        return Message.new_signal(path, PROPERTIES, "PropertiesChanged", "sa{sv}as", [interface.name, changed, []])

    def _values(self, path: str, status: BootStatus) -> dict[str, Any]:
        _, stage = OBJECTS[path]
        if stage is None:
            return bus_values.of_manager(status, __version__, self._sequence)
        return bus_values.of_stage(status, stage)

    def handle(self, call: Frame) -> None:
        """Take a method call. Orders begin at once, questions are answered one by one."""
        if _is_order(call) and self._unchecked < MOST_UNCHECKED:
            self._unchecked += 1  # here, not in the task: many calls can come in one turn of the loop
            self._start(self._carry_out(call))
        elif call.flags & NO_REPLY_EXPECTED:
            return  # the caller wants no reply
        elif not _is_order(call) and self._questions.put(call):
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
        return Message.new_error(call, NodenetError.bus_name, "an internal error, see the journal of nodenetd")

    def _reply(self, call: Frame, reply: Message) -> None:
        if call.flags & NO_REPLY_EXPECTED:
            return
        try:
            self._bus.reply(call, reply)
        except Exception as error:  # noqa: BLE001  (a value that does not fit its type is a fault of ours)
            self._bus.reply(call, self._failure(call, error))

    def _answered(self, call: Frame) -> Message:
        """Return the reply to a question."""
        interface, _ = OBJECTS.get(call.path, (None, None))
        match call.interface, call.member, interface:
            case "org.freedesktop.DBus.Introspectable", "Introspect", _ if text := introspection(call.path):
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

    def _document(self, interface: Interface, call: Frame) -> str:
        """Return the document that a call asks for."""
        if call.signature == interface.methods.get(call.member, (None,))[0]:
            match call.member, _arguments(call):
                case "Explain", [topic]:
                    return self._orders.explain(topic)
                case "GetStatus", []:
                    return json.dumps(document(self._status()))
        raise _unknown(call)

    async def _carried_out(self, call: Frame) -> Message:
        """Do what an order asks for; return its reply."""
        try:
            arguments = await self._checked(call)
        finally:
            self._unchecked -= 1
        _, outward = OBJECTS[call.path][0].methods[call.member]
        if outward == "h":
            return Message.new_method_return(call, outward, [0], [self._held(*arguments)])
        await self._obey(call.member, arguments)
        return Message.new_method_return(call)

    def _held(self, stage: str, who: str, why: str) -> int:
        return self._orders.inhibit(_stage(stage), who, why)

    async def _obey(self, member: str, arguments: list[str]) -> None:
        match member, arguments:
            case "Reload", []:
                await self._orders.reload()
            case "Reselect", []:
                await self._orders.reselect()
            case "RemoveBridge", []:
                await self._orders.remove_bridge()
            case "RunStage" | "Run", [name]:
                self._orders.run_stage(_stage(name))

    def _property(self, interface: Interface, call: Frame) -> tuple[str, list[Any]]:
        """Return signature and body of the reply to a call of org.freedesktop.DBus.Properties."""
        if call.member == "Set":
            raise AccessDenied("Every property of nodenetd is read-only")
        if (call.member, call.signature) not in (("GetAll", "s"), ("Get", "ss")):
            raise _unknown(call)
        values = self._values(call.path, self._status())
        match _arguments(call):
            case [wanted] if wanted in (interface.name, ""):
                return "a{sv}", [_variants(interface, values)]
            case [wanted, name] if wanted in (interface.name, "") and name in values:
                return "v", [Variant(interface.properties[name], values[name])]
        raise _unknown(call)

    async def _checked(self, call: Frame) -> list[str]:
        """Return the arguments of an order. The caller is checked here too: a policy file may be missing or edited."""
        interface, stage = OBJECTS[call.path]
        if call.signature != interface.methods[call.member][0]:
            raise _unknown(call)
        arguments = _arguments(call) + ([stage.value] if stage else [])
        try:
            uid = await self._bus.uid_of(call.sender)
        except Refused as error:
            raise AccessDenied("the bus does not say who calls", remedy="Call again") from error
        if uid != 0:
            raise AccessDenied(f"{call.member} is for root only", remedy="Call it as root")
        return arguments


def _machine_id() -> str:
    """Return the machine's id (machine-id(5)). Raises Unavailable while it has none."""
    try:
        return MACHINE_ID.read_text(encoding="ascii").strip()
    except (OSError, ValueError) as error:
        raise Unavailable("this machine has no id yet", remedy="See machine-id(5)") from error


def _is_order(call: Frame) -> bool:
    """Return whether *call* is of a method that changes something."""
    interface, _ = OBJECTS.get(call.path, (None, None))
    return interface is not None and interface.name == call.interface and call.member in interface.mutators


def _variants(interface: Interface, values: dict[str, Any]) -> dict[str, Variant]:
    return {name: Variant(interface.properties[name], value) for name, value in values.items()}


def _microseconds_now() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


def _arguments(call: Frame) -> list[str]:
    """Return the arguments, all of which are short strings. Raises UsageInvalid."""
    if call.body is None:
        raise UsageInvalid(f"arguments of {call.size} bytes are longer than {LONGEST_ARGUMENT} characters each")
    arguments = [str(argument) for argument in call.values()]
    for argument in arguments:
        if len(argument) > LONGEST_ARGUMENT:
            raise UsageInvalid(f"an argument of {len(argument)} characters is longer than {LONGEST_ARGUMENT}")
    return arguments


def _stage(name: str) -> StageName:
    try:
        return StageName(name)
    except ValueError:
        known = ", ".join(stage.value for stage in StageName)
        raise UsageInvalid(f"there is no stage {name!r}", remedy=f"Stages are: {known}") from None


def _unknown(call: Frame) -> UsageInvalid:
    return UsageInvalid(
        f"{call.interface}.{call.member}({call.signature}) is not known here",
        remedy=f"See `busctl introspect {NAME} {call.path}`",
    )
