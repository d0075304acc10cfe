"""What is logged about a boot? One line for each outcome, one cause line for each failure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar, TypeVarTuple

import structlog

from nodenet.core.boot.outcome import Done, Failed, Outcome, Problem, Skipped, Waiting, is_unforeseen, named
from nodenet.core.boot.stage_state import Inhibitor, StageState, Status
from nodenet.core.errors import NodenetError
from nodenet.core.ip import IPAddress
from nodenet.core.messages import Message
from nodenet.core.stage_name import StageName
from nodenet.core.status.document import Refusal
from nodenet.core.trial.trial import APPLY_IT, not_applied

log = structlog.get_logger()


def is_news(before: StageState, after: StageState) -> bool:
    """Return whether an attempt that led from *before* to *after* is worth a line: a second look mostly is not."""
    if before.over:
        return (before.status, before.detail, before.problem) != (after.status, after.detail, after.problem)
    return after.status is not Status.WAITING or before.waited_for != after.detail


def outcome(stage: StageState, ended: Outcome, known: Iterable[Problem | None] = ()) -> None:
    """Log how an attempt ended, which left *stage* so; its times are fields, for ``nodenetctl boot-report``.

    A problem among *known*, which this stage had before or another one has, has its line already.
    """
    name, times = stage.name, _times(stage)
    match ended:
        case Done(detail=text, message=message, problem=beside):
            log.info(text, message=message, stage=name.value, **times)
            if beside and beside not in known:
                problem(name, beside)
        case Skipped(reason=text, message=message):
            log.info(f"{name} is skipped: {text}", message=message, stage=name.value, **times)
        case Waiting(reason=text):
            log.info(f"{name} waits: {text}", message=Message.STAGE_WAITING, stage=name.value, wait=text, **times)
        case Failed(problem=cause):
            problem(name, cause, **times)


def _times(stage: StageState) -> dict[str, str]:
    """Return status and times of *stage*, in seconds of CLOCK_BOOTTIME; what is not over has no end."""
    times = {
        "stage_started": stage.started,
        "stage_ended": stage.ended,
        "stage_waiting_since": stage.waiting_since,
        "stage_waited": stage.waited,
        "stage_resumed": stage.resumed,
        "stage_elsewhere": stage.elsewhere,
    }
    shown = {name: f"{value:.6f}" for name, value in times.items() if value is not None}
    return {"status": stage.status.value, **shown}


def problem(name: StageName | None, what: Problem, **fields: str) -> None:
    """Log the one cause line of a failure."""
    log.error(what.cause, message=what.message, stage=name, cause=what.cause, remedy=what.remedy, **fields)


def inhibited(inhibitor: Inhibitor) -> None:
    """Log that a program inhibits a stage."""
    text = f"{inhibitor.stage} is inhibited by {inhibitor}"
    log.info(text, message=Message.STAGE_WAITING, stage=inhibitor.stage.value)


def released(inhibitor: Inhibitor) -> None:
    """Log that an inhibitor is released."""
    log.info(
        f"{inhibitor.stage} is no longer inhibited by {inhibitor.who}",
        stage=inhibitor.stage.value,
    )


def unforeseen(known: NodenetError, error: BaseException, name: StageName | None) -> None:
    """Log an error that nothing has caught, as *known*; with its traceback where it is a fault of nodenetd."""
    fields = {"stage": name, "cause": known.cause, "remedy": known.remedy}
    log.error(known.cause, message=known.message, exc_info=error if is_unforeseen(known) else None, **fields)


def ready(seconds: float, node_ips: Iterable[IPAddress], failed: StageName | None) -> None:
    """Log that kubelet may start with *node_ips*, *seconds* after the daemon began."""
    listed = ", ".join(map(str, node_ips))
    beside = f" with node IP {listed}" if listed else ""
    if failed:
        text = f"Ready after {seconds:.1f} s, degraded ({failed} failed): kubelet and CRI-O may start{beside}"
        log.warning(f"{text}; see `nodenetctl status`", message=Message.READY_DEGRADED)
    else:
        log.info(f"Ready after {seconds:.1f} s: kubelet and CRI-O may start{beside}", message=Message.READY)


def unconfirmed(reason: str, count: int, seconds: float) -> None:
    """Report why kubelet does not start yet although every stage is over, for the *count*-th time."""
    log.warning(
        f"Not ready: {reason}; the node IPs are published again in {seconds:.0f} s (try {count})",
        message=Message.NOT_CONFIRMED,
        stage=StageName.NODEIP.value,
    )


def reloaded(failed: StageName | None, standing: StageName | None) -> None:
    """Log how a reload ended; what *failed* has its cause line already. *standing* failed before it, and still does."""
    if failed is None:
        text = f"Reloaded; {standing} is failed as before the reload" if standing else "Reloaded"
        log.info(text, message=Message.RELOADED)
    else:
        text = f"Reloaded in part: the settings are in force, but {failed} failed, as logged before"
        log.warning(text, message=Message.RELOAD_REFUSED, stage=failed.value)


def refused(what: Refusal) -> None:
    """Log that a reload was refused, with its one cause line."""
    problem(what.stage, what.problem)
    log.warning("Reload refused: everything stays as it is", message=Message.RELOAD_REFUSED)


def edited(calm: float) -> None:
    """Log that a reload begins because of an edit: nothing was edited for *calm* seconds since."""
    text = f"Settings or node file were edited while the boot waits: read again, unchanged for {calm:.0f} s"
    log.info(text, message=Message.EDITED)


def asked(what: str, stage: StageName) -> None:
    """Log that a stage is asked to do *what*; the stage logs the result."""
    log.info(f"Asked to {what}", stage=stage.value)


BACK = {
    Message.NODE_IP_DRIFT: ("The published node IPs are on the node again", "nodeip"),
    Message.NODE_IP_NOT_IN_USE: ("kubelet and CRI-O run with what is published", "nodeip"),
    Message.MANAGER_AWAY: ("NetworkManager is on the bus again", None),
}


def is_back(lost: Message) -> None:
    """Log that the loss which *lost* reported is over."""
    text, stage = BACK[lost]
    log.info(text, message=Message.RECOVERED, stage=stage)


def records(what: Problem | None) -> None:
    """Log why the disk does not take the records of nodenet, or that it does again."""
    if what:
        problem(None, what)
    else:
        log.info("The disk has taken all records")


def uplink(what: Problem | None) -> None:
    """Log what is wrong with the uplink, or that nothing is wrong any more."""
    if what:
        problem(None, what)
    else:
        log.info("The uplink has a carrier, and gateways and DNS servers answer again", message=Message.RECOVERED)


def order_refused(error: NodenetError) -> None:
    """Log that an order is refused because a trial of a node file runs."""
    text = f"Refused an order: {error.cause}"
    log.warning(text, message=Message.RELOAD_REFUSED, cause=error.cause, remedy=error.remedy)


def trial_edited(name: str) -> None:
    """Log that the node's own file, *name*, was edited during a trial, and is not applied."""
    log.warning(not_applied(name), message=Message.RELOAD_REFUSED, stage=StageName.NMSTATE.value, remedy=APPLY_IT)


def trial_rolled_back(name: str, why: NodenetError) -> None:
    """Log that the trial of the file *name* has ended without a confirmation."""
    log.warning(f"The trial of {name} is rolled back: {why.cause}", message=why.message, remedy=why.remedy)


T = TypeVar("T")
Given = TypeVarTuple("Given")


class Guard:
    """Runs one kind of work; an error is in the journal once, until the work succeeds or the error is another one."""

    def __init__(self, where: str, stage: StageName | None = None) -> None:
        """*where* is how the journal names the work, of *stage* where it has one."""
        self._where = where
        self._stage = stage
        self._known = ""
        self.failures = 0
        """How often the work failed in a row."""

    def run(self, work: Callable[[*Given], T], otherwise: T, *given: *Given) -> T:
        """Return what *work* returns when called with *given*, or *otherwise* where it raises, whatever that is."""
        try:
            result = work(*given)
        except Exception as error:  # noqa: BLE001  (the purpose of this class)
            self.failures += 1
            known = named(error, self._where)
            if known.cause != self._known:
                self._known = known.cause
                unforeseen(known, error, self._stage)
            return otherwise
        self._known, self.failures = "", 0
        return result
