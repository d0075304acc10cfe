"""Which values do the scalars of a node file have, for a libnmstate that takes no text?

YAML 1.2.2, section 10.3 (https://yaml.org/spec/1.2.2), as the crate's parser reads it.
"""

from __future__ import annotations

import re
from math import isfinite
from typing import Any

from nodenet.core.node_file.yaml_text import NULLS, Block, Node, Scalar


def plain(node: Node | None) -> Any:  # noqa: ANN401  (a JSON document)
    """Return the document as dicts, lists and scalars of JSON, each scalar of the type that libnmstate reads.

    Below `interfaces` what YAML 1.2's core schema calls a boolean or a number is one; elsewhere libnmstate reads from
    text the string that its key takes, so it gets the string.
    """
    if not isinstance(node, Block) or node.is_list:
        return _plain(node, as_typed=True)
    found = {key.text: _plain(value, as_typed=key.text in _TYPED) for key, value in node.entries}
    return {**found, **_strings(node, found)}


def json_values(node: Node | None) -> Any:  # noqa: ANN401  (a JSON document)
    """Return any document as JSON values, each plain scalar of the type that YAML 1.2's core schema gives it."""
    return _plain(node, as_typed=True)


_TYPED = frozenset({"interfaces", "suppress-prefix-length", "suppress_prefixlength"})
"""Keys below which the crate reads numbers and booleans as such, and takes no string for them."""


_STRINGS = frozenset({"description", "localnet"})
"""Keys outside interfaces whose value is a string even where YAML says null."""


def _strings(node: Block, found: dict[str, Any]) -> dict[str, Any]:
    return {key.text: _if_null(value, found[key.text]) for key, value in node.entries if key.text in _STRINGS}


def _if_null(node: Node, value: Any) -> Any:  # noqa: ANN401
    return node.text if value is None and isinstance(node, Scalar) else value


def _plain(node: Node | None, *, as_typed: bool) -> Any:  # noqa: ANN401
    match node:
        case Block(is_list=True):
            items = [_plain(item, as_typed=as_typed) for item in node.items]
            return items if as_typed else [_if_null(item, each) for item, each in zip(node.items, items, strict=True)]
        case Block():
            found = {key.text: _plain(value, as_typed=as_typed or key.text in _TYPED) for key, value in node.entries}
            return found if as_typed else {**found, **_strings(node, found)}
        case Scalar(plain=True):
            value = typed(node.text)
            if not as_typed:
                beyond = isinstance(value, int) and not -(1 << 63) <= value < 1 << 64
                return value if value is None or beyond else node.text
            return None if isinstance(value, float) and not isfinite(value) else value  # as in the crate's own JSON
        case Scalar():
            return node.text
    return None


_NUMBER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_BASED = re.compile(r"[-+]?0(?:x[0-9a-fA-F]+|o[0-7]+|b[01]+)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_LEADING_ZEROS = re.compile(r"[-+]?0[0-9]+")
_CONSTANTS = {
    **dict.fromkeys(NULLS, None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_MOST_DIGITS = 40


def typed(text: str) -> str | int | float | bool | None:
    """Return what a plain scalar means (YAML 1.2.2, section 10.3; a number with leading zeros is a string)."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if len(text) > _MOST_DIGITS or _LEADING_ZEROS.fullmatch(text):
        return text
    if _NUMBER.fullmatch(text) or _BASED.fullmatch(text):
        return int(text, 0)
    if _NOT_FINITE.fullmatch(text):
        return float(text.replace(".", "").lower())
    return float(text) if _FLOAT.fullmatch(text) else text
