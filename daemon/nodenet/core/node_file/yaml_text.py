"""How is the YAML of a node file read, whatever it contains?

The result is a tree of scalars as they are written, each with its line and column: a MAC address is never read as a
number, ``1e3`` and ``010`` stay text. Depth and size, including aliases, are bounded before anything is built: nine
nested aliases of twenty entries each mean 500 billion values. YAML 1.2.2 (https://yaml.org/spec/1.2.2).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from math import isfinite
from typing import Any

from nodenet.core.errors import NodeFileInvalid
from nodenet.core.value import frozen

DEEPEST = 32
"""Levels of nesting; NMState's schema has nine."""
MOST_VALUES = 250_000
"""Values of one document, those that aliases repeat included."""
LONGEST_LINE_SHOWN = 40
_SURROGATE = re.compile("[\ud800-\udfff]")
_TEMPLATE = re.compile(r"\{\{|\[\[|<%|\$\{")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_OF_YAML = re.compile(r"['\"](?:<[a-z -]+>|\\?.|)['\"]")
_VERSION = re.compile(r"%YAML[ \t]+(\S+)")
NULLS = frozenset({"", "~", "null", "Null", "NULL"})
"""Plain scalars that mean nothing (YAML 1.2.2, section 10.3.2)."""
MEND = "Correct the YAML syntax there"


class Misread(NodeFileInvalid):
    """The text of a node file cannot be read: *words* say why, *line* and *column* count from 1."""

    def __init__(self, name: str, words: str, remedy: str, line: int, column: int = 0) -> None:
        """Name file and place in the cause; the column where it is known."""
        place = f"line {line}, column {column}" if column else f"line {line}"
        super().__init__(f"{name}, {place}: {words}", remedy=remedy)
        self.words, self.line, self.column = words, line, column


@frozen
class Scalar:
    """A value as it is written in the text; *plain*: without quotes, tag or block style."""

    text: str
    line: int
    column: int
    plain: bool = True


@frozen
class Block:
    """A mapping (*entries*) or a sequence (*items*); *size* counts the values below it, repeated ones each time."""

    line: int
    column: int
    entries: tuple[tuple[Scalar, Node], ...] = ()
    items: tuple[Node, ...] = ()
    is_list: bool = False
    doubled: tuple[tuple[Scalar, int], ...] = ()
    """Keys that are there a second time, each with the line of the first; their values are left out."""
    size: int = field(default=1, compare=False)

    def get(self, key: str) -> Node | None:
        """Return the value of *key*, None where there is none."""
        return next((value for name, value in self.entries if name.text == key), None)


Node = Scalar | Block


def load(name: str, text: str) -> Node | None:
    """Return the document of the file *name*, None where there is nothing but comments.

    Raises Misread naming file, line and column, whatever the parser meets.
    """
    if text.startswith("\ufeff"):
        words = "the file begins with a byte order mark (U+FEFF)"
        raise Misread(name, words, "Save the file as UTF-8 without a byte order mark", 1, 1)
    for number, line in enumerate(text.splitlines(), 1):
        if (found := _VERSION.match(line)) and found[1] not in ("1.1", "1.2"):
            words = f"YAML version {_short(found[1])} is not known"
            raise Misread(name, words, "Remove the line `%YAML`, or write 1.2", number)
        if not line.startswith(("%", "#")) and line.strip():
            break  # directives stand before the document
    return _Reader(name, text).document()


class _Reader:
    """Builds the tree from the parser's events; a tree of the parser's own would be built before it can be bounded."""

    def __init__(self, name: str, text: str) -> None:
        self._name = name
        self._text = text
        self._anchors: dict[str, Node] = {}
        self._values = 0
        self._place = (0, 0)

    def document(self) -> Node | None:
        """Return the only document. Raises Misread."""
        # Imported here: 25 ms that a node without a node file need not spend.
        from ruamel.yaml import YAML  # noqa: PLC0415
        from ruamel.yaml.error import MarkedYAMLError  # noqa: PLC0415

        try:
            return self._only(YAML(typ="base", pure=True).parse(self._text))
        except Misread:
            raise
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            self._place = (mark.line, mark.column) if mark else self._place
            raise self._invalid(_without_content(str(error.problem or error.context))) from None
        except RecursionError:
            raise self._invalid("nested too deeply") from None
        except Exception as error:  # noqa: BLE001  (the parser lets assertions, ValueError and AttributeError out)
            raise self._invalid(*self._unforeseen(error)) from None

    def _unforeseen(self, error: Exception) -> tuple[str, str]:
        position = getattr(error, "position", None)  # of a character that YAML does not allow
        if isinstance(position, int):
            before = self._text[:position]
            self._place = before.count("\n"), position - before.rfind("\n") - 1
            return f"the character U+{ord(self._text[position]):04X} is not allowed in YAML", "Remove it"
        return f"the YAML parser cannot read on from here ({type(error).__name__})", f"{MEND}, or below it"

    def _only(self, events: Iterator[Any]) -> Node | None:
        root: Node | None = None
        documents = 0
        for event in events:
            self._at(event)
            kind = type(event).__name__
            if kind == "DocumentStartEvent":
                documents += 1
                if documents > 1:
                    raise self._invalid("a second document begins", "Keep one document in the file: remove `---`")
            elif kind not in ("StreamStartEvent", "StreamEndEvent", "DocumentEndEvent"):
                root = self._node(event, events, 0)
        nothing = isinstance(root, Scalar) and root.plain and root.text in NULLS
        return None if nothing else root

    def _node(self, event: Any, events: Iterator[Any], depth: int) -> Node:  # noqa: ANN401
        line, column = self._at(event)
        kind = type(event).__name__
        if depth > DEEPEST:
            raise self._invalid(f"nested deeper than {DEEPEST} levels", "No NMState document is: look at its content")
        if kind == "AliasEvent":
            return self._counted(self._aliased(event))
        if kind == "ScalarEvent":
            if _SURROGATE.search(str(event.value)):
                raise self._invalid("an escape is not a character (U+D800 to U+DFFF)", "Remove the escape")
            tagged = event.tag not in (None, "!") and not event.implicit[0]
            bare = event.style is None and not tagged
            node: Node = Scalar(str(event.value), line + 1, column + 1, bare and event.implicit[0])
        elif kind == "SequenceStartEvent":
            node = self._list(events, line, column, depth)
        else:
            node = self._mapping(events, line, column, depth)
        if event.anchor is not None:
            self._anchors[str(event.anchor)] = node
        return self._counted(node) if kind == "ScalarEvent" else node

    def _counted(self, node: Node) -> Node:
        self._values += node.size if isinstance(node, Block) else 1
        if self._values > MOST_VALUES:
            raise self._invalid(
                f"more than {MOST_VALUES} values, those that aliases repeat included",
                "Write out its aliases",
            )
        return node

    def _aliased(self, event: Any) -> Node:  # noqa: ANN401
        node = self._anchors.get(str(event.anchor))
        if node is None:
            raise self._invalid("an alias (`*name`) has no anchor (`&name`) before it", MEND)
        return node

    def _list(self, events: Iterator[Any], line: int, column: int, depth: int) -> Block:
        items = []
        while type(event := next(events)).__name__ != "SequenceEndEvent":
            items.append(self._node(event, events, depth + 1))
        return Block(line + 1, column + 1, items=tuple(items), is_list=True, size=_size(items))

    def _mapping(self, events: Iterator[Any], line: int, column: int, depth: int) -> Block:
        entries: dict[str, tuple[Scalar, Node]] = {}
        doubled: list[tuple[Scalar, int]] = []
        while type(event := next(events)).__name__ != "MappingEndEvent":
            key = self._node(event, events, depth + 1)
            self._place = key.line - 1, key.column - 1
            if not isinstance(key, Scalar):
                raise self._invalid(*self._not_a_key(key))
            if key.text in entries:
                doubled.append((key, entries[key.text][0].line))
                self._node(next(events), events, depth + 1)
                continue
            entries[key.text] = key, self._node(next(events), events, depth + 1)
        size = _size([node for _, node in entries.values()])
        return Block(line + 1, column + 1, tuple(entries.values()), doubled=tuple(doubled), size=size)

    def _not_a_key(self, key: Block) -> tuple[str, str]:
        line = self._text.splitlines()[key.line - 1] if self._text else ""
        if _TEMPLATE.search(line):
            return "a placeholder of a template was not filled in", "Render the template, then check the result"
        return "a key must be a plain word", MEND

    def _at(self, event: Any) -> tuple[int, int]:  # noqa: ANN401
        mark = event.start_mark
        self._place = mark.line, mark.column
        return self._place

    def _invalid(self, cause: str, remedy: str = MEND) -> Misread:
        line, column = self._place
        return Misread(self._name, cause, remedy, line + 1, column + 1)


def _size(nodes: list[Node]) -> int:
    return 1 + sum(node.size if isinstance(node, Block) else 1 for node in nodes)


def _short(text: str) -> str:
    return repr(text if len(text) <= LONGEST_LINE_SHOWN else text[: LONGEST_LINE_SHOWN - 3] + "...")


def _without_content(problem: str) -> str:
    """Return the parser's words without what it quotes of the file, which may be a secret."""
    words = _QUOTED.sub(lambda found: found[0] if _OF_YAML.fullmatch(found[0]) else "something else", problem)
    words = words.replace("('<", "<").replace(">',)", ">")
    return " ".join(words.split())[:200]


# Which values do the scalars of a node file have, for a libnmstate that takes no text?
#
# YAML 1.2.2, section 10.3 (https://yaml.org/spec/1.2.2), as the crate's parser reads it.


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
