"""Does systemd skip nodenetd? Asked only while nodenetd has not reported: each question is a process."""

from __future__ import annotations

import time

from nodenet.core.adoption.skipped import PROPERTIES, Skip, why_skipped
from nodenet.core.errors import Unavailable

SYSTEMCTL_SECONDS = 10.0
LOOK_SECONDS = 2.0
"""Between two questions. In an ordinary boot nodenetd has reported before the first one."""


def why() -> Skip | None:
    """Return why systemd skips nodenetd, None where it does not, or does not answer."""
    return why_skipped(shown("nodenetd.service", PROPERTIES))


class Skipped:
    """Asks from time to time, beginning some seconds from now."""

    def __init__(self) -> None:
        """Nothing is found yet."""
        self.found: Skip | None = None
        self._next = time.monotonic() + LOOK_SECONDS

    def __call__(self) -> Skip | None:
        """Return what was found by now."""
        if time.monotonic() >= self._next:
            self.found = why()
            self._next = time.monotonic() + LOOK_SECONDS
        return self.found


def shown(unit: str, names: str) -> str:
    """Return the properties *names* of *unit* as ``NAME=VALUE`` lines, "" when systemctl fails."""
    from nodenet.edge.systemd.systemctl import systemctl  # noqa: PLC0415 - an ordinary status asks nothing

    try:
        return systemctl("show", f"--property={names}", "--", unit, seconds=SYSTEMCTL_SECONDS)
    except Unavailable:
        return ""
