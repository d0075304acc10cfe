"""Which errors exist, who must act, and how are they reported?

Every error carries a *cause* (what, where, why) and a *remedy* (what to do), because both are printed
to an administrator: in the journal, in ``nodenetctl status`` and as the text of a D-Bus error.
Exit codes are those of sysexits.h(3head).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

from nodenet.core.messages import Message

EX_CONFIG = 78
AS_ROOT = "Run it as root, with sudo; where root is refused, look at `ausearch -m avc -ts recent`"


class NodenetError(Exception):
    """The base of every error that an administrator may see."""

    exit_code: ClassVar[int] = 70
    bus_name: ClassVar[str] = "org.nodenet1.Error.Failed"
    message: ClassVar[Message] = Message.INTERNAL_ERROR

    def __init__(self, cause: str, *, remedy: str = "") -> None:
        """Keep *cause* and *remedy* apart: the journal has a field for each."""
        super().__init__(cause)
        self.cause = cause
        self.remedy = remedy

    @property
    def permanent(self) -> bool:
        """Whether only an administrator can correct it: nodenetd then exits, and systemd does not start it again."""
        return self.exit_code == EX_CONFIG

    def saying(self, cause: str, remedy: str) -> Self:
        """Return the same kind of error in other words."""
        other = type(self).__new__(type(self), cause)  # without __init__: that of a subclass may want more
        vars(other).update(vars(self) | {"cause": cause, "remedy": remedy})
        return other

    def __str__(self) -> str:
        """One line: the cause, then the remedy."""
        return f"{self.cause}. {self.remedy}" if self.remedy else self.cause


class UsageInvalid(NodenetError):
    """A command line or a D-Bus argument is not valid: the caller must act."""

    exit_code = 64
    bus_name = "org.nodenet1.Error.InvalidArgument"


class SettingsInvalid(NodenetError):
    """A settings file or hint file is wrong: its author must act. Permanent until it is edited."""

    exit_code = EX_CONFIG
    bus_name = "org.nodenet1.Error.SettingsInvalid"
    message = Message.SETTINGS_INVALID


class NodeFileInvalid(NodenetError):
    """The node file cannot be used: its author must act. The network is untouched."""

    exit_code = 65
    bus_name = "org.nodenet1.Error.NodeFileInvalid"
    message = Message.NODE_FILE_INVALID


class SnapshotInvalid(NodenetError):
    """A snapshot is not what ``ip -j`` prints; the cause names the JSON path."""

    exit_code = 65
    bus_name = "org.nodenet1.Error.SnapshotInvalid"


class LibnmstateMissing(NodenetError):
    """The libnmstate module cannot be imported: the installation is broken."""

    exit_code = EX_CONFIG
    bus_name = "org.nodenet1.Error.LibnmstateMissing"
    message = Message.LIBNMSTATE_MISSING


class ApplyFailed(NodenetError):
    """The node file was applied and did not hold; the network was rolled back."""

    exit_code = 1
    bus_name = "org.nodenet1.Error.ApplyFailed"
    message = Message.APPLY_FAILED


class RollbackFailed(NodenetError):
    """The node file did not hold and the way back failed too: a person must look."""

    exit_code = 1
    bus_name = "org.nodenet1.Error.RollbackFailed"
    message = Message.ROLLBACK_FAILED


class PublishFailed(NodenetError):
    """A published file could not be written: the host must be repaired (disk full, read-only)."""

    exit_code = 74
    bus_name = "org.nodenet1.Error.PublishFailed"
    message = Message.PUBLISH_FAILED


class NotAFile(PublishFailed):
    """A directory has the place of a file, so the file says nothing.

    A container runtime makes such a directory for a mount whose source does not exist.
    """


class UnitFailed(NodenetError):
    """A unit that does a stage cannot be started or ended badly."""

    exit_code = 1
    bus_name = "org.nodenet1.Error.UnitFailed"
    message = Message.UNIT_FAILED


class UplinkRefused(NodenetError):
    """br-ex cannot be made over the link that was named or chosen: an administrator must act. Nothing was touched."""

    exit_code = 65
    bus_name = "org.nodenet1.Error.UplinkRefused"
    message = Message.UPLINK_REFUSED


class BridgeForeign(NodenetError):
    """br-ex was made by another program: it is left alone."""

    exit_code = 1
    bus_name = "org.nodenet1.Error.BridgeForeign"
    message = Message.BRIDGE_FOREIGN


class StageFailed(NodenetError):
    """A stage failed in a way that no other error names; the cause says how."""

    exit_code = 1
    bus_name = "org.nodenet1.Error.StageFailed"


class Unavailable(NodenetError):
    """Something outside (bus, NetworkManager, the daemon) does not answer; it may pass."""

    exit_code = 69
    bus_name = "org.nodenet1.Error.Unavailable"


class OrderRefused(Unavailable):
    """Something outside has answered an order, and does not carry it out; it carries out others."""


class NotAllowed(Unavailable):
    """Something outside does not answer us, and would answer root: what it holds is unknown, not absent."""

    exit_code = 77

    def __init__(self, cause: str, *, remedy: str = AS_ROOT) -> None:
        """Take the *cause*; what helps is nearly always the same."""
        super().__init__(cause, remedy=remedy)


class Forbidden(Unavailable):
    """The Kubernetes API refuses these credentials what was asked for, or has no such thing."""


class Unreachable(Unavailable):
    """No server answers at an address: the same service may answer at another one."""


class Postponed(Unavailable):
    """The server answers, and asks for a pause of *seconds* (Retry-After, RFC 9110, 10.2.3)."""

    def __init__(self, cause: str, *, remedy: str = "", seconds: float) -> None:
        """Keep the pause beside cause and remedy."""
        super().__init__(cause, remedy=remedy)
        self.seconds = seconds


class Busy(NodenetError):
    """What was asked for cannot be had at this moment; it may be asked for again."""

    exit_code = 75
    bus_name = "org.nodenet1.Error.Busy"


class AlreadyRunning(NodenetError):
    """Another nodenetd owns this node."""

    exit_code = 75
    bus_name = "org.nodenet1.Error.AlreadyRunning"
    message = Message.ALREADY_RUNNING


class AccessDenied(NodenetError):
    """Only root may change anything."""

    exit_code = 77
    bus_name = "org.freedesktop.DBus.Error.AccessDenied"


ERRORS: tuple[type[NodenetError], ...] = (
    *(NodenetError, UsageInvalid, SettingsInvalid, NodeFileInvalid, SnapshotInvalid, LibnmstateMissing),
    *(ApplyFailed, RollbackFailed, PublishFailed, UnitFailed, UplinkRefused, BridgeForeign, StageFailed),
    *(Unavailable, Busy, AlreadyRunning, AccessDenied),
)
"""Every kind of error that has its own bus name. The others go over the bus as the class that they derive from."""

ERROR_OF: Mapping[Message, type[NodenetError]] = {
    Message.PROBE_FAILED: ApplyFailed,
    **{error.message: error for error in reversed(ERRORS)},
}
"""The one table from the message of a problem to its error, which knows exit code and bus name.

Every other message is a failure of a stage: exit code 1.
"""


def error_of(message: Message) -> type[NodenetError]:
    """Return the class of the errors that are reported as *message*; defined for every message."""
    return ERROR_OF.get(message, StageFailed)


def error_named(bus_name: str) -> type[NodenetError]:
    """Return the class of the errors that go over the bus as *bus_name*; NodenetError for an unknown name."""
    return next((error for error in ERRORS if error.bus_name == bus_name), NodenetError)
