"""How is it remembered on disk how far an adoption is?"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import PurePosixPath

from nodenet.core.adoption.former_chain import MARKER
from nodenet.core.boot.outcome import Problem
from nodenet.core.messages import Message
from nodenet.core.record_version import fields
from nodenet.core.value import frozen

PATH = PurePosixPath("/var/lib/nodenet/adoption.json")
VERSION = 1
REMEDY = "`nodenetctl adopt` completes the way to nodenet, `nodenetctl hand-back` the way to the former chain"


@frozen
class AdoptionRecord:
    """How far *verb* is: *steps* by name, *done* of them are done, the next one has begun.

    *boot_id*: the boot in which it began. *undoing*: a step failed.
    """

    verb: str
    boot_id: str
    steps: tuple[str, ...]
    done: int = 0
    undoing: bool = False

    def interrupted(self, *, marker: bool, same_boot: bool) -> Problem:
        """Return what an administrator must know of a run that never ended, and what completes it."""
        what = "undoing" if self.undoing else f"step {self.done + 1} of {len(self.steps)}"
        when = "in this boot" if same_boot else "before the last boot"
        side = "nodenet" if marker else "the former chain"
        cause = (
            f"A `nodenetctl {self.verb}` was interrupted {when} ({what}): {MARKER} "
            f"{'exists' if marker else 'does not exist'}, so {side} configures this node at every boot"
        )
        return Problem(Message.ADOPTION_INTERRUPTED, cause, REMEDY)


def render(record: AdoptionRecord) -> bytes:
    """Return the record as it is stored."""
    return json.dumps({"version": VERSION, **asdict(record)}, indent=1).encode() + b"\n"


def parse(content: bytes) -> AdoptionRecord:
    """Return the record from its bytes. Raises ValueError when they are torn, wrong, or of another version."""
    found = fields(content, VERSION)
    found.pop("resolv_conf", None)  # the first records had it
    try:
        record = AdoptionRecord(**{**found, "steps": tuple(found["steps"])})
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a complete record: {error}") from error
    typed = all(isinstance(text, str) for text in (record.verb, record.boot_id, *record.steps))
    if not (typed and isinstance(record.done, int) and isinstance(record.undoing, bool)):
        raise ValueError("not a record: a value has another type")
    return record
