"""What is known about the node while nodenetd is not running?

The state file stays when nodenetd ends. Its content was true when it was written and may not be true any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nodenet.core.messages import Message

if TYPE_CHECKING:
    from nodenet.core.boot.outcome import Problem

REMEDY = "See `systemctl status nodenetd`"


def last_known(document: Mapping[str, Any], age: float | None) -> dict[str, Any]:
    """Return the status document of a daemon that is not running: failed, not ready, with that problem first.

    *age*: seconds since *document* was written, None where the clock does not say. A daemon that exited because of
    an error that only an administrator can correct has left that error in the document, and it stays first.
    """
    problem = {
        "message_id": Message.STOPPED.value,
        "stage": None,
        "cause": "nodenetd is not running, so nothing of this may be true any more",
        "remedy": REMEDY,
    }
    found = list(problems(document))
    found = [*found, problem] if document["health"] == "failed" else [problem, *found]
    return {
        **document,
        "health": "failed",
        "ready": False,
        "last_error": found[0],
        "problems": found,
        "running": {"now": False, "age": age},
    }


def error(stage: str | None, problem: Problem) -> dict[str, str | None]:
    """Return *problem* as the document has it; *stage* is the one that has it."""
    return {
        "message_id": problem.message.value,
        "stage": stage and str(stage),
        "cause": problem.cause,
        "remedy": problem.remedy,
    }


def with_problem(document: dict[str, Any], problem: Problem | None) -> dict[str, Any]:
    """Return *document* with one more problem; health and the last error stay, which are those of nodenetd."""
    return {**document, "problems": [*problems(document), error(None, problem)]} if problem else document


def problems(document: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Return every problem of the document; one of an older daemon has the first problem only."""
    error = document["last_error"]
    return tuple(document.get("problems", (error,) if error else ()))


def has_vanished(document: Mapping[str, Any]) -> bool:
    """Return whether the daemon of *document* is not running and left no error that says why."""
    return "running" in document and document["last_error"]["message_id"] == Message.STOPPED.value
