"""Has a unit done a stage, and what must be there as evidence?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from enum import Enum, auto
from pathlib import PurePosixPath

from nodenet.core.boot.outcome import Facts, Problem, Topic, Waiting
from nodenet.core.hostname import normalised, why_invalid
from nodenet.core.ip import IPAddress
from nodenet.core.kernel.snapshot import Snapshot
from nodenet.core.messages import Message
from nodenet.core.node_file import content, find
from nodenet.core.node_ip import published_files
from nodenet.core.node_ip.published_files import BRIDGE_UP, IPV4, IPV6, PRIMARY, REMOTE_WORKER
from nodenet.core.node_ip.select import Selection
from nodenet.core.resolver import DONE
from nodenet.core.stage_name import StageName
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


# A unit that ended well: is there what its stage publishes, and which facts follow from it?

UNIT = "unit:"
NODE_IP_FILES = (PRIMARY, IPV4, IPV6)


@frozen
class Applied:
    """The marker, a copy of the applied file: its digest, and what the file asked for; None if it cannot be read."""

    digest: str | None = None
    brings_bridge: bool = False


@frozen
class Evidence:
    """What was found: the host's name, the names beside the node files, files by path, and the kernel's state."""

    hostname: str = ""
    listing: tuple[str, ...] = ()
    applied: Applied | None = None
    """What the marker beside the node files says, None where there is none."""
    files: Mapping[PurePosixPath, bytes] = field(default_factory=dict)
    """Those of WATCHED that exist."""
    snapshot: Snapshot = field(default_factory=Snapshot)


WATCHED = (*NODE_IP_FILES, REMOTE_WORKER, DONE, BRIDGE_UP)


@frozen
class Proof:
    """*missing* says what is not there yet, None when all is; *learnt* adds the facts that follow from it."""

    missing: Callable[[Evidence], str | None] = lambda _: None
    learnt: Callable[[Evidence, Facts], Facts] = lambda _, facts: facts


def _no_hostname(found: Evidence) -> str | None:
    problem = why_invalid(normalised(found.hostname))
    return f"the host name {found.hostname!r} is not valid: {problem}" if problem else None


def _hostname(found: Evidence, facts: Facts) -> Facts:
    return replace(facts, hostname=normalised(found.hostname))


def _not_applied(found: Evidence) -> str | None:
    if found.applied is None and find.search(None, found.listing).found:
        return "there is a node file and no marker `applied` beside it"
    return None


def _network(found: Evidence, facts: Facts) -> Facts:
    """Read from the marker what the applied file asked for."""
    if found.applied is None or found.applied.digest is None:
        return facts
    return replace(facts, applied_digest=found.applied.digest, brings_bridge=found.applied.brings_bridge)


def _not_there(path: PurePosixPath) -> Callable[[Evidence], str | None]:
    return lambda found: None if path in found.files else f"{path} is not there"


def _no_node_ip(found: Evidence) -> str | None:
    if PRIMARY not in found.files:
        return f"{PRIMARY} is not there"
    published, _ = published_files.node_ips(found.files)
    if not published:
        return f"{PRIMARY} contains something that is not an address"
    if _link_of(found, published[0]) is None:
        return f"{published[0]} of {PRIMARY} is on no link of this node"
    return None


def _link_of(found: Evidence, address: IPAddress) -> str | None:
    return next((known.link for known in found.snapshot.addresses if known.address == address), None)


def _selection(found: Evidence, facts: Facts) -> Facts:
    published, _ = published_files.node_ips(found.files)
    selection = Selection(published, _link_of(found, published[0]), remote_worker=REMOTE_WORKER in found.files)
    return replace(facts, selection=selection)


def _no_bridge(found: Evidence) -> str | None:
    if BRIDGE_UP in found.files or _has_bridge(found):
        return None
    return f"there is neither {BRIDGE_UP} nor a link {content.BRIDGE}"


def _has_bridge(found: Evidence) -> bool:
    return any(link.name == content.BRIDGE for link in found.snapshot.links)


def _bridge(found: Evidence, facts: Facts) -> Facts:
    if not _has_bridge(found):
        return facts
    selection = facts.selection
    if selection and selection.node_ips and (link := _link_of(found, selection.node_ips[0])):
        selection = replace(selection, link=link)  # the node IP may have moved to it
    return replace(facts, bridge=content.BRIDGE, selection=selection)


PROOFS: Mapping[StageName, Proof] = {
    StageName.HOSTNAME: Proof(_no_hostname, _hostname),
    StageName.NMSTATE: Proof(_not_applied, _network),
    StageName.RESOLV_PREPENDER: Proof(_not_there(DONE)),
    StageName.NODEIP: Proof(_no_node_ip, _selection),
    StageName.CONFIGURE_OVS: Proof(_no_bridge, _bridge),
}
"""Of a stage that is not here nothing is known: the good end of its unit is believed."""


def proof_of(stage: StageName) -> Proof:
    """Return what a unit that does *stage* must leave behind."""
    return PROOFS.get(stage, Proof())


def unit_of(provider: str) -> str | None:
    """Return the unit that *provider* names, None when it names none."""
    return provider.removeprefix(UNIT) if provider.startswith(UNIT) else None
