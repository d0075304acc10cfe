"""How do node files get into install-config: ``platform.baremetal.hosts[].networkConfig``, and every other byte stays?

The node file's text is inserted as it is, indented, behind the last line of its host. The result is read again before
it is returned: nothing but the inserted keys may differ from what was there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from nodenet.core.day_one import reading
from nodenet.core.day_one.files import ArtefactInvalid
from nodenet.core.day_one.reading import Unusual, quick
from nodenet.core.day_one.yaml_writing import Spot, end_of_block, newline_of, root
from nodenet.core.value import frozen

NAME = "install-config"
HOSTS = ("platform", "baremetal", "hosts")
KEY = "networkConfig"


@frozen
class Filled:
    """The new text; *filled* are the hosts that got their node file, *same* those that had it already."""

    text: str
    filled: tuple[str, ...]
    same: tuple[str, ...]
    without_file: tuple[str, ...]


def hosts(text: str) -> tuple[str, ...]:
    """Return the names of the hosts, in order. Raises ArtefactInvalid naming the line."""
    return tuple(name for name, _ in _hosts(text))


def network_configs(text: str) -> dict[str, str]:
    """Return the ``networkConfig`` of each host that has one, as the text of a node file. Raises ArtefactInvalid."""
    found = {}
    for name, spot in _hosts(text):
        present = spot.value(KEY)
        if present is not None:
            found[name] = _node_file(text, name, present)
    return found


def _node_file(text: str, name: str, spot: Spot) -> str:
    """Return a block without its indentation, each of its lines whole."""
    if spot.node.id != "mapping" or spot.is_flow or not spot.node.value:
        raise ArtefactInvalid(f"line {spot.line}: {KEY} of host {name} is not written with a key a line")
    start = text.rfind("\n", 0, int(spot.node.value[0][0].start_mark.index)) + 1
    block = text[start : end_of_block(text, spot)]
    indent = " " * spot.key_column
    made = "".join(line.removeprefix(indent) for line in block.splitlines(keepends=True))
    if _values(made) != _values(text[start : end_of_block(text, spot)]):
        raise ArtefactInvalid(f"line {spot.line}: {KEY} of host {name} has lines left of its keys")
    return made if made.endswith("\n") else made + newline_of(text)


def fill(text: str, node_files: Mapping[str, str]) -> Filled:
    """Return *text* with the node file of each host of *node_files*. Raises ArtefactInvalid naming the line.

    A host that has another ``networkConfig`` already is an error: text that is there is never replaced.
    """
    found = _hosts(text)
    same, inserts = [], []
    for name, spot in found:
        if name not in node_files:
            continue
        present = spot.value(KEY)
        if present is None:
            inserts.append((end_of_block(text, spot), name, spot))
        elif _plain(text[present.node.start_mark.index : present.node.end_mark.index], present) == _values(
            node_files[name]
        ):
            same.append(name)
        else:
            raise ArtefactInvalid(f"line {present.line}: host {name} has another {KEY}: remove it, or its node file")
    made = text
    for position, name, spot in sorted(inserts, reverse=True, key=lambda insert: insert[0]):
        made = _inserted(made, position, spot, node_files[name])
    filled = tuple(name for _, name, _ in inserts)
    _prove(text, made, {name: node_files[name] for name in filled})
    return Filled(made, filled, tuple(same), tuple(name for name, _ in found if name not in node_files))


def _hosts(text: str) -> list[tuple[str, Spot]]:
    spot = root(text, NAME)
    for key in HOSTS:
        below = spot.value(key)
        if below is None:
            raise ArtefactInvalid(f"{NAME} has no {'.'.join(HOSTS)}: it is not one of a bare-metal cluster")
        spot = below
    found: list[tuple[str, Spot]] = []
    for item in spot.items():
        name = item.text("name")
        if not name:
            raise ArtefactInvalid(f"line {item.line}: {item.path} has no name")
        if item.is_flow:
            raise ArtefactInvalid(f"line {item.line}: host {name} is written in braces: write a key a line")
        if name in dict(found):
            raise ArtefactInvalid(f"line {item.line}: host {name} is there twice")
        found.append((name, item))
    return found


def _inserted(text: str, position: int, spot: Spot, node_file: str) -> str:
    newline = newline_of(text)
    lines = node_file.replace("\r\n", "\n").split("\n")
    lines = [line for line in lines if line.rstrip() not in ("---", "...")]
    while lines and not lines[-1].strip():
        lines.pop()
    indent = " " * (spot.key_column + 2)
    block = [f"{' ' * spot.key_column}{KEY}:", *(f"{indent}{line}" if line else line for line in lines)]
    before = "" if position == 0 or text[position - 1] == "\n" else newline
    return text[:position] + before + newline.join(block) + newline + text[position:]


def _prove(before: str, after: str, filled: Mapping[str, str]) -> None:
    """Read both texts: they differ in the inserted keys alone. Raises ArtefactInvalid where they do not."""
    old, new, *files = _alike(before, after, *filled.values())
    wanted = dict(zip(filled, files, strict=True))
    for host in new["platform"]["baremetal"]["hosts"]:
        name = str(host["name"])
        if name in filled and host.pop(KEY, None) != wanted[name]:
            raise ArtefactInvalid(
                f"the node file of host {name} cannot be indented into {NAME}: write it in block style"
            )
    if old != new:
        raise ArtefactInvalid(
            f"the node files cannot be inserted into {NAME} without changing it: check its indentation"
        )


def _alike(*texts: str) -> list[Any]:
    """Return the values of texts, all read by one reader: they differ in the types of rare scalars."""
    try:
        return [reading.values(quick(text)) for text in texts]
    except Unusual:
        return [_values(text) for text in texts]


def _values(text: str) -> Any:  # noqa: ANN401  (a YAML document)
    parser = YAML(typ="safe", pure=True)
    parser.composer.warn_double_anchors = False  # a node file may bring an anchor that is there already
    try:
        return parser.load(text)
    except (YAMLError, ValueError, TypeError, RecursionError) as error:
        raise ArtefactInvalid(f"the result is not YAML: {type(error).__name__}") from None


def _plain(text: str, spot: Spot) -> Any:  # noqa: ANN401  (a YAML document)
    """Return the values of a block that begins at its own column."""
    return _values(" " * int(spot.node.start_mark.column) + text)
