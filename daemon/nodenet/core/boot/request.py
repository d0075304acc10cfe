"""What was a stage asked to do, beyond its ordinary work?

A request is not a fact: facts say what is known, a request says what this attempt is asked to do. The loop makes a
request from an order, the stage's state keeps it while the stage waits, and `StageState.after` consumes it, in that one
place, when the stage is over. No order outlives its run, whether nodenetd or a unit does the stage.
"""

from __future__ import annotations

from nodenet.core.stage_name import StageName
from nodenet.core.value import frozen

BOOT = "boot"
EVENT = "event"
"""A later look, for an event on the host or because its time has come."""
EDIT = "edit"
"""An edit that was seen while the boot waits."""
TRIAL = "trial"
"""The end of a trial: what its administrator has asked for is an entry of its own."""
RELOAD = "reload"
RESELECT = "reselect"
REMOVE = "bridge remove"


@frozen
class Request:
    """The orders for one attempt. *run* is the number of the run: it grows with each order."""

    run: int = 0
    retry_refused: bool = False
    """Try again what was refused earlier in this boot."""
    by_name: bool = False
    """This stage itself was named (RunStage), not one before it."""
    reselect: bool = False
    """Select the node IPs again and ignore the published ones."""
    remove_bridge: bool = False
    """Remove the bridges."""
    prune: bool = False
    """Remove what earlier node files have left over."""
    as_read: bool = False
    """Apply no node file but the one that was read last: an edit of it waits for a reload."""
    who: str = BOOT
    """What or who asked for it, for the history."""

    @property
    def carried_out(self) -> Request:
        """The request as a later look at the same run gets it: nothing is ordered any more."""
        return Request(self.run, who=EVENT)

    @property
    def behind(self) -> Request:
        """The request for the stages behind the one that was asked for."""
        return Request(self.run, self.retry_refused, prune=self.prune, who=self.who)

    def also(self, other: Request) -> Request:
        """Return both requests as one: an order that was not carried out yet is not lost by the *other*, later one."""
        return Request(
            max(self.run, other.run),
            self.retry_refused or other.retry_refused,
            self.by_name or other.by_name,
            self.reselect or other.reselect,
            self.remove_bridge or other.remove_bridge,
            self.prune or other.prune,
            other.as_read,
            other.who,
        )


def run(stage: str) -> str:
    """Return what asks for a run of *stage* by name: making br-ex has a verb of its own."""
    return "bridge make" if stage == StageName.CONFIGURE_OVS else f"run {stage}"


NOTHING = Request()
"""Nothing is ordered: the stage does its ordinary work."""
