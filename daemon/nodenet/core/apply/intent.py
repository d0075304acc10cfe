"""What was an earlier apply going to do to the network, and did it succeed?

NetworkManager forgets a pending checkpoint when it dies, and a power cut leaves the profiles of an unverified apply on
disk. So the intent is written before the network is touched. ``applying``, found at the next start, means that the
state was never verified.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields as fields_of
from dataclasses import replace
from enum import StrEnum
from functools import lru_cache
from types import UnionType
from typing import Any

from nodenet.core.network_manager.state import Checkpoint
from nodenet.core.record_version import fields
from nodenet.core.value import frozen

VERSION = 1
ROLLBACK_SECONDS = 127
"""NetworkManager rolls an apply back by itself when it is neither committed nor extended for so long.

Checkpoints have no owner: the time is one that other programs do not use (Cockpit: 7 s, nmstatectl: 60 s).
"""


class Phase(StrEnum):
    """How far an apply came."""

    APPLYING = "applying"
    """It has begun, and its end is not known."""
    ROLLED_BACK = "rolled-back"
    """It failed, and the network was put back: nothing is left to repair."""
    GOOD = "good"
    REFUSED = "refused"


TOUCHED = frozenset({Phase.APPLYING, Phase.ROLLED_BACK})
"""The network was changed by an apply that has failed, or whose end is not known."""


@frozen
class Intent:
    """The record of an apply.

    *started* and *ended* are in seconds of CLOCK_BOOTTIME of boot *boot_id*; *ended* is None while it is not known that
    the apply has ended. *in_force* is the digest of the file that the network was last made by; *brings_bridge* says
    whether that file has br-ex. *checkpoint* is the D-Bus path of NetworkManager's checkpoint of this apply, and
    *created* when NetworkManager made it (CLOCK_BOOTTIME); both are None until they are known. *way_out*: a gateway
    answered before the network was touched. *interrupted*: an earlier apply of this file was, on such a node. *cause*
    is empty where the apply did not fail, but was interrupted.
    """

    digest: str
    phase: Phase
    boot_id: str
    started: float
    in_force: str | None = None
    brings_bridge: bool = False
    cause: str = ""
    remedy: str = ""
    checkpoint: str | None = None
    created: float | None = None
    ended: float | None = None
    way_out: bool = False
    interrupted: bool = False

    def with_checkpoint(self, checkpoint: Checkpoint) -> Intent:
        """Return the record of an apply that NetworkManager made *checkpoint* for."""
        return replace(self, checkpoint=checkpoint.path, created=checkpoint.created)


def cut_short(record: Intent, digest: str) -> bool:
    """Return whether an apply of the file with *digest* was interrupted on a node that had a way out before.

    What it left may have none, so what answers now is not what answered before the file. A try that failed since was
    rolled back to that.
    """
    if record.digest != digest or record.phase is Phase.GOOD:
        return False
    return record.interrupted or (record.phase is Phase.APPLYING and record.way_out)


def had_way_out(record: Intent, digest: str) -> bool:
    """Return whether the node had a way out without the file with *digest*, before an apply of it that failed.

    What answers now may be less: the network from before is not back yet, a switch port still learns in the next boot,
    or a power cut has taken more than that apply.
    """
    return record.digest == digest and record.way_out and record.phase in (Phase.ROLLED_BACK, Phase.REFUSED)


def is_end_of(record: Intent, during: Intent) -> bool:
    """Return whether *record* says how the apply of *during* has ended, and not an earlier one of the same file."""
    same = (record.digest, record.boot_id) == (during.digest, during.boot_id)
    return same and record.phase is not Phase.APPLYING and record.started >= during.started


class Plan(StrEnum):
    """What to do about a node file."""

    KEEP = "keep"
    """It is in force and the state matches: nothing is written."""
    ADOPT = "adopt"
    """The state matches already, though no apply of ours made it: only the record is written."""
    APPLY = "apply"
    REFUSE = "refuse"
    """It was refused in this boot already: it is not applied again until an administrator asks for it."""


def plan(digest: str, record: Intent | None, boot_id: str, *, matches: bool, retry_refused: bool) -> Plan:
    """Return what to do about the file with *digest*; *matches*: the difference to the state is empty."""
    if record is None:
        return Plan.ADOPT if matches else Plan.APPLY
    if record.phase is Phase.APPLYING:
        return Plan.APPLY  # unverified state: once more, even where it looks right
    if record.phase is Phase.REFUSED and record.digest == digest and record.boot_id == boot_id:
        return Plan.APPLY if retry_refused else Plan.REFUSE
    if not matches:
        return Plan.APPLY
    return Plan.KEEP if record.phase is Phase.GOOD and record.digest == digest else Plan.ADOPT


def render(record: Intent) -> bytes:
    """Return the record as it is stored."""
    values = {each.name: getattr(record, each.name) for each in fields_of(record)}
    return json.dumps({"version": VERSION, **values}, indent=1).encode() + b"\n"


@lru_cache(maxsize=4)
def parse(content: bytes) -> Intent:
    """Return the record from its bytes. Raises ValueError when they are torn, wrong, or of another version."""
    return from_fields(fields(content, VERSION))


def from_fields(found: dict[str, Any]) -> Intent:
    """Return the record with these values. Raises ValueError where one is missing or wrong."""
    try:
        record = Intent(**{**found, "phase": Phase(found["phase"])})
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a complete record: {error}") from error
    texts = _are((record.digest, record.boot_id, record.cause, record.remedy), str)
    texts = texts and _are((record.in_force, record.checkpoint), str | None)
    numbers = _are((record.started,), int | float) and _are((record.created, record.ended), int | float | None)
    if not (texts and numbers and _are((record.brings_bridge, record.way_out, record.interrupted), bool)):
        raise ValueError("not a record: a value has another type")
    return record


def _are(values: Iterable[object], kind: type | UnionType) -> bool:
    return all(isinstance(value, kind) for value in values)


def is_ours(checkpoint: Checkpoint, record: Intent, boot_id: str, began: float) -> bool:
    """Return whether *checkpoint* is that of *record*, an apply whose change is open.

    Checkpoints have no owner. Ours was made in this boot, after the apply began, and before it ended or, where a kill
    ended it, before this nodenetd *began* (CLOCK_BOOTTIME); and its time-out is ours. Of a trial the record has path
    and time of creation: nodenetd has changed its time-out.
    """
    if record.boot_id != boot_id:
        return False
    if record.checkpoint is not None:
        return (checkpoint.path, checkpoint.created) == (record.checkpoint, record.created)
    end = began if record.ended is None else record.ended
    return record.started <= checkpoint.created <= end and _has_our_time(checkpoint, end)


def _has_our_time(checkpoint: Checkpoint, end: float) -> bool:
    """Return whether *checkpoint* may be of an apply with ROLLBACK_SECONDS that ended at *end*.

    libnmstate extends it: NetworkManager adds the seconds since its creation then, rounded.
    """
    if checkpoint.seconds is None:
        return True
    return ROLLBACK_SECONDS <= checkpoint.seconds <= ROLLBACK_SECONDS + end - checkpoint.created + 1


MOST = 8
"""Links in one line of the journal."""
SILENT = frozenset({"name", "type", "state", "identifier"})
"""Keys of each link in a difference, whatever differs."""


def was_good(record: Intent | None, boot_id: str) -> bool:
    """Return whether an apply of an earlier boot has made the network of *record*, and nothing has been tried since."""
    return record is not None and record.phase is Phase.GOOD and record.boot_id != boot_id


def summary(difference: Mapping[str, Any]) -> str:
    """Return what is in libnmstate's *difference*: each link with its keys, then the other keys of the document."""
    links = [_link(item) for item in difference.get("interfaces", ())]
    more = [f"{len(links) - MOST} more links"] if len(links) > MOST else []
    others = [key for key, value in difference.items() if key != "interfaces" and value]
    return ", ".join([*links[:MOST], *more, *others])


def _link(item: Mapping[str, Any]) -> str:
    keys = sorted(item.keys() - SILENT)
    return f"{item.get('name')} ({', '.join(keys)})" if keys else str(item.get("name"))
