"""Does the unit of a hosted service run, and in which state is it? (org.freedesktop.systemd1(5))"""

from __future__ import annotations

from nodenet.core.boot.outcome import Problem
from nodenet.core.value import frozen

LOADED, ACTIVE, FAILED = "loaded", "active", "failed"


@frozen
class Running:
    """A unit's LoadState, ActiveState and Result; *missing* is the path of its program where that is not on this node.

    *result* and *missing* are known of a unit that does not run.
    """

    load: str
    active: str
    result: str = "success"
    job: bool = False
    """Whether a job is queued for it."""
    missing: str = ""

    @property
    def is_loaded(self) -> bool:
        """Whether systemd has such a unit."""
        return self.load == LOADED

    @property
    def is_up(self) -> bool:
        """Whether it runs, as far as systemd knows."""
        return self.active in (ACTIVE, "reloading", "refreshing")

    @property
    def is_settling(self) -> bool:
        """Whether it is about to run: it starts, or systemd restarts it."""
        return self.job or self.active == "activating"

    @property
    def why_down(self) -> str:
        """Why it does not run, in systemd's words."""
        if not self.is_loaded:
            return f"systemd has no such unit ({self.load})"
        if self.missing:
            return f"its program {self.missing} is not installed"
        return f"{self.active}, result {self.result}" if self.active == FAILED else self.active


@frozen
class DnsLook:
    """What a look at this node's DNS found: a *note* for the stage's line, a *problem*, and when to look again.

    *waits*: another stack serves DNS, and ours has to wait until it is gone. *lasts*: the problem does not pass by
    itself, so that the boot does not wait for it.
    """

    note: str = ""
    problem: Problem | None = None
    seconds: float | None = None
    waits: bool = False
    lasts: bool = False
