"""What is a value of D-Bus without its type, and how is it written as JSON with its type?"""

from __future__ import annotations

from typing import Any

from nodenet.edge.bus.connection import Variant


def plain(value: Any) -> Any:  # noqa: ANN401  (anything that D-Bus can say)
    """Take the variants away."""
    if isinstance(value, Variant):
        return plain(value.value)
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [plain(entry) for entry in value]
    return value


def packed(value: Any) -> Any:  # noqa: ANN401
    """Return a value as JSON that says what JSON cannot: each is a list of its kind and its content."""
    if isinstance(value, Variant):
        return ["variant", value.signature, packed(value.value)]
    if isinstance(value, bytes):
        return ["bytes", value.hex()]
    if isinstance(value, dict):
        return ["dict", {key: packed(entry) for key, entry in value.items()}]
    if isinstance(value, list):
        return ["list", [packed(entry) for entry in value]]
    return ["plain", value]


def unpacked(value: list[Any]) -> Any:  # noqa: ANN401
    """Return what ``packed`` was given."""
    kind, *content = value
    if kind == "variant":
        return Variant(content[0], unpacked(content[1]))
    if kind == "bytes":
        return bytes.fromhex(content[0])
    if kind == "dict":
        return {key: unpacked(entry) for key, entry in content[0].items()}
    if kind == "list":
        return [unpacked(entry) for entry in content[0]]
    return content[0]
