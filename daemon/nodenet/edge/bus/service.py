"""How does nodenetd answer programs over D-Bus, and how does it tell them of changes?

The objects, their interfaces and values come from ``core.status.bus_interfaces`` and ``core.status.bus_values``.
Calls are answered through dbus-next's message handler: its service classes can neither answer later nor tell who
called.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog

from nodenet import __version__
from nodenet.core.boot.stages import StageName
from nodenet.core.errors import AccessDenied, NodenetError, UsageInvalid
from nodenet.core.messages import Message as MessageId
from nodenet.core.status import bus_values
from nodenet.core.status.bus_interfaces import MANAGER, NAME, OBJECTS, PATH, STAGE, Interface, introspection
from nodenet.core.status.document import BootStatus, document
from nodenet.edge.bus.connection import PROPERTIES, Bus, Message, MessageType, Refused, Variant, just

log = structlog.get_logger()

INTROSPECTABLE = "org.freedesktop.DBus.Introspectable"
LONGEST_ARGUMENT = 256


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
            self._tell_properties(path, was[path], self._values(path, status))
        for name, body in bus_values.signals(before, status).items():
            self._emit(name, body)

    def _emit(self, name: str, body: list[Any]) -> None:
        self._emitted += 1
        message = Message.new_signal(PATH, MANAGER.name, name, MANAGER.signals[name], body)
        self._bus.emit((name, self._emitted), just(message))

    def _tell_properties(self, path: str, old: dict[str, Any], new: dict[str, Any]) -> None:
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

    def handle(self, message: Message) -> bool:
        """Take a method call that is for one of our objects; tell whether it was."""
        described = message.interface == INTROSPECTABLE and introspection(message.path) is not None
        ours = message.interface in (MANAGER.name, STAGE.name, PROPERTIES) and message.path in OBJECTS
        if not (described or ours):
            return False
        task = asyncio.ensure_future(self._answer(message))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    async def _answer(self, message: Message) -> None:
        try:
            reply = await self._carried_out(message)
        except NodenetError as error:
            reply = Message.new_error(message, error.bus_name, str(error))
        except Exception as error:
            # The caller gets no traceback and is not left without an answer.
            log.exception(f"{message.member} over D-Bus failed: {error!r}", message=MessageId.INTERNAL_ERROR)  # noqa: TRY401  (the same)
            reply = Message.new_error(message, NodenetError.bus_name, "an internal error, see the journal of nodenetd")
        self._bus.reply(reply)

    async def _carried_out(self, message: Message) -> Message:
        """Do what a call asks for; return its reply."""
        interface, stage = OBJECTS.get(message.path, (None, None))
        if message.interface == INTROSPECTABLE and message.member == "Introspect":
            return Message.new_method_return(message, "s", [introspection(message.path)])
        if interface and message.interface == PROPERTIES:
            return Message.new_method_return(message, *self._property(interface, message))
        if interface is None or interface.name != message.interface or message.member not in interface.methods:
            raise _unknown(message)
        inward, outward = interface.methods[message.member]
        if message.signature != inward:
            raise _unknown(message)
        if message.member in interface.mutators:
            await self._only_root(message)
        arguments = [_short(argument) for argument in message.body] + ([stage.value] if stage else [])
        if outward == "h":
            return Message.new_method_return(message, outward, [0], [self._held(*arguments)])
        return Message.new_method_return(message, outward, await self._obey(message.member, arguments))

    def _held(self, stage: str, who: str, why: str) -> int:
        return self._orders.inhibit(_stage(stage), who, why)

    async def _obey(self, member: str, arguments: list[str]) -> list[Any]:
        match member, arguments:
            case "Reload", []:
                await self._orders.reload()
                return []
            case "Reselect", []:
                await self._orders.reselect()
                return []
            case "RemoveBridge", []:
                await self._orders.remove_bridge()
                return []
            case "RunStage" | "Run", [name]:
                self._orders.run_stage(_stage(name))
                return []
            case "Explain", [topic]:
                return [self._orders.explain(topic)]
            case _:
                return [json.dumps(document(self._status()))]

    def _property(self, interface: Interface, message: Message) -> tuple[str, list[Any]]:
        values = _variants(interface, self._values(message.path, self._status()))
        match message.member, message.body:
            case "GetAll", [str(wanted)] if wanted in (interface.name, ""):
                return "a{sv}", [values]
            case "Get", [str(wanted), str(name)] if wanted in (interface.name, "") and name in values:
                return "v", [values[name]]
            case "Set", _:
                raise AccessDenied("Every property of nodenetd is read-only")
        raise _unknown(message)

    async def _only_root(self, message: Message) -> None:
        """Check the caller here too: a bus policy file may be missing or edited."""
        try:
            uid = await self._bus.uid_of(message.sender)
        except Refused as error:
            raise AccessDenied("the bus does not say who calls", remedy="Call again") from error
        if uid != 0:
            raise AccessDenied(f"{message.member} is for root only", remedy="Call it as root")


def _variants(interface: Interface, values: dict[str, Any]) -> dict[str, Variant]:
    return {name: Variant(interface.properties[name], value) for name, value in values.items()}


def _microseconds_now() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


def _short(argument: str) -> str:
    if len(argument) > LONGEST_ARGUMENT:
        raise UsageInvalid(f"an argument of {len(argument)} characters is longer than {LONGEST_ARGUMENT}")
    return argument


def _stage(name: str) -> StageName:
    try:
        return StageName(name)
    except ValueError:
        known = ", ".join(stage.value for stage in StageName)
        raise UsageInvalid(f"there is no stage {name!r}", remedy=f"Stages are: {known}") from None


def _unknown(message: Message) -> UsageInvalid:
    if message.message_type is not MessageType.METHOD_CALL:
        return UsageInvalid("not a method call")
    return UsageInvalid(
        f"{message.interface}.{message.member}({message.signature}) is not known here",
        remedy=f"See `busctl introspect {NAME} {message.path}`",
    )
