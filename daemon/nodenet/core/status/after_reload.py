"""What must an administrator know after a reload that the daemon accepted?

The daemon reports an error for what it refused. A reload that it accepted can still leave the node with a problem,
or without something that it had before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nodenet.core.status.last_known import problems
from nodenet.core.status.text import problem_lines
from nodenet.core.value import frozen

INPUT = ("hostname", "nmstate")
"""Stages whose problems are about what a reload reads: host name, node file. Wrong settings are refused before."""
DEGRADED = 2
"""As the exit code of ``nodenetctl status``."""


@frozen
class Aftermath:
    """The lines to print, and the exit code."""

    lines: tuple[str, ...] = ()
    exit_code: int = 0


def aftermath(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> Aftermath:
    """Return what to print after a reload; *before* and *after* are the status documents around it.

    The exit code is 2 where the reload brought a problem, where its own input has one, and where the node file is
    gone. It is 0 where the node has only problems of other stages that it had before.
    """
    if after is None:
        return Aftermath()
    known = {(problem["message_id"], problem["stage"]) for problem in problems(before)} if before else set()
    lines: list[str] = []
    code = 0
    for problem in problems(after):
        is_new = before is not None and (problem["message_id"], problem["stage"]) not in known
        if is_new or problem["stage"] in INPUT:
            code = DEGRADED
        lines += problem_lines(problem)
    if lines:
        lines[:0] = ["The reload is complete, but the node has problems:" if code else STANDING]
    if after["node_file"] is None and after["applied_digest"]:
        digest = after["applied_digest"][:12]
        lines.append(f"There is no node file any more. The configuration of {digest} is still active: {UNDO}")
        if before is not None and before["node_file"]:
            code = DEGRADED
    if left := after.get("left_over"):
        lines += [f"Left over from {each}" for each in left]
        lines.append("`nodenetctl reload --prune` removes that")
    return Aftermath(tuple(lines), code)


STANDING = "The reload is complete. The node still has the problems that it had before:"
UNDO = "remove what it set with `nmcli`, or restore the file"
