"""Which node file is on trial, who started the trial, and how did it end?

A trial applies a node file, keeps NetworkManager's checkpoint open and rolls back unless an administrator confirms.
"""

from __future__ import annotations

import math
from dataclasses import replace
from enum import StrEnum
from typing import Any

from nodenet.core.errors import Busy, NodenetError, UsageInvalid
from nodenet.core.messages import Message
from nodenet.core.value import frozen

SHORTEST_SECONDS = 5
LONGEST_SECONDS = 3600
DEFAULT_SECONDS = 120
MARGIN_SECONDS = 10
"""How much later than nodenetd NetworkManager itself rolls back: nodenetd may be dead by then."""
ANSWER_SECONDS = 4500.0
"""How long nodenetctl waits for an answer. `apply_timeout` may be an hour; then come the probes and a rollback."""
STAGED = "/run/nodenet/try"
"""Where nodenetctl leaves the file for nodenetd, by its digest: nodenetd sees neither /home nor /tmp."""
ASIDE = ".nodenet-trial"
"""Where the file that a confirmed one replaces is kept until the commit. No reader takes it; each start removes it."""
DIGITS = 64
"""Of a SHA-256 in hexadecimal."""
SHOWN_DIGITS = 12
"""The first digits of a digest, as people are shown it."""


class TrialState(StrEnum):
    """How far a trial is."""

    APPLYING = "applying"
    HOLDING = "holding"
    """The file is applied, and the trial waits for the administrator."""
    CONFIRMED = "confirmed"
    ROLLED_BACK = "rolled-back"
    FAILED = "failed"
    """The file could not be applied, or confirmed; the network is as before unless the cause says otherwise."""


RUNNING = frozenset({TrialState.APPLYING, TrialState.HOLDING})


class Decision(StrEnum):
    """What an administrator decided about a trial."""

    CONFIRM = "confirm"
    ROLL_BACK = "roll back"


class TrialEnded(NodenetError):
    """A trial is over and was not confirmed; the cause says why."""

    exit_code = 1
    message = Message.CHANGE_UNDONE


@frozen
class TrialOrder:
    """A trial that *who* asks for: the file called *name* with the SHA-256 *digest*, for so many *seconds*.

    *entry*: the number of the entry of the history that is gone back to, 0 for a file that nodenetctl has left. Such a
    one is kept at once, without a confirmation, where *seconds* is 0. *force*: also without NICs that are gone.
    """

    name: str
    digest: str
    seconds: float
    who: str
    entry: int = 0
    force: bool = False


@frozen
class Trial:
    """The present trial, or the last one of this run of nodenetd.

    *until*: when it is rolled back (CLOCK_BOOTTIME), None before it holds. *cause*: why it ended. *installed*: the name
    that the confirmed file got. *edited*: the name of the node's own file where it was edited meanwhile, and is not
    applied.
    """

    name: str
    digest: str
    who: str
    state: TrialState = TrialState.APPLYING
    until: float | None = None
    cause: str = ""
    installed: str | None = None
    edited: str | None = None

    @property
    def runs(self) -> bool:
        """Whether it holds the network."""
        return self.state in RUNNING

    def holding(self, until: float) -> Trial:
        """Return the trial once the file is applied."""
        return replace(self, state=TrialState.HOLDING, until=until)

    def ended(self, state: TrialState, cause: str = "", installed: str | None = None) -> Trial:
        """Return the trial once it has ended."""
        return replace(self, state=state, until=None, cause=cause, installed=installed)


def order(name: str, digest: str, seconds: str, who: str) -> TrialOrder:
    """Return the order of these arguments of a D-Bus call. Raises UsageInvalid."""
    if len(digest) != DIGITS or not set(digest) <= set("0123456789abcdef"):
        raise UsageInvalid("the second argument of Try is not a SHA-256 in hexadecimal digits")
    return TrialOrder(checked_name(name), digest, checked(float(seconds)), who if who.isprintable() else "?")


def to_entry(order: TrialOrder, seconds: str) -> TrialOrder:
    """Return the *order* to go back to an entry of the history, for *seconds* of a D-Bus call. Raises UsageInvalid."""
    held = float(seconds)
    who = order.who if order.who.isprintable() else "?"
    return replace(order, seconds=checked(held) if held else 0.0, who=who)


def checked_name(name: str) -> str:
    """Return the *name* of the file to try if every administrator can be shown it. Raises UsageInvalid."""
    if name and "/" not in name and name.isprintable():
        return name
    raise UsageInvalid(
        f"a file on trial cannot have the name {name!a}: wherever the trial is shown, so is the name",
        remedy="Try a copy of it whose name has printable UTF-8 characters only",
    )


def checked(seconds: float) -> float:
    """Return the *seconds* that a trial may hold. Raises UsageInvalid."""
    if math.isfinite(seconds) and SHORTEST_SECONDS <= seconds <= LONGEST_SECONDS:
        return seconds
    raise UsageInvalid(
        f"a trial of {seconds:g} s is not possible",
        remedy=f"Give a time between {SHORTEST_SECONDS} s and {LONGEST_SECONDS} s with --for",
    )


def held(trial: Trial, now: float) -> Busy:
    """Return the refusal of every other order while *trial* runs, at *now* (CLOCK_BOOTTIME)."""
    left = "" if trial.until is None else f" for {max(trial.until - now, 0.0):.0f} s more"
    return Busy(
        f"a trial of {trial.name} holds the network{left}; {trial.who} started it",
        remedy="End it with `nodenetctl confirm` or `nodenetctl rollback`",
    )


def no_trial() -> UsageInvalid:
    """Return the refusal of a decision while no trial waits for one."""
    return UsageInvalid("no trial of a node file is running", remedy="Start one with `nodenetctl try FILE`")


def another(name: str, digest: str, wanted: str, decision: Decision = Decision.CONFIRM) -> UsageInvalid:
    """Return the refusal of a *decision* on the file with *wanted*: that called *name*, with *digest*, is on trial."""
    return UsageInvalid(
        f"{name} ({digest[:SHOWN_DIGITS]}) is on trial now, and not {wanted[:SHOWN_DIGITS]}: that trial has ended",
        remedy=f"Look at `nodenetctl status`, and {decision} again if the present one is right",
    )


def would_replace(name: str) -> UsageInvalid:
    """Return the refusal of a confirmation that would replace an edit of the node's own file, *name*."""
    return UsageInvalid(
        f"{name} was edited during the trial, and the confirmation would replace that edit; the trial goes on",
        remedy="Put it back as it was (`applied` in its directory is a copy of the file in force) and confirm again, "
        "or run `nodenetctl rollback`",
    )


def not_applied(name: str) -> str:
    """Return what follows from an edit of the node's own file, *name*, during a trial that was not confirmed."""
    return f"{name} was edited during the trial and is not applied"


ONCE_APPLIED = "the file is still being applied: it is rolled back once that is over, and its probes are"
CONFIRMED_LATER = "the file is still being applied: it is confirmed once that is over, and its probes are"
APPLY_IT = "Run `nodenetctl reload --wait` to apply it"


def confirmed_already(order: TrialOrder) -> UsageInvalid:
    """Return the refusal of a rollback that came after the confirmation."""
    return UsageInvalid(
        f"the trial of {order.name} was confirmed before, so the network stays as the file defines it",
        remedy="Look at `nodenetctl status`; to go back, try or install the earlier file",
    )


def described(trial: Trial | None) -> dict[str, Any] | None:
    """Return the trial as the status document has it."""
    return None if trial is None else document(trial)


def document(trial: Trial) -> dict[str, Any]:
    """Return what is known about a *trial*, JSON-ready."""
    return {
        "node_file": trial.name,
        "digest": trial.digest,
        "who": trial.who,
        "state": trial.state.value,
        "until": trial.until,
        "cause": trial.cause or None,
        "installed": trial.installed,
        "edited": trial.edited,
    }
