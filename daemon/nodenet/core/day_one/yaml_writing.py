"""How is YAML written: text inserted into a file where every other byte stays, and whole documents with comments?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from nodenet.core.day_one.reading import ArtefactInvalid
from nodenet.core.node_file.finding import printable
from nodenet.core.node_file.yaml_text import typed
from nodenet.core.value import frozen

# Where in a YAML text is a value, so that text can be inserted there and every other byte stays?
#
# The text is never emitted from its values: comments, order, anchors and quoting belong to the person who wrote it.

MOST_CHARACTERS = 64 << 20


@frozen
class Spot:
    """A value of a document: its node, and the dotted path that leads to it."""

    node: Any
    path: str

    @property
    def line(self) -> int:
        """The line of its first character, counted from 1."""
        return int(self.node.start_mark.line) + 1

    @property
    def is_flow(self) -> bool:
        """Whether it is written with brackets or braces."""
        return bool(getattr(self.node, "flow_style", False))

    def value(self, key: str) -> Spot | None:
        """Return the value of *key* of a mapping, None when it has none. Raises ArtefactInvalid for another value."""
        if self.node.id != "mapping":
            raise ArtefactInvalid(f"line {self.line}: {self.path} is not a mapping")
        found = [value for name, value in self.node.value if name.value == key]
        if len(found) > 1:
            raise ArtefactInvalid(f"line {found[1].start_mark.line + 1}: {self.path} has {key} twice")
        return Spot(found[0], f"{self.path}.{key}") if found else None

    def items(self) -> list[Spot]:
        """Return the items of a sequence. Raises ArtefactInvalid for another value."""
        if self.node.id != "sequence":
            raise ArtefactInvalid(f"line {self.line}: {self.path} is not a list")
        return [Spot(item, f"{self.path}[{i}]") for i, item in enumerate(self.node.value)]

    def text(self, key: str) -> str | None:
        """Return a plain value of a mapping as it is written, None when it has none or another kind."""
        found = self.value(key)
        return str(found.node.value) if found is not None and found.node.id == "scalar" else None

    @property
    def key_column(self) -> int:
        """The column of the keys of a block mapping, counted from 0."""
        return int(self.node.value[0][0].start_mark.column)


def root(text: str, name: str) -> Spot:
    """Return the root of one document. Raises ArtefactInvalid: *name* is too large, no YAML, or empty."""
    if len(text) > MOST_CHARACTERS:
        raise ArtefactInvalid(f"{name} has more than {MOST_CHARACTERS >> 20} million characters")
    parser = YAML(pure=True)
    parser.composer.warn_double_anchors = False  # YAML 1.2 allows an anchor to be defined again
    try:
        node = parser.compose(text)
    except (YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        problem = getattr(error, "problem", None) or type(error).__name__
        raise ArtefactInvalid(f"{name} is not YAML: {place}{problem}") from None
    if node is None:
        raise ArtefactInvalid(f"{name} is empty")
    return Spot(node, "$")


def newline_of(text: str) -> str:
    """Return the line ending that *text* uses."""
    return "\r\n" if "\r\n" in text else "\n"


def end_of_block(text: str, spot: Spot) -> int:
    """Return where a line can be inserted behind the last line of a block value: after its content, before comments."""
    last = _last_leaf(spot.node)
    end = int(last.end_mark.index)
    if last.id == "scalar" and last.style in ("|", ">"):
        # A block scalar ends where the next token begins: blank lines and comments before it are not its own.
        body = text[int(last.start_mark.index) : end]
        end -= len(body) - len(body.rstrip())
    following = text.find("\n", end)
    return len(text) if following < 0 else following + 1


def _last_leaf(node: Any) -> Any:  # noqa: ANN401  (nodes of the parser have no types)
    while node.id != "scalar" and node.value and not node.flow_style:
        last = node.value[-1]
        node = last[1] if node.id == "mapping" else last
    return node


# How is a document written as YAML with comments behind its lines? Block style, the same bytes for the same values.

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
