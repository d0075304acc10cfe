"""What does an apply ask libnmstate for where it also removes what earlier node files have left over?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nodenet.core.history.left_over import lines, removal, together
from nodenet.core.value import frozen
from nodenet.stages.nmstate.job import Job


@frozen
class Wanted:
    """The *text* that libnmstate gets, the *difference* that it makes, and whether it *prunes*."""

    text: str
    difference: Mapping[str, Any]
    prunes: bool = False

    @classmethod
    def of(cls, text: str, difference: Mapping[str, Any], removed: Mapping[str, Any]) -> Wanted:
        """Return the unchanged *text* of the file; where something is *removed* too, the difference with that."""
        if not removed:
            return cls(text, difference)
        both = together(difference, removed)
        return cls(json.dumps(both), both, prunes=True)


def left_behind(job: Job, old: Mapping[str, Any]) -> tuple[Job, dict[str, Any]]:
    """Return *job* with what it leaves behind of *old*, in words, and the document that removes the rest."""
    removed = removal(old) if job.prune else {}
    return (job, removed) if removed else (replace(job, left=tuple(lines(old))), {})
