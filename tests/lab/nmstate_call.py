"""What does libnmstate answer on a node? Every call is a process of its own there."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from harness import Shell

CALL = """
import json, sys
sys.path.append("/usr/lib/nodenet/bundled")
import libnmstate
name, args, options = json.load(sys.stdin)
try:
    answer = {"returned": getattr(libnmstate, name)(*args, **options)}
except libnmstate.NmstateError as error:
    fields = {"checkpoint": error.checkpoint, "rollback_error": error.rollback_error, **vars(error)}
    answer = {"raised": type(error).__name__, "said": str(error), "fields": fields}
print(json.dumps(answer))
"""


@dataclass
class Raised(Exception):
    """An error of `libnmstate.error`, as the calling process on the node saw it."""

    kind: str
    said: str
    fields: dict[str, Any]


def call(node: Shell, function: str, *args: Any, **options: Any) -> Any:
    """Call a function of libnmstate on the node; returns what it returned or raises `Raised`."""
    question = json.dumps([function, args, options])
    answer = json.loads(node.run(["python3", "-c", CALL], stdin=question, timeout=120).stdout)
    if "raised" in answer:
        raise Raised(answer["raised"], answer["said"], answer["fields"])
    return answer["returned"]


def failure(node: Shell, function: str, *args: Any, **options: Any) -> Raised:
    """Return the error that the call ends with."""
    with pytest.raises(Raised) as caught:
        call(node, function, *args, **options)
    return caught.value
