"""Which objects, interfaces and types does nodenetd offer on the bus?

Tables, and the introspection XML that is made from them (D-Bus specification, "Introspection Data Format"). The
contract is in ``units/dbus/``; a test compares these tables with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from nodenet.core.stage_name import StageName
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
