"""How is the YAML of day one read: node files, install-config, manifests? As one tree with the place of each value."""

from __future__ import annotations

from typing import Any

from nodenet.core.day_one.files import ArtefactInvalid
from nodenet.core.day_one.quick_yaml import Unusual, quick
from nodenet.core.node_file.yaml_text import Block, Misread, Node, Scalar, load, typed

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
