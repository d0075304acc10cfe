"""Which objects, interfaces and types does nodenetd offer on the bus?

Tables, and the introspection XML that is made from them (D-Bus specification, "Introspection Data Format"). The
contract is in ``units/dbus/``; a test compares these tables with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from nodenet.core.boot.stage_state import StageState, Status
from nodenet.core.messages import Message
from nodenet.core.stage_name import StageName
from nodenet.core.status.document import BootStatus, document, next_try
from nodenet.core.value import frozen

NAME = "org.nodenet1"
PATH = "/org/nodenet1"
STAGES_PATH = f"{PATH}/stage"


@frozen
class Interface:
    """One interface; types are D-Bus signatures, a method's: what goes in, what comes out."""

    name: str
    properties: Mapping[str, str] = field(default_factory=dict)
    methods: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    signals: Mapping[str, str] = field(default_factory=dict)
    mutators: frozenset[str] = frozenset()
    """Methods for root only: they change something, or read what only root may read."""


MANAGER = Interface(
    "org.nodenet1.Manager",
    properties={
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
        "Sequence": "t",
    },
    methods={
        "GetStatus": ("", "s"),
        "Explain": ("s", "s"),
        "History": ("", "s"),
        "Reload": ("", ""),
        "Prune": ("", ""),
        "Reselect": ("", ""),
        "RemoveBridge": ("", ""),
        "Try": ("ssus", ""),
        "ConfirmTrial": ("s", ""),
        "RollBackTrial": ("s", ""),
        "RollBackTo": ("uusb", ""),
        "RunStage": ("s", ""),
        "Inhibit": ("sss", "h"),
    },
    signals={
        "StageChanged": "ssstt",
        "NodeIPChanged": "ass",
        "NodeIPDrift": "s",
        "NetworkApplied": "ss",
        "RolledBack": "ss",
    },
    mutators=frozenset(
        {
            *("Reload", "Prune", "Reselect", "RemoveBridge", "Try", "ConfirmTrial", "RollBackTrial", "RollBackTo"),
            *("RunStage", "Inhibit", "History"),
        }
    ),
)
STAGE = Interface(
    "org.nodenet1.Stage",
    properties={
        "Name": "s",
        "Provider": "s",
        "Status": "s",
        "Detail": "s",
        "Started": "t",
        "Ended": "t",
        "NextTry": "t",
        "Held": "a(ss)",
    },
    methods={"Run": ("", "")},
    mutators=frozenset({"Run"}),
)


def stage_path(name: StageName) -> str:
    """Return the object path of a stage; a path may hold no ``-``."""
    return f"{STAGES_PATH}/{name.value.replace('-', '_')}"


OBJECTS: Mapping[str, tuple[Interface, StageName | None]] = {
    PATH: (MANAGER, None),
    **{stage_path(name): (STAGE, name) for name in StageName},
}
"""Object path → its interface, and the stage that it represents."""


def introspection(path: str, objects: Mapping[str, tuple[Interface, StageName | None]] = OBJECTS) -> str | None:
    """Return the introspection XML of *path*; None if no object of ours is there or below."""
    children = _children(path, objects)
    if path not in objects and not children:
        return None
    lines = ["<node>"]
    if path in objects:
        lines += _described(objects[path][0])
    lines += [f'<node name="{child}"/>' for child in children]
    return "".join([*lines, "</node>"])


def _children(path: str, objects: Iterable[str]) -> list[str]:
    """Return the names directly below *path*, in the order of the stages."""
    prefix = path.rstrip("/") + "/"
    below = (name.removeprefix(prefix).split("/")[0] for name in objects if name.startswith(prefix))
    return list(dict.fromkeys(below))


def _described(interface: Interface) -> Iterable[str]:
    yield f'<interface name="{interface.name}">'
    for name, signature in interface.properties.items():
        yield f'<property name="{name}" type="{signature}" access="read"/>'
    for name, (inward, outward) in interface.methods.items():
        arguments = [f'<arg type="{one}" direction="in"/>' for one in complete_types(inward)]
        arguments += [f'<arg type="{one}" direction="out"/>' for one in complete_types(outward)]
        yield f'<method name="{name}">{"".join(arguments)}</method>'
    for name, signature in interface.signals.items():
        arguments = [f'<arg type="{one}"/>' for one in complete_types(signature)]
        yield f'<signal name="{name}">{"".join(arguments)}</signal>'
    yield "</interface>"


def complete_types(signature: str) -> list[str]:
    """Return the single complete types of *signature*: our calls use only basic types and arrays of these."""
    types = [""]
    for code in signature:
        types[-1] += code
        if code != "a":
            types.append("")
    return types[:-1]


# Which values do the properties and signals on the bus have for a status?


def of_manager(status: BootStatus, version: str, sequence: int) -> dict[str, Any]:
    """Return the plain value of every property of /org/nodenet1."""
    shown = document(status)
    addresses = status.facts.selection.node_ips if status.facts.selection else ()
    by_family = {address.version: str(address) for address in reversed(addresses)}
    error = shown["last_error"] or {}
    return {
        "Version": version,
        "BootId": shown["boot_id"],
        "Hostname": shown["hostname"] or "",
        "NodeFile": shown["node_file"] or "",
        "NodeFileDigest": shown["digest"] or "",
        "AppliedDigest": shown["applied_digest"] or "",
        "Health": shown["health"],
        "Ready": shown["ready"],
        "Stage": shown["stage"] or "",
        "Stages": [[stage["name"], stage["provider"], stage["status"], stage["detail"]] for stage in shown["stages"]],
        "PrimaryIP": str(addresses[0]) if addresses else "",
        "IPv4": by_family.get(4, ""),
        "IPv6": by_family.get(6, ""),
        "Link": shown["link"] or "",
        "Bridge": shown["bridge"] or "",
        "LastError": [error.get(key) or "" for key in ("message_id", "stage", "cause", "remedy")],
        "Sequence": sequence,
    }


def of_stage(status: BootStatus, name: StageName) -> dict[str, Any]:
    """Return the plain value of every property of a stage's object; times in µs of CLOCK_BOOTTIME, 0: not yet."""
    stage = status.boot[name]
    return {
        "Name": name.value,
        "Provider": stage.provider,
        "Status": stage.status.value,
        "Detail": stage.detail,
        "Started": _microseconds(stage.started),
        "Ended": _microseconds(stage.ended),
        "NextTry": _microseconds(next_try(stage)),
        "Held": [[hold.who, hold.why] for hold in status.inhibitors if hold.stage is name],
    }


def _microseconds(seconds: float | None) -> int:
    return round((seconds or 0.0) * 1e6)


def changed_stages(before: BootStatus, after: BootStatus) -> list[StageState]:
    """Return the stages of *after* that have another status or detail than in *before*."""
    pairs = zip(before.boot.stages, after.boot.stages, strict=True)
    return [new for old, new in pairs if (old.status, old.detail) != (new.status, new.detail)]


def signals(before: BootStatus, after: BootStatus) -> Mapping[str, list[Any]]:
    """Return the signals, name and body, for the change from *before* to *after*, beside StageChanged."""
    found: dict[str, list[Any]] = {}
    facts = after.facts
    if facts.node_file and facts.applied_digest and facts.applied_digest != before.facts.applied_digest:
        found["NetworkApplied"] = [facts.node_file or "", facts.applied_digest]
    nmstate = after.boot[StageName.NMSTATE]
    failed = nmstate.status is Status.FAILED and before.boot[StageName.NMSTATE].status is not Status.FAILED
    if failed and nmstate.problem and nmstate.problem.message is Message.APPLY_FAILED:
        found["RolledBack"] = [facts.digest or "", nmstate.problem.cause]
    if facts.selection and facts.selection != before.facts.selection:
        found["NodeIPChanged"] = [[str(ip) for ip in facts.selection.node_ips], facts.selection.link or ""]
    if after.drift and not before.drift:
        found["NodeIPDrift"] = [after.drift.cause]
    return found
