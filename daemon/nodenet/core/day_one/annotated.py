"""How is a document written as YAML with comments behind its lines? Block style, the same bytes for the same values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from nodenet.core.node_file.finding import printable
from nodenet.core.node_file.yaml_text import typed
from nodenet.core.value import frozen

_PLAIN = re.compile(r"[\w/.][\w./@+:-]*", re.ASCII)
_IPV4 = re.compile(r"\d{1,3}(\.\d{1,3}){3}", re.ASCII)
_BOOLEANS = frozenset({"y", "yes", "n", "no", "on", "off", "true", "false", "null"})
"""Words that some reader of YAML takes for something else than a string."""


@frozen
class Remarked:
    """A value with a remark: why it is there."""

    value: object
    remark: str


Value = object
"""A mapping, a sequence, a scalar, or one of them with a remark."""


def render(document: Mapping[str, Value], head: Sequence[str] = ()) -> str:
    """Return *document* as YAML below the lines of *head*, which are comments."""
    comments = [f"# {printable(line)}".rstrip() for line in head]
    return "\n".join([*comments, *_mapping(document, "")]) + "\n"


def plain(value: Value, without: frozenset[str] = frozenset()) -> object:
    """Return a value without its remarks; a key of *without* that has one is left out as a whole."""
    match value:
        case Remarked():
            return plain(value.value, without)
        case Mapping():
            left = {key: each for key, each in value.items() if not (key in without and isinstance(each, Remarked))}
            return {key: plain(each, without) for key, each in left.items()}
        case str():
            return value
        case Sequence():
            return [plain(each, without) for each in value]
    return value


def _mapping(found: Mapping[str, Value], indent: str) -> Iterator[str]:
    for key, value in found.items():
        inner, remark = (value.value, f"  # {printable(value.remark)}") if isinstance(value, Remarked) else (value, "")
        if isinstance(inner, Mapping) and inner:
            yield f"{indent}{_word(key)}:{remark}"
            yield from _mapping(inner, f"{indent}  ")
        elif isinstance(inner, Sequence) and not isinstance(inner, str) and inner:
            yield f"{indent}{_word(key)}:{remark}"
            yield from _sequence(inner, indent)
        else:
            yield f"{indent}{_word(key)}: {_scalar(inner)}{remark}"


def _sequence(found: Sequence[Value], indent: str) -> Iterator[str]:
    for value in found:
        inner, remark = (value.value, f"  # {printable(value.remark)}") if isinstance(value, Remarked) else (value, "")
        if isinstance(inner, Mapping) and inner:
            lines = list(_mapping(inner, f"{indent}  "))
            yield f"{indent}- {lines[0].strip()}{remark}"
            yield from lines[1:]
        else:
            yield f"{indent}- {_scalar(inner)}{remark}"


def _scalar(value: Value) -> str:
    if isinstance(value, str):
        return _word(value)
    return json.dumps(plain(value), ensure_ascii=False)  # YAML reads JSON: numbers, true, null, {}, lists in lists


def _word(text: str) -> str:
    """Return a string as every reader of YAML takes it for this string."""
    is_plain = _IPV4.fullmatch(text) or (
        _PLAIN.fullmatch(text)
        and not text.endswith(":")
        and isinstance(typed(text), str)
        and text.lower() not in _BOOLEANS
        and not re.fullmatch(r"[\d:._+-]+(?:[eE][\d+-]*)?|0[xo]\w+|\.\w+|\d[\d_:.eE+-]*", text)
    )
    return text if is_plain else json.dumps(text, ensure_ascii=False)
