"""Has the systemd unit of a stage run, must it be started, and what does its result mean?

The states are systemd's own: load, active and sub state, a service's result (org.freedesktop.systemd1(5)), and the
result of a job as the signal JobRemoved reports it.
"""

from __future__ import annotations

from enum import Enum, auto

from nodenet.core.boot.outcome import Problem, Topic, Waiting
from nodenet.core.messages import Message
from nodenet.core.value import frozen

OURS = "nodenet"
"""What the names of our own units begin with; also those that replace an old name."""
GATES = frozenset({"nodenetd.service", "nodenet-ready.service"})
LOOK_SECONDS = 10.0
"""How often a unit is looked at whose signal may have been lost with the bus."""


@frozen
class Unit:
    """The state of a unit."""

    name: str
    """As the settings name it."""
    id: str
    """Its primary name: another one when *name* is an alias."""
    load_state: str = "loaded"
    active_state: str = "inactive"
    sub_state: str = "dead"
    result: str = "success"
    oneshot: bool = True
    ran: bool = False
    """Whether it has been started in this boot."""
    condition: bool = True
    """Whether the conditions held when it was started last."""
    job: int | None = None
    """The number of the job that is queued for it."""
    after: frozenset[str] = frozenset()
    behind: tuple[str, ...] = ()
    """What its queued job waits for, and what that waits for in turn, where this ends with one of GATES."""


class Move(Enum):
    """What is to be done, or what is known."""

    START = auto()
    OVER = auto()
    """It did its work."""
    UNMET = auto()
    """It was started and had nothing to do: one of its conditions does not hold."""


_NOT_LOADED = {
    "not-found": ("there is no {name}", "Install it, or name another provider in the settings"),
    "masked": ("{name} is masked", "Run `systemctl unmask {name}`, or name another provider in the settings"),
}
_JOB_ENDED_BADLY = {
    "failed": "{name} failed ({result})",
    "timeout": "{name} was not started in time",
    "canceled": "the start of {name} was cancelled",
    "dependency": "a unit that {name} requires failed",
}


def plan(unit: Unit, ended: str | None, *, tried: bool) -> Move | Waiting | Problem:
    """Return what *unit* asks for. *ended*: how its newest job ended; *tried*: it was started for this run."""
    if obstacle := _obstacle(unit):
        return obstacle
    if unit.job is not None and unit.behind:
        return _circle(unit)
    if unit.job is not None:
        return _wait(f"{unit.name} ({unit.sub_state}, job {unit.job})")
    if unit.active_state in ("activating", "deactivating", "maintenance"):
        return _wait(f"{unit.name} ({unit.sub_state})")
    if unit.active_state in ("active", "reloading", "refreshing"):
        return Move.OVER
    return _after_start(unit, ended) if tried else _before_start(unit)


def _before_start(unit: Unit) -> Move:
    """A unit that was not started for this run and is not active: it may have done its work and ended."""
    over = unit.active_state == "inactive" and unit.oneshot and unit.ran
    return Move.OVER if over else Move.START


def _after_start(unit: Unit, ended: str | None) -> Move | Problem:
    if ended in _JOB_ENDED_BADLY:
        return _failed(unit, _JOB_ENDED_BADLY[ended])
    if unit.active_state == "failed":
        return _failed(unit, _JOB_ENDED_BADLY["failed"])
    return Move.OVER if unit.condition else Move.UNMET


def _wait(what: str) -> Waiting:
    return Waiting(what, frozenset({Topic.UNIT}), LOOK_SECONDS)


def _obstacle(unit: Unit) -> Problem | None:
    """Return why the unit can never be started, if so."""
    if unit.load_state != "loaded":
        cause, remedy = _NOT_LOADED.get(
            unit.load_state, ("{name} cannot be loaded ({load_state})", "See `systemctl status {name}`")
        )
        words = {"name": unit.name, "load_state": unit.load_state}
        return Problem(Message.UNIT_FAILED, cause.format(**words), remedy.format(**words))
    if unit.id.startswith(OURS):
        cause = f"{unit.name} is {unit.id}, which itself waits for this stage"
        return Problem(Message.UNIT_FAILED, cause, f"Run `systemctl disable {unit.id}` and install the real unit")
    if gates := sorted(GATES & unit.after):
        cause = f"{unit.name} is ordered after {gates[0]}, which waits for it"
        return Problem(Message.UNIT_FAILED, cause, f"Take {gates[0]} out of After= in {unit.name}")
    return None


def _circle(unit: Unit) -> Problem:
    """Return the problem of a job that systemd begins only when nodenetd is ready: the boot continues without it."""
    chain = ", which waits for ".join(unit.behind)
    remedy = f"Take {unit.behind[0]} out of After= in {unit.name}, or name another provider in the settings"
    return Problem(Message.UNIT_FAILED, f"{unit.name} waits for {chain}, which waits for this stage", remedy)


def _failed(unit: Unit, cause: str) -> Problem:
    remedy = f"See `journalctl -u {unit.name}`; once it has run well, the stage is done by itself"
    return Problem(Message.UNIT_FAILED, cause.format(name=unit.name, result=unit.result), remedy)
