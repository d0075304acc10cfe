"""How did a call of libnmstate fail, and what does its child process answer?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from nodenet.core.errors import NodenetError
from nodenet.core.messages import Message
from nodenet.core.value import frozen


class FailureKind(StrEnum):
    """Why libnmstate did not do what it was asked for."""

    INVALID = "invalid"
    DEPENDENCY = "dependency"
    PERMISSION = "permission"
    VERIFICATION = "verification"
    PLUGIN = "plugin"
    UNAVAILABLE = "unavailable"
    BUSY = "busy"
    INTERNAL = "internal"
    DIED = "died"
    KILLED = "killed"
    MISSING = "missing"
    UNLOADED = "unloaded"
    """The library is installed, and could not be read at the moment."""
    PROBE = "probe"
    """Not libnmstate's: the apply succeeded, and the network does not work as before."""
    TAKEN = "taken"
    """Not libnmstate's either: another host has an address of the file."""


_REMEDIES = {
    FailureKind.INVALID: "Correct the node file; what depends on the host is known only when it is applied",
    FailureKind.DEPENDENCY: "Install what is missing (for `ovs-*` links NetworkManager's OVS plugin)",
    FailureKind.PERMISSION: "nodenetd must run as root; look for a policy that keeps it from NetworkManager",
    FailureKind.VERIFICATION: "Compare the node file with the hardware: names of links, MTU, what the NIC can do",
    FailureKind.PLUGIN: "Look at `journalctl -u NetworkManager` around this time",
    FailureKind.UNAVAILABLE: "Look whether NetworkManager and the system bus run",
    FailureKind.BUSY: "Commit or roll back the checkpoint that another program holds",
    FailureKind.INTERNAL: "Look at `journalctl -u NetworkManager` around this time",
    FailureKind.DIED: "Look for a crash of nodenetd's child process with `coredumpctl`",
    FailureKind.KILLED: "Raise `apply_timeout` in the settings if the file is large; look whether NetworkManager hangs",
    FailureKind.PROBE: "Correct the node file",
    FailureKind.TAKEN: "Give this node an address of its own, or find the other host",
    FailureKind.MISSING: "Install python3-libnmstate, or install nodenet again",
    FailureKind.UNLOADED: "Look for disk errors (`journalctl -k`), and at memory and open files (`free`)",
}

PERMANENT = (
    "operation not supported",
    "not supported by the kernel",
    "unknown device type",
    "eopnotsupp",
)
"""NetworkManager's message for a type of link that this kernel cannot make (errno 95, EOPNOTSUPP), in lower case."""


class NmstateFailure(NodenetError):
    """libnmstate did not do what it was asked for; *kind* says whether another try makes sense."""

    message = Message.APPLY_FAILED
    bus_name = "org.nodenet1.Error.ApplyFailed"
    exit_code = 1

    def __init__(self, kind: FailureKind, text: str, remedy: str = "", said: str = "") -> None:
        """Take the cause; *said* keeps libnmstate's own words, without secrets, where they were translated."""
        super().__init__(text, remedy=remedy or _REMEDIES[kind])
        self.kind = kind
        self.said = said or text


@frozen
class Answer:
    """*result* of the order, or its *failure*; *elsewhere*: the seconds in which others worked for it."""

    result: Any
    elsewhere: float
    failure: tuple[FailureKind, str] | None = None
    said: tuple[str, ...] = ()
    """What libnmstate logged."""


CHECKPOINT = b'{"checkpoint": '
"""The prefix of a line that is not the answer: the report of the checkpoint that an apply has made."""


def checkpoint_of(line: bytes) -> str | None:
    """Return the path of the checkpoint that *line* reports, None where it is another line."""
    if not (line.startswith(CHECKPOINT) and line.endswith(b"}\n")):
        return None
    try:
        return str(json.loads(line)["checkpoint"])
    except ValueError:
        return None


def answer_of(line: bytes) -> Answer | None:
    """Return the answer in *line*, None where it is not a whole one: the process died while it wrote."""
    try:
        fields = json.loads(line)
        if not line.endswith(b"\n") or not isinstance(fields, dict):
            return None
        elsewhere, said = float(fields["elsewhere"]), tuple(str(each) for each in fields["said"])
        if "kind" in fields:
            return Answer(None, elsewhere, (FailureKind(fields["kind"]), str(fields["text"])), said)
        return Answer(fields["result"], elsewhere, said=said)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def shaped(state: object) -> dict[str, Any]:
    """Return *state* if it has the outline of an NMState document. Raises NmstateFailure naming the wrong part."""
    if not isinstance(state, dict):
        raise _strange("the document")
    _list_of_mappings(state, "interfaces")
    for name in ("routes", "route-rules"):
        section = state.get(name)
        if section is not None and not isinstance(section, dict):
            raise _strange(f"`{name}`")
        for part in ("running", "config"):
            _list_of_mappings(section or {}, part, f"{name}.")
    return {key: value for key, value in state.items() if value is not None}


def _list_of_mappings(state: Mapping[str, Any], key: str, above: str = "") -> None:
    found = state.get(key)
    if found is None:
        return
    if not (isinstance(found, list) and all(isinstance(item, dict) for item in found)):
        raise _strange(f"`{above}{key}`")


def _strange(part: str) -> NmstateFailure:
    return NmstateFailure(FailureKind.INTERNAL, f"libnmstate's answer is not an NMState document: see {part}")
