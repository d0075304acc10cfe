"""How can an apply end, what may pass by itself, and whose is a checkpoint?"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from nodenet.core.apply.intent import Intent, Phase
from nodenet.core.errors import NodenetError
from nodenet.core.messages import Message


class ManagerState(StrEnum):
    """How far NetworkManager is, in the words of a wait."""

    NO_BUS = "the system bus does not answer"
    ABSENT = "NetworkManager is not on the bus yet"
    STARTING = "NetworkManager is still starting (its first activations are not over)"
    READY = "NetworkManager is ready"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A pending checkpoint of NetworkManager: D-Bus path, and creation in seconds of CLOCK_BOOTTIME."""

    path: str
    created: float


def rollback_forgets_dns(version: str) -> bool:
    """Tell whether NetworkManager *version* leaves the global DNS configuration out of its checkpoints (< 1.48)."""
    numbers = [int(part) for part in version.split(".")[:2] if part.isdigit()]
    return numbers < [1, 48]


def is_ours(checkpoint: Checkpoint, record: Intent | None, boot_id: str) -> bool:
    """Tell whether *checkpoint* was left by an apply of ours that was interrupted in this boot.

    Checkpoints have no owner. Ours is the one made after our intent was written: an apply starts only when
    no other is pending, and NetworkManager refuses a second one for the same devices.
    """
    if record is None or record.phase is not Phase.APPLYING or record.boot_id != boot_id:
        return False
    return checkpoint.created >= record.started


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


MAY_PASS = frozenset(
    {
        FailureKind.PLUGIN,
        FailureKind.UNAVAILABLE,
        FailureKind.BUSY,
        FailureKind.INTERNAL,
        FailureKind.DIED,
        FailureKind.KILLED,
    }
)
"""Worth another try. Not a failed verification: libnmstate has applied twice by then and looked ten times."""

TRIES = 3
BUDGET_SECONDS = 300.0
"""No further try begins once so much time has gone into a file: kubelet is waiting."""


def may_try_again(kind: FailureKind, tries: int, seconds: float) -> bool:
    """Tell whether a file that failed as *kind*, after *tries* tries in *seconds*, is tried once more."""
    return kind in MAY_PASS and tries < TRIES and seconds < BUDGET_SECONDS


_REMEDIES = {
    FailureKind.INVALID: "Correct the node file; `nodenetctl check FILE` tries it without touching the network",
    FailureKind.DEPENDENCY: "Install what is missing (for `ovs-*` links NetworkManager's OVS plugin)",
    FailureKind.PERMISSION: "nodenetd must run as root; look for a policy that keeps it from NetworkManager",
    FailureKind.VERIFICATION: "Compare the node file with the hardware: names of links, MTU, what the NIC can do",
    FailureKind.PLUGIN: "Look at `journalctl -u NetworkManager` around this time",
    FailureKind.UNAVAILABLE: "Look whether NetworkManager and the system bus run",
    FailureKind.BUSY: "Commit or roll back the checkpoint that another program holds",
    FailureKind.INTERNAL: "Look at `journalctl -u NetworkManager` around this time",
    FailureKind.DIED: "Look for a crash of nodenetd's child process with `coredumpctl`",
    FailureKind.KILLED: "Raise `apply_timeout` in the settings if the file is large; look whether NetworkManager hangs",
    FailureKind.MISSING: "Install python3-libnmstate, or install nodenet again",
}


class NmstateFailure(NodenetError):
    """libnmstate did not do what it was asked for; *kind* says whether another try makes sense."""

    message = Message.APPLY_FAILED
    bus_name = "org.nodenet1.Error.ApplyFailed"
    exit_code = 1

    def __init__(self, kind: FailureKind, text: str, remedy: str = "") -> None:
        """Take libnmstate's own words as the cause."""
        super().__init__(text, remedy=remedy or _REMEDIES[kind])
        self.kind = kind


def delay(attempt: int) -> float:
    """Return the seconds to wait after the *attempt*-th failed try (1, 2, …)."""
    return min(2.0**attempt, 30.0)
