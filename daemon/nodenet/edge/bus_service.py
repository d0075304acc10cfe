"""What can programs ask nodenetd over D-Bus, and what does it tell them?

The interface org.nodenet1.Manager as tables: methods, properties, signals. ``units/dbus/org.nodenet1.xml`` is
the reviewed contract, and a test holds these tables to it. Calls are answered through dbus-next's message
handler: its service classes can neither answer later nor tell who called.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import structlog

from nodenet import __version__
from nodenet.core.boot import StageName, Status
from nodenet.core.errors import AccessDenied, NodenetError, UsageInvalid
from nodenet.core.messages import Message as MessageId
from nodenet.core.status import Standing, document
from nodenet.edge.bus import PROPERTIES, Bus, Message, MessageType, Refused, Variant, just

log = structlog.get_logger()

NAME = "org.nodenet1"
PATH = "/org/nodenet1"
INTERFACE = "org.nodenet1.Manager"
INTROSPECTABLE = "org.freedesktop.DBus.Introspectable"
LONGEST_ARGUMENT = 256

PROPERTY_TYPES = {
    "Version": "s",
    "BootId": "s",
    "Hostname": "s",
    "NodeFile": "s",
    "NodeFileDigest": "s",
    "AppliedDigest": "s",
    "Health": "s",
    "Ready": "b",
    "Stage": "s",
    "Stages": "a(ssss)",
    "PrimaryIP": "s",
    "IPv4": "s",
    "IPv6": "s",
    "Link": "s",
    "Bridge": "s",
    "LastError": "(ssss)",
}
METHOD_TYPES = {
    "GetStatus": ("", "s"),
    "Explain": ("s", "s"),
    "Reload": ("", ""),
    "Reselect": ("", ""),
    "RunStage": ("s", ""),
}
SIGNAL_TYPES = {
    "StageChanged": "sss",
    "NodeIPChanged": "ass",
    "NodeIPDrift": "s",
    "NetworkApplied": "ss",
    "RolledBack": "ss",
}
MUTATORS = frozenset({"Reload", "Reselect", "RunStage"})


@dataclass(frozen=True, slots=True)
class Orders:
    """What callers may ask for; each may raise NodenetError."""

    reload: Callable[[], Awaitable[None]]
    reselect: Callable[[], Awaitable[None]]
    run_stage: Callable[[StageName], None]
    explain: Callable[[str], str]


def properties(standing: Standing) -> dict[str, Any]:
    """Return every property's plain value."""
    status = document(standing)
    addresses = standing.facts.selection.node_ips if standing.facts.selection else ()
    by_family = {address.version: str(address) for address in reversed(addresses)}
    error = status["last_error"] or {}
    return {
        "Version": __version__,
        "BootId": status["boot_id"],
        "Hostname": status["hostname"] or "",
        "NodeFile": status["node_file"] or "",
        "NodeFileDigest": status["digest"] or "",
        "AppliedDigest": status["applied_digest"] or "",
        "Health": status["health"],
        "Ready": status["ready"],
        "Stage": status["stage"] or "",
        "Stages": [[stage["name"], stage["provider"], stage["status"], stage["detail"]] for stage in status["stages"]],
        "PrimaryIP": str(addresses[0]) if addresses else "",
        "IPv4": by_family.get(4, ""),
        "IPv6": by_family.get(6, ""),
        "Link": status["link"] or "",
        "Bridge": status["bridge"] or "",
        "LastError": [error.get(key, "") for key in ("message_id", "stage", "cause", "remedy")],
    }


def signals(before: Standing, after: Standing) -> list[tuple[str, list[Any]]]:
    """Return the signals, name and body, that tell of the way from *before* to *after*."""
    told: list[tuple[str, list[Any]]] = []
    for old, new in zip(before.boot.stages, after.boot.stages, strict=True):
        if (old.status, old.detail) != (new.status, new.detail):
            told.append(("StageChanged", [new.name.value, new.status.value, new.detail]))
    facts = after.facts
    if facts.applied_digest and facts.applied_digest != before.facts.applied_digest:
        told.append(("NetworkApplied", [facts.node_file or "", facts.applied_digest]))
    nmstate = after.boot[StageName.NMSTATE]
    failed = nmstate.status is Status.FAILED and before.boot[StageName.NMSTATE].status is not Status.FAILED
    if failed and nmstate.problem and nmstate.problem.message is MessageId.APPLY_FAILED:
        told.append(("RolledBack", [facts.digest or "", nmstate.problem.cause]))
    if facts.selection and facts.selection != before.facts.selection:
        told.append(("NodeIPChanged", [[str(ip) for ip in facts.selection.node_ips], facts.selection.link or ""]))
    if after.drift and not before.drift:
        told.append(("NodeIPDrift", [after.drift.cause]))
    return told


def introspection() -> str:
    """Return the interface as introspection XML (D-Bus specification, "Introspection Data Format")."""
    lines = [f'<node><interface name="{INTERFACE}">']
    lines += [f'<property name="{n}" type="{t}" access="read"/>' for n, t in PROPERTY_TYPES.items()]
    for name, (inward, outward) in METHOD_TYPES.items():
        arguments = [f'<arg type="{t}" direction="in"/>' for t in inward]
        arguments += [f'<arg type="{t}" direction="out"/>' for t in outward]
        lines.append(f'<method name="{name}">{"".join(arguments)}</method>')
    for name, types in SIGNAL_TYPES.items():
        split = ["as", "s"] if types == "ass" else list(types)
        lines.append(f'<signal name="{name}">{"".join(f"<arg type={t!r}/>" for t in split)}</signal>')
    return "".join([*lines, "</interface></node>"]).replace("'", '"')


class Service:
    """The object /org/nodenet1."""

    def __init__(self, bus: Bus, orders: Orders, standing: Callable[[], Standing]) -> None:
        """Serve on *bus*; *standing* is asked whenever a property is read."""
        self._bus = bus
        self._orders = orders
        self._standing = standing
        self._shown: Standing | None = None
        self._sequence = 0
        self._dirty: dict[str, Any] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        bus.serve(NAME, self.handle)

    def show(self, standing: Standing) -> None:
        """Emit what changed since the last call."""
        before, self._shown = self._shown, standing
        if before is None:
            return
        old, new = properties(before), properties(standing)
        self._dirty |= {name: value for name, value in new.items() if value != old[name]}
        if self._dirty:
            self._bus.emit("PropertiesChanged", self._properties_changed)
        for name, body in signals(before, standing):
            self._sequence += 1
            message = Message.new_signal(PATH, INTERFACE, name, SIGNAL_TYPES[name], body)
            self._bus.emit((name, self._sequence), just(message))

    def _properties_changed(self) -> Message:
        """Return the signal as of the moment it is sent, so that a stalled bus costs one message."""
        changed = {name: Variant(PROPERTY_TYPES[name], value) for name, value in self._dirty.items()}
        self._dirty = {}
        return Message.new_signal(PATH, PROPERTIES, "PropertiesChanged", "sa{sv}as", [INTERFACE, changed, []])

    def handle(self, message: Message) -> bool:
        """Take a method call that is for this object; tell whether it was."""
        if message.path != PATH or message.interface not in (INTERFACE, PROPERTIES, INTROSPECTABLE):
            return False
        task = asyncio.ensure_future(self._answer(message))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    async def _answer(self, message: Message) -> None:
        try:
            signature, body = await self._result(message)
            reply = Message.new_method_return(message, signature, body)
        except NodenetError as error:
            reply = Message.new_error(message, error.bus_name, str(error))
        except Exception as error:
            # The caller gets no traceback and is not left without an answer.
            log.exception(f"{message.member} over D-Bus failed: {error!r}", message=MessageId.INTERNAL_ERROR)  # noqa: TRY401  (the same)
            reply = Message.new_error(message, NodenetError.bus_name, "an internal error, see the journal of nodenetd")
        self._bus.reply(reply)

    async def _result(self, message: Message) -> tuple[str, list[Any]]:
        if message.interface == INTROSPECTABLE and message.member == "Introspect":
            return "s", [introspection()]
        if message.interface == PROPERTIES:
            return self._property(message)
        inward, outward = METHOD_TYPES.get(message.member, (None, ""))
        if inward is None or message.signature != inward:
            raise _unknown(message)
        if message.member in MUTATORS:
            await self._only_root(message)
        result = await self._carry_out(message.member, [_short(argument) for argument in message.body])
        return outward, result

    async def _carry_out(self, member: str, arguments: list[str]) -> list[Any]:
        match member, arguments:
            case "Reload", []:
                await self._orders.reload()
                return []
            case "Reselect", []:
                await self._orders.reselect()
                return []
            case "RunStage", [name]:
                self._orders.run_stage(_stage(name))
                return []
            case "Explain", [topic]:
                return [self._orders.explain(topic)]
            case _:
                return [json.dumps(document(self._standing()))]

    def _property(self, message: Message) -> tuple[str, list[Any]]:
        values = properties(self._standing())
        match message.member, message.body:
            case "GetAll", [str(interface)] if interface in (INTERFACE, ""):
                return "a{sv}", [{name: Variant(PROPERTY_TYPES[name], value) for name, value in values.items()}]
            case "Get", [str(interface), str(name)] if interface in (INTERFACE, "") and name in values:
                return "v", [Variant(PROPERTY_TYPES[name], values[name])]
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
        remedy=f"See `busctl introspect {NAME} {PATH}`",
    )
