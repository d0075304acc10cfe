"""What is a checkpoint of NetworkManager, and what does its rollback not restore?"""

from __future__ import annotations

from nodenet.core.value import frozen


@frozen
class Checkpoint:
    """A pending checkpoint of NetworkManager: D-Bus path, and creation in seconds of CLOCK_BOOTTIME.

    *seconds*: how long after its creation NetworkManager rolls it back, 0: never; None: NetworkManager does not say.
    """

    path: str
    created: float
    seconds: int | None = None


def of_another(checkpoint: Checkpoint) -> str:
    """Return what is waited for where another program has made *checkpoint*: words that do not change with time."""
    made = f"made {checkpoint.created:.0f} s after the start of this boot"
    match checkpoint.seconds:
        case None:
            ends = ""
        case 0:
            ends = ", without a time-out: it stays until that program ends it"
        case seconds:
            ends = f", which NetworkManager rolls back {seconds} s later"
    return f"another program holds NetworkManager's checkpoint {checkpoint.path}, {made}{ends}"


def rollback_forgets_dns(version: str) -> bool:
    """Return whether NetworkManager *version* leaves the global DNS configuration out of its checkpoints (< 1.48)."""
    numbers = [int(part) for part in version.split(".")[:2] if part.isdigit()]
    return numbers < [1, 48]
