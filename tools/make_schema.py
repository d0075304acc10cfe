"""The JSON Schema of node files, for editors and pipelines: this writes docs/node-file.schema.json.

It is made from the table that `nodenetctl check` uses, so both know the same keys. A schema cannot judge values (an
address, a VLAN id in its range) or what two parts of a document contradict: `nodenetctl check` does.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1] / "daemon"))

from nodenet.core.node_file import policy, schema
from nodenet.core.node_file.values import MADE, SHOWN

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "node-file.schema.json"
_DIGITS = r"^[-+]?([0-9]+|0x[0-9a-fA-F]+)$"
_WORDS = ["1", "true", "yes", "on", "y", "0", "false", "no", "off", "n"]
_KINDS: dict[str, dict[str, Any]] = {
    "any": {},
    "text": {"type": ["string", "number", "boolean", "null"]},  # outside of interfaces `search: [10]` is a text
    "flag": {"anyOf": [{"type": ["boolean", "null"]}, {"enum": [0, 1, *_WORDS]}]},
    "bool": {"type": ["boolean", "null"]},
    "int": {"anyOf": [{"type": ["integer", "null"]}, {"type": "string", "pattern": _DIGITS}]},
}


def document() -> dict[str, Any]:
    """Return the schema: a definition for each section of NMState."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": f"node file of nodenet: NMState {schema.VERSION}",
        "anyOf": [_reference(schema.STATE), _reference("policy")],
        "definitions": {**{name: _section(name) for name in schema.sections()}, "policy": _policy()},
    }


def _section(name: str) -> dict[str, Any]:
    keys = schema.section(name)
    made: dict[str, Any] = {
        "type": ["object", "null"],
        "additionalProperties": False,
        "properties": {key: _kind(kind) for key, kind in sorted(keys.items())},
    }
    if name == schema.INTERFACE:
        made["properties"]["type"] = {"enum": [None, *sorted(MADE | SHOWN)]}
        made["required"] = ["name"]
        # libnmstate takes whatever an interface had that is to be removed.
        removed = {"type": "object", "required": ["state"], "properties": {"state": {"const": "absent"}}}
        return {"anyOf": [made, removed]}
    return made


def _policy() -> dict[str, Any]:
    """Return the schema of a policy: what its template leads to is known on a host only."""
    capture = {"type": ["object", "null"], "additionalProperties": {"type": "string"}}
    keys = {policy.KEYS[0]: capture, **{key: {"type": "object"} for key in policy.DESIRED}}
    some = [{"required": [key]} for key in policy.DESIRED]
    return {"type": "object", "additionalProperties": False, "properties": keys, "oneOf": some}


def _kind(kind: str) -> dict[str, Any]:
    if kind.startswith("["):
        return {"anyOf": [{"type": "array", "items": _kind(kind[1:-1])}, {"type": "null"}]}
    if kind.startswith("@"):
        return _reference(kind[1:])
    if kind.startswith("="):
        return {"enum": [*kind[1:].split(","), None]}
    return _KINDS[kind]


def _reference(name: str) -> dict[str, Any]:
    return {"$ref": f"#/definitions/{name}"}


def text() -> str:
    """Return the file's content."""
    return json.dumps(document(), indent=1) + "\n"


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
