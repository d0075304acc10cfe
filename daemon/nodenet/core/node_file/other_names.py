"""How does a node file read with other names for its links?

Only the names are replaced, each in its place: lines, comments and all other values stay as they are written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from nodenet.core.node_file.links import links_of
from nodenet.core.node_file.values import interfaces
from nodenet.core.node_file.yaml_text import Block, Node, Scalar

KEYS = frozenset(
    {
        *("name", "port", "ports", "base-iface", "next-hop-interface", "iif", "copy-mac-from", "controller", "peer"),
        *("port1", "port2", "primary", "server"),
    }
)
"""NMState's keys whose values name links; a link-local DNS server has one behind `%`."""
_NAMED = re.compile(r"(?P<before>sriov:|.*%)?(?P<link>[^%:]+)(?::\d+)?")
"""A link, alone, as `sriov:PF:ID`, or as the zone of an address."""
_PROPERTIES = re.compile(r"(?:[&!]\S*[ \t]+)*[\"']?")
"""What may stand before a scalar: anchor, tag and the opening quote."""
_PLAIN = re.compile(r"[^\"\\\s]+")


def with_names(text: str, document: Block, names: Mapping[str, str]) -> str | None:
    """Return *text*, which *document* was read from, with new names for links: *names* has old name → new name.

    None where a name is written in a way that is not followed, such as with an escape.
    """
    lines = text.splitlines(keepends=True)
    places: dict[tuple[int, int], tuple[str, str]] = {}
    for scalar in _naming(document):
        found = _NAMED.fullmatch(scalar.text)
        if found is None or found["link"] not in names:
            continue
        place = _place(lines, scalar)
        if place is None or not _PLAIN.fullmatch(names[found["link"]]):
            return None
        line, start = place
        quotes = '"' * (scalar.plain and found["link"] == scalar.text)
        places[line, start + found.start("link")] = found["link"], quotes + names[found["link"]] + quotes
    for (line, column), (old, new) in sorted(places.items(), reverse=True):
        lines[line] = lines[line][:column] + new + lines[line][column + len(old) :]
    return "".join(lines)


def is_so_named(before: Block, after: Block, names: Mapping[str, str]) -> bool:
    """Return whether *after* is *before* with new *names* for its links."""
    one, two = (links_of(item for _, item in interfaces(each)) for each in (before, after))
    return {_new(name, names) for name in one.existing} == two.existing


def lines_of_entries(document: Block) -> dict[str, int]:
    """Return name → line of the key `name` of each interface."""
    named = ((item.get("name"), item) for _, item in interfaces(document))
    return {name.text: name.line for name, _ in named if isinstance(name, Scalar)}


def _new(name: str, names: Mapping[str, str]) -> str:
    found = _NAMED.fullmatch(name)
    if found is None or found["link"] not in names:
        return name
    return name[: found.start("link")] + names[found["link"]] + name[found.end("link") :]


def _naming(node: Node, key: str = "") -> Iterator[Scalar]:
    if isinstance(node, Scalar):
        if key in KEYS:
            yield node
        return
    for name, value in node.entries:
        yield from _naming(value, name.text)
    for item in node.items:
        yield from _naming(item, key)


def _place(lines: list[str], scalar: Scalar) -> tuple[int, int] | None:
    """Return line and column, from 0, of the text of *scalar*; None where the file writes it in another way."""
    line, column = scalar.line - 1, scalar.column - 1
    if line >= len(lines):
        return None
    properties = _PROPERTIES.match(lines[line], column)
    start = properties.end() if properties else column
    return (line, start) if lines[line].startswith(scalar.text, start) else None
