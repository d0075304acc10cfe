"""Were settings or node file edited while the boot waits? systemd delays its reload until the boot is ready."""

from __future__ import annotations

from nodenet.core.status.document import BootStatus
from nodenet.loop import journal
from nodenet.loop.guard import Guard
from nodenet.loop.reload import InForce
from nodenet.ports import Clock

EDIT_SECONDS = 1.0
"""How often the files are looked at."""


class EditWatch:
    """Looks at the files once in EDIT_SECONDS, however often it is called."""

    def __init__(self, in_force: InForce, clock: Clock) -> None:
        """Compare with what is *in_force*."""
        self._in_force = in_force
        self._clock = clock
        self._due = 0.0
        self._guard = Guard("the look at settings and node file")

    def seen(self, status: BootStatus) -> bool:
        """Return whether an edit is complete and has to be read; it is in the journal then."""
        now = self._clock.boottime()
        if now < self._due:
            return False
        self._due = now + EDIT_SECONDS
        edited = self._guard.run(lambda: self._in_force.edited(status, now), otherwise=False)
        if edited:
            journal.edited(self._in_force.calm_seconds)
        return edited
