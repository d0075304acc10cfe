"""In how many boots in a row did the node not stay READY with a node file that is not the last known good one?

A file can be applied and verified and still keep the node from READY, or end it soon after: the kernel panics, the node
hangs or is cut off, and a watchdog or a person resets it. One boot that stayed READY ends the count, and the next boot
begins another one.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace

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
