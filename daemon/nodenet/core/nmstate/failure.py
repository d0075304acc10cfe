"""In which ways can a call of libnmstate fail, and what is the remedy?"""

from __future__ import annotations

from enum import StrEnum

from nodenet.core.errors import NodenetError
from nodenet.core.messages import Message


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
