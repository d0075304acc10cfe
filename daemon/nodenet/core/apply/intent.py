"""What did an earlier run set out to do to the network, and did it get there?

NetworkManager forgets a pending checkpoint when it dies, and a power cut leaves the profiles of an
unverified apply on disk. So the intent is written before the network is touched, and anything but ``good``
found at the next start means that the state was never verified.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum

from nodenet.core.network_manager.checkpoint import Checkpoint

VERSION = 1


class Phase(StrEnum):
    """How far an apply came."""

    APPLYING = "applying"
    GOOD = "good"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Intent:
    """The record: *started* in seconds of CLOCK_BOOTTIME of boot *boot_id*.

    *in_force* is the digest of the file that the network was last made by, *brings_bridge* tells of that one.
    """

    digest: str
    phase: Phase
    boot_id: str
    started: float
    in_force: str | None = None
    brings_bridge: bool = False
    cause: str = ""
    remedy: str = ""


class Plan(StrEnum):
    """What to do about a node file."""

    KEEP = "keep"
    """It is in force and the state matches: nothing is written."""
    ADOPT = "adopt"
    """The state matches already, made by somebody else: only the record is written."""
    APPLY = "apply"
    REFUSE = "refuse"
    """It was refused in this boot already: the network is not shaken again until somebody asks."""


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
    return json.dumps({"version": VERSION, **asdict(record)}, indent=1).encode() + b"\n"


def parse(content: bytes) -> Intent:
    """Return the record from its bytes. Raises ValueError when they are torn or of another version."""
    fields = json.loads(content)
    if not isinstance(fields, dict) or fields.pop("version", None) != VERSION:
        raise ValueError(f"not a record of version {VERSION}")
    try:
        return Intent(**{**fields, "phase": Phase(fields["phase"])})
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a complete record: {error}") from error


def is_ours(checkpoint: Checkpoint, record: Intent | None, boot_id: str) -> bool:
    """Tell whether *checkpoint* was left by an apply of ours that was interrupted in this boot.

    Checkpoints have no owner. Ours is the one made after our intent was written: an apply starts only when
    no other is pending, and NetworkManager refuses a second one for the same devices.
    """
    if record is None or record.phase is not Phase.APPLYING or record.boot_id != boot_id:
        return False
    return checkpoint.created >= record.started
