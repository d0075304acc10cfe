"""What did the process that runs libnmstate answer, and is the answer valid?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.value import frozen


@frozen
class Answer:
    """*result* of the order, or its *failure*; *elsewhere*: the seconds in which others worked for it."""

    result: Any
    elsewhere: float
    failure: tuple[FailureKind, str] | None = None
    said: tuple[str, ...] = ()
    """What libnmstate logged."""


CHECKPOINT = b'{"checkpoint": '
"""The prefix of a line that is not the answer: the report of the checkpoint that an apply has made."""


def checkpoint_of(line: bytes) -> str | None:
    """Return the path of the checkpoint that *line* reports, None where it is another line."""
    if not (line.startswith(CHECKPOINT) and line.endswith(b"}\n")):
        return None
    try:
        return str(json.loads(line)["checkpoint"])
    except ValueError:
        return None


def answer_of(line: bytes) -> Answer | None:
    """Return the answer in *line*, None where it is not a whole one: the process died while it wrote."""
    try:
        fields = json.loads(line)
        if not line.endswith(b"\n") or not isinstance(fields, dict):
            return None
        elsewhere, said = float(fields["elsewhere"]), tuple(str(each) for each in fields["said"])
        if "kind" in fields:
            return Answer(None, elsewhere, (FailureKind(fields["kind"]), str(fields["text"])), said)
        return Answer(fields["result"], elsewhere, said=said)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def shaped(state: object) -> dict[str, Any]:
    """Return *state* if it has the outline of an NMState document. Raises NmstateFailure naming the wrong part."""
    if not isinstance(state, dict):
        raise _strange("the document")
    _list_of_mappings(state, "interfaces")
    for name in ("routes", "route-rules"):
        section = state.get(name)
        if section is not None and not isinstance(section, dict):
            raise _strange(f"`{name}`")
        for part in ("running", "config"):
            _list_of_mappings(section or {}, part, f"{name}.")
    return {key: value for key, value in state.items() if value is not None}


def _list_of_mappings(state: Mapping[str, Any], key: str, above: str = "") -> None:
    found = state.get(key)
    if found is None:
        return
    if not (isinstance(found, list) and all(isinstance(item, dict) for item in found)):
        raise _strange(f"`{above}{key}`")


def _strange(part: str) -> NmstateFailure:
    return NmstateFailure(FailureKind.INTERNAL, f"libnmstate's answer is not an NMState document: see {part}")
