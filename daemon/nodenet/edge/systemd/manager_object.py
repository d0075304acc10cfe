"""How do programs address systemd's manager on the bus, and get its signals? (org.freedesktop.systemd1(5))"""

from __future__ import annotations

from nodenet.edge.bus.connection import Bus, Refused, Signal

NAME = "org.freedesktop.systemd1"
PATH = "/org/freedesktop/systemd1"
MANAGER = f"{NAME}.Manager"


def job_removed(unit: str) -> Signal:
    """Return the signal that a job of *unit* has ended. Its body: number and path of the job, unit, result."""
    return Signal(NAME, PATH, MANAGER, "JobRemoved", (2, unit))


async def subscribe(bus: Bus) -> bool:
    """Make systemd send signals; return False when it did so already. Raises Unavailable, Refused.

    systemd sends them only while a client is subscribed; a bus that was restarted has forgotten its subscribers.
    """
    try:
        await bus.call(NAME, PATH, MANAGER, "Subscribe")
    except Refused as error:
        if not error.name.endswith(".AlreadySubscribed"):
            raise
        return False
    return True
