"""Is a failed apply tried again, and which boots count against a new node file?"""

from __future__ import annotations

import json
from dataclasses import asdict, replace

from nodenet.core.nmstate.failure import PERMANENT, FailureKind, NmstateFailure
from nodenet.core.record_version import fields
from nodenet.core.value import frozen

VERSION = 1


@frozen
class NewFile:
    """The record: the file with *digest*, the *boots* that began with it and did not stay READY.

    *ready* is the last one that has. *cut_off* is the boot in which the file cut the node off, or
    could not be rolled back, and *cause* says which and how that showed.
    """

    digest: str
    boots: tuple[str, ...] = ()
    ready: str = ""
    cut_off: str = ""
    cause: str = ""


def begun(before: NewFile | None, digest: str, boot_id: str) -> NewFile:
    """Return the record of boot *boot_id*, which begins with the file *digest*."""
    if before is None or before.digest != digest:
        return NewFile(digest, (boot_id,))
    if boot_id in (*before.boots, before.ready):
        return before
    return replace(before, boots=(*before.boots, boot_id), ready="")


def reached_ready(before: NewFile, boot_id: str, *, applied: bool) -> NewFile:
    """Return the record after boot *boot_id* has reached READY.

    *applied*: with the file, and for long enough. Otherwise the boot says nothing about the file.
    """
    if applied:
        return before if before.ready and not before.boots else NewFile(before.digest, ready=boot_id)
    return replace(before, boots=tuple(boot for boot in before.boots if boot != boot_id))


def lost_boots(known: NewFile | None, digest: str, boot_id: str) -> int:
    """Return in how many boots before *boot_id* the node did not stay READY with the file *digest*, in a row."""
    if known is None or known.digest != digest:
        return 0
    return len([boot for boot in known.boots if boot != boot_id])


def render(known: NewFile) -> bytes:
    """Return the record as it is stored."""
    return json.dumps({"version": VERSION, **asdict(known)}).encode() + b"\n"


def parse(content: bytes) -> NewFile:
    """Return the record from its bytes. Raises ValueError when they are torn, wrong, or of another version."""
    found = fields(content, VERSION)
    boots = found.get("boots")
    if isinstance(boots, list) and all(isinstance(boot, str) for boot in boots):
        match [found.get(key, "") for key in ("digest", "ready", "cut_off", "cause")]:
            case [str(digest), str(ready), str(cut_off), str(cause)]:
                return NewFile(digest, tuple(boots), ready, cut_off, cause)
    raise ValueError("not a complete record: a value is missing or has another type")


MAY_PASS = frozenset(
    {
        FailureKind.PLUGIN,
        FailureKind.UNAVAILABLE,
        FailureKind.BUSY,
        FailureKind.INTERNAL,
        FailureKind.DIED,
        FailureKind.KILLED,
        FailureKind.UNLOADED,
    }
)
"""Worth another try. Not a failed verification: libnmstate has applied twice by then and looked ten times."""

_PAUSES = {FailureKind.TAKEN: (5.0, 60.0), FailureKind.PROBE: (60.0, 900.0)}
"""The first and the longest pause before a file is tried again that was refused for another host: it had an address of
the file, or did not answer. The latter takes the node from its network for a while each time."""
TRIES = 3
BUDGET_SECONDS = 300.0
"""No further try begins once so much time has passed since the first one began: kubelet is waiting."""


def is_permanent(failure: NmstateFailure) -> bool:
    """Return whether no further try can succeed on this kernel."""
    said = f"{failure.cause} {failure.said}".lower()
    return any(words in said for words in PERMANENT)


def pauses(kind: FailureKind) -> tuple[float, float] | None:
    """Return the first and the longest pause before a file that was refused so is tried again; None: it is not."""
    return _PAUSES.get(kind)


def may_try_again(failure: NmstateFailure, tries: int, seconds: float) -> bool:
    """Return whether a file that failed so, at the last of *tries* tries in *seconds*, is tried once more."""
    passes = failure.kind in MAY_PASS and not is_permanent(failure)
    return passes and tries < TRIES and seconds < BUDGET_SECONDS


def delay(attempt: int) -> float:
    """Return the seconds to wait after the *attempt*-th failed try (1, 2, …)."""
    return min(2.0**attempt, 30.0)
