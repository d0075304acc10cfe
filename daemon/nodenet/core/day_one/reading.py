"""How is YAML with comments and anchors read in a fraction of the time, and what else do files of day one need?"""

from __future__ import annotations

import base64
import binascii
import json
import re
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote_to_bytes

from nodenet.core.node_file.yaml_text import DEEPEST, Block, Misread, Node, Scalar, load, typed
from nodenet.core.value import frozen

TEXT = "data:text/plain;charset=utf-8;base64,"
MOST_BYTES = 1 << 20
"""The most that one node file may have."""


_PLAIN_WORD = re.compile(r"[A-Za-z/][\w./@+-]*", re.ASCII)
_BOOLEANS = frozenset({"y", "yes", "n", "no", "on", "off", "true", "false", "null"})
"""Words that some reader of YAML takes for something else than a string."""


class ArtefactInvalid(ValueError):
    """An artefact cannot be read; the text names the place and what is expected there."""


@frozen
class CarriedFile:
    """A file for the node: absolute path, whole content, permissions."""

    path: PurePosixPath
    content: bytes
    mode: int = 0o644


def yaml_word(word: str) -> str:
    """Return *word* as every reader of YAML takes it for this string, in quotes where it needs them."""
    return (
        word if _PLAIN_WORD.fullmatch(word) and word.lower() not in _BOOLEANS else json.dumps(word, ensure_ascii=False)
    )


def to_data_url(content: bytes) -> str:
    """Return *content* as a data URL on one line, the same for the same bytes."""
    return TEXT + base64.b64encode(content).decode()


def from_data_url(url: object, place: str) -> bytes:
    """Return the bytes of a data URL, base64 or percent-encoded. Raises ArtefactInvalid naming *place*."""
    if not isinstance(url, str) or not url.startswith("data:"):
        raise ArtefactInvalid(f"{place} is no data URL; only files whose content is inside are read")
    head, comma, body = url.partition(",")
    if not comma:
        raise ArtefactInvalid(f"{place} has no comma: a data URL is data:[type][;base64],content")
    if not head.endswith(";base64"):
        return unquote_to_bytes(body)
    try:
        return base64.b64decode("".join(unquote_to_bytes(body).decode("ascii").split()), validate=True)
    except (UnicodeDecodeError, binascii.Error) as error:
        raise ArtefactInvalid(f"{place} is not base64: {error}") from None


def checked_path(path: object, place: str) -> PurePosixPath:
    """Return an absolute path without ``..`` and without control characters. Raises ArtefactInvalid naming *place*."""
    if not isinstance(path, str) or not path.startswith("/") or not path.isprintable():
        raise ArtefactInvalid(f"{place} is not an absolute path")
    found = PurePosixPath(f"/{path.lstrip('/')}")  # "//etc" has another root for it
    if ".." in found.parts or found == PurePosixPath("/"):
        raise ArtefactInvalid(f"{place} leads out of its directory")
    return found


# How is a large YAML text in plain block style read quickly?
#
# Ten thousand hosts are 15 MB of YAML; the general reader takes minutes for them. This one knows block mappings,
# block lists, scalars of one line and literal blocks: what people and tools write. It returns the same tree as
# ``core.node_file.yaml_text``, and gives up at the first line that it does not know, for the general reader to read.

_STRANGE = re.compile(r"[^\n\x20-\x7e\xa1-\u167f]")
_KEY = re.compile(r"([A-Za-z0-9_][\w./@-]*|\"[^\"\\]*\"|'[^']*') *:(?: +(.*))?$", re.ASCII)
_PLAIN = re.compile(r"(?:[\w./+~(]|[-:][^ \]\[{},#-])[^#]*(?:(?<! )#[^#]*)*")
_QUOTED = re.compile(r"\"([^\"\\]*)\" *(?: #.*)?$|'([^']*)' *(?: #.*)?$")
_EMPTY = re.compile(r"(\[\]|\{\}) *(?: #.*)?$")
_LITERAL = re.compile(r"\|-? *(?: #.*)?$")


class Unusual(ValueError):
    """The text is not in plain block style; *line* counts from 1. The general reader decides what it is."""

    def __init__(self, line: int) -> None:
        """Name the first line that is not understood."""
        super().__init__(f"line {line} is not in plain block style")
        self.line = line


def quick(text: str) -> Node | None:
    """Return the tree of *text*, None where there is nothing but comments. Raises Unusual."""
    if found := _STRANGE.search(text):
        raise Unusual(text.count("\n", 0, found.start()) + 1)
    return _Reader(text).document()


class _Reader:
    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._now = 0
        self._indent = 0

    def document(self) -> Node | None:
        if self._lines[0].rstrip() == "---":
            self._now = 1
        if not self._next():
            return None
        made = self._block(self._indent, 0)
        if self._next():
            raise Unusual(self._now + 1)
        return made

    def _next(self) -> bool:
        """Go to the next line that is not empty and not a comment; return whether there is one."""
        lines = self._lines
        while self._now < len(lines):
            line = lines[self._now]
            body = line.lstrip(" ")
            if body and body[0] != "#":
                self._indent = len(line) - len(body)
                if line.startswith(("---", "...", "%")):
                    raise Unusual(self._now + 1)
                return True
            self._now += 1
        return False

    def _block(self, column: int, depth: int) -> Node:
        if depth > DEEPEST:
            raise Unusual(self._now + 1)
        line = self._lines[self._now]
        return self._list(column, depth) if line.startswith("- ", column) else self._mapping(column, depth)

    def _mapping(self, column: int, depth: int) -> Block:
        first = self._now + 1
        entries: dict[str, tuple[Scalar, Node]] = {}
        doubled: list[tuple[Scalar, int]] = []
        size = 1
        while self._next() and self._indent >= column:
            number, line = self._now + 1, self._lines[self._now]
            found = _KEY.match(line, column)
            if found is None or self._indent > column:
                raise Unusual(number)
            word = found[1]
            quoted = word[0] in "\"'"
            key = Scalar(word[1:-1] if quoted else word, number, column + 1, not quoted)
            rest = found[2]
            if rest and rest[0] != "#":
                value = self._value(rest, number, found.start(2), column, depth)
            else:
                value = self._below(column, depth, number, found)
            if key.text in entries:
                doubled.append((key, entries[key.text][0].line))
                continue
            entries[key.text] = key, value
            size += value.size if isinstance(value, Block) else 1
        return Block(first, column + 1, tuple(entries.values()), doubled=tuple(doubled), size=size)

    def _below(self, column: int, depth: int, number: int, found: re.Match[str]) -> Node:
        """Return the value of a key that has nothing behind it in its line."""
        self._now += 1
        if self._next():
            if self._indent > column:
                return self._block(self._indent, depth + 1)
            if self._indent == column and self._lines[self._now].startswith("- ", column):
                return self._list(column, depth + 1)
        return Scalar("", number, found.string.index(":", found.end(1)) + 2, plain=True)

    def _list(self, column: int, depth: int) -> Block:
        first = self._now + 1
        items: list[Node] = []
        size = 1
        while self._next() and self._indent >= column:
            number, line = self._now + 1, self._lines[self._now]
            if self._indent > column:
                raise Unusual(number)
            if not line.startswith("- ", column):
                if line[column] == "-":
                    raise Unusual(number)
                break  # the next key, below a list that is not indented
            inner = len(line) - len(line[column + 1 :].lstrip(" "))
            if inner == len(line) or line[inner] == "#":
                raise Unusual(number)
            item: Node
            if line.startswith("- ", inner) or _KEY.match(line, inner):
                self._lines[self._now] = f"{' ' * inner}{line[inner:]}"
                item = self._block(inner, depth + 1)
            else:
                item = self._value(line[inner:], number, inner, column, depth)
            items.append(item)
            size += item.size if isinstance(item, Block) else 1
        return Block(first, column + 1, items=tuple(items), is_list=True, size=size)

    def _value(self, rest: str, number: int, start: int, column: int, depth: int) -> Node:
        """Return the value in this line, and continue behind it."""
        if _LITERAL.match(rest):
            return self._literal(number, start, column)
        self._now += 1
        if found := _QUOTED.match(rest):
            return Scalar(found[2] if found[1] is None else found[1], number, start + 1, plain=False)
        if found := _EMPTY.match(rest):
            return Block(number, start + 1, is_list=found[1] == "[]")
        if rest[0] in "{[":
            return self._flow(rest, number, start, depth)
        found = _PLAIN.match(rest)
        plain = found[0].rstrip(" ") if found else ""
        if not plain or ": " in plain or plain[-1] == ":" or rest[len(plain) :].strip(" ")[:1] not in ("", "#"):
            raise Unusual(number)
        return Scalar(plain, number, start + 1)

    def _flow(self, rest: str, number: int, start: int, depth: int) -> Node:
        if "&" in rest or "*" in rest:
            raise Unusual(number)
        try:
            found = load("it", rest)
        except Misread:
            raise Unusual(number) from None
        if found is None or depth + 4 > DEEPEST:
            raise Unusual(number)
        return _moved(found, number - 1, start)

    def _literal(self, number: int, start: int, column: int) -> Scalar:
        stripped = self._lines[self._now][start + 1 : start + 2] == "-"
        self._now += 1
        began = self._now
        inner = 0
        while self._now < len(self._lines):
            line = self._lines[self._now]
            indent = len(line) - len(line.lstrip(" "))
            if not line.strip(" "):
                if len(line) > inner or not inner:
                    raise Unusual(self._now + 1)
            elif indent <= column:
                break
            elif not inner:
                inner = indent
            elif indent < inner:
                raise Unusual(self._now + 1)
            self._now += 1
        if not inner or (self._now == len(self._lines) and self._lines[-1]):
            raise Unusual(number)  # nothing in it, or no line end behind it
        text = "\n".join(line[inner:] for line in self._lines[began : self._now]).rstrip("\n")
        return Scalar(text if stripped else text + "\n", number, start + 1, plain=False)


def _moved(node: Node, lines: int, columns: int) -> Node:
    """Return a tree that was read from one line, at its place in the whole text."""
    if isinstance(node, Scalar):
        return Scalar(node.text, node.line + lines, node.column + columns, node.plain)
    return Block(
        node.line + lines,
        node.column + columns,
        tuple(
            (Scalar(key.text, key.line + lines, key.column + columns, key.plain), _moved(value, lines, columns))
            for key, value in node.entries
        ),
        tuple(_moved(item, lines, columns) for item in node.items),
        node.is_list,
        tuple(
            (Scalar(key.text, key.line + lines, key.column + columns, key.plain), line + lines)
            for key, line in node.doubled
        ),
        node.size,
    )


# How is any YAML text of day one read? By this reader, else by the general one.

MOST_SLOW = 4 << 20
"""Characters that the general reader gets: it needs a minute for four million."""


def tree(name: str, text: str) -> Node | None:
    """Return the document, None where there is nothing but comments. Raises Misread naming line and column."""
    try:
        return quick(text)
    except Unusual as unusual:
        if len(text) > MOST_SLOW:
            words = f"a file of more than {MOST_SLOW >> 20} MiB is read in plain block style only, and this line is not"
            remedy = "Write it with one key a line, without anchors, aliases and tags"
            raise Misread(name, words, remedy, unusual.line) from None
    return load(name, text)


def values(node: Node | None) -> Any:  # noqa: ANN401  (a JSON document)
    """Return a tree as dicts, lists and scalars, plain scalars with the types of YAML 1.2."""
    match node:
        case Block(is_list=True):
            return [values(item) for item in node.items]
        case Block():
            return {key.text: values(value) for key, value in node.entries}
        case Scalar(plain=True):
            return typed(node.text)
        case Scalar():
            return node.text
    return None


def read(name: str, text: str) -> Any:  # noqa: ANN401  (a JSON document)
    """Return the values of one document. Raises ArtefactInvalid naming line and column."""
    try:
        return values(tree(name, text))
    except Misread as error:
        place = f"line {error.line}, column {error.column}" if error.column else f"line {error.line}"
        raise ArtefactInvalid(f"not YAML: {place}: {error.words}") from None


def documents(text: str) -> list[tuple[int, str]]:
    """Return the documents of a YAML stream, split at lines that are ``---``: each with the lines before it."""
    found: list[tuple[int, list[str]]] = [(0, [])]
    for number, line in enumerate(text.split("\n")):
        if line.rstrip() == "---" or line.startswith("--- #"):
            found.append((number + 1, []))
        elif line.rstrip() != "...":
            found[-1][1].append(line)
    texts = [(before, "\n".join(lines)) for before, lines in found]
    return [(before, text) for before, text in texts if text.strip()]


def at_line(node: Node | None, before: int) -> Node | None:
    """Return a tree with *before* lines above it."""
    if node is None or not before:
        return node
    if isinstance(node, Scalar):
        return Scalar(node.text, node.line + before, node.column, node.plain)
    return Block(
        node.line + before,
        node.column,
        tuple((_key(key, before), _value(value, before)) for key, value in node.entries),
        tuple(_value(item, before) for item in node.items),
        node.is_list,
        tuple((_key(key, before), line + before) for key, line in node.doubled),
        node.size,
    )


def _key(key: Scalar, before: int) -> Scalar:
    return Scalar(key.text, key.line + before, key.column, key.plain)


def _value(node: Node, before: int) -> Node:
    return at_line(node, before) or node
