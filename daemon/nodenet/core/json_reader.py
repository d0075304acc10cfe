"""How is a JSON document from outside read, so that an error names the place?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, TypeVar, cast

from nodenet.core.errors import SnapshotInvalid
from nodenet.core.ip import Family, IPAddress

# At which place of a JSON document did a reader fail?

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{},:]', re.DOTALL)
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{,39}")
_MOST_OF_A_KEY = 40


def path_at(text: str, end: int) -> str:
    """Return the path (in the notation of RFC 9535) of the value before position *end* of *text*.

    The text up to there need not be a whole document, but it must have been read without complaint.
    """
    steps: list[str | int] = []
    last = ""
    for found in _TOKEN.finditer(text, 0, end):
        token = found[0]
        match token:
            case "[":
                steps.append(0)
            case "{":
                steps.append("")
            case "]" | "}":
                if steps:
                    steps.pop()
            case ",":
                if steps:
                    step = steps[-1]
                    steps[-1] = step + 1 if isinstance(step, int) else ""
            case ":":
                if steps:
                    steps[-1] = last[1:-1]
            case _:
                last = token
    return "$" + "".join(map(written, steps))


def written(step: str | int) -> str:
    """Return one step of a path, of a list's number or an object's key, printable and short."""
    if isinstance(step, int):
        return f"[{step}]"
    if not step:
        return ""
    if _PLAIN_KEY.fullmatch(step):
        return f".{step}"
    # Anyone may have written the key, and it goes to a terminal.
    key = "".join(each if " " <= each <= "~" else ascii(each)[1:-1] for each in step[:_MOST_OF_A_KEY])
    return f"['{key}']"


# Which values does the document have, each of the right type?

T = TypeVar("T")
MOST_SHOWN = 40
"""Characters of a wrong value that an error shows."""
_NAMES: dict[type, str] = {
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}


def load(text: str | bytes, most_bytes: int, remedy: str, less: str) -> Node:
    """Return the root of the document *text*. Raises SnapshotInvalid: too large (say *less*), not JSON, no object."""
    return Node(decoded(text, most_bytes, remedy, less), "$", remedy)


def decoded(text: str | bytes, most_bytes: int, remedy: str, less: str) -> object:
    """Return the value of the document *text*. Raises SnapshotInvalid: too large (say *less*), not JSON."""
    if len(text) > most_bytes:
        raise SnapshotInvalid(f"The snapshot is larger than {most_bytes >> 20} MiB", remedy=less)
    try:
        return cast("object", json.loads(text))
    except UnicodeDecodeError as error:
        raise SnapshotInvalid(f"The snapshot is not UTF-8, at byte {error.start}", remedy=remedy) from error
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}, at {path_at(error.doc, error.pos)}"
        raise SnapshotInvalid(f"The snapshot is not JSON, {where}: {error.msg}", remedy=remedy) from error
    except ValueError as error:  # a number with thousands of digits
        raise SnapshotInvalid(f"The snapshot cannot be read: {error}", remedy=remedy) from error
    except RecursionError as error:
        raise SnapshotInvalid("The snapshot is nested too deeply", remedy=remedy) from error


class Node:
    """A JSON object, the path that leads to it, and the remedy for its author."""

    __slots__ = ("path", "remedy", "value")

    def __init__(self, value: object, path: str, remedy: str) -> None:
        """Raise SnapshotInvalid unless *value* is an object."""
        self.path = path
        self.remedy = remedy
        if not isinstance(value, dict):
            raise wrong(path, value, "an object", remedy)
        self.value: dict[str, object] = value

    def wrong(self, key: str, expected: str) -> SnapshotInvalid:
        """Return the error of a field that is not what was *expected*."""
        return wrong(f"{self.path}.{key}", self.value.get(key), expected, self.remedy)

    def get(self, key: str, kind: type[T], default: T) -> T:
        """Return a field of type *kind*; absent or null gives *default*."""
        found = self.value.get(key)
        if found is None:
            return default
        # JSON's true is not a number, though Python's is; a whole number is one with a fraction as well.
        number = kind is float and isinstance(found, int)
        if not (isinstance(found, kind) or number) or (kind in (int, float) and isinstance(found, bool)):
            raise self.wrong(key, _NAMES[kind])
        return cast("T", found)

    def maybe(self, key: str, kind: type[T]) -> T | None:
        """Return a field of type *kind*, None when it is absent."""
        return self.get(key, kind, cast("T", None))

    def text(self, key: str) -> str:
        """Return a string that must be there and say something."""
        found = self.get(key, str, "")
        if not found:
            raise self.wrong(key, "a string")
        return found

    def strings(self, key: str) -> tuple[str, ...]:
        """Return a list of strings, empty when it is absent."""
        found = self.get(key, list, [])
        for i, item in enumerate(found):
            if not isinstance(item, str):
                raise wrong(f"{self.path}.{key}[{i}]", item, "a string", self.remedy)
        return tuple(found)

    def texts(self, key: str) -> Mapping[str, str]:
        """Return an object whose values are strings, empty when it is absent."""
        found = self.get(key, dict, {})
        for name, item in found.items():
            if not isinstance(item, str):
                raise wrong(f"{self.path}.{key}{_step(name)}", item, "a string", self.remedy)
        return found

    def child(self, key: str) -> Node | None:
        """Return an object, None when it is absent."""
        found = self.value.get(key)
        return None if found is None else Node(found, f"{self.path}.{key}", self.remedy)

    def nodes(self, key: str) -> Iterator[tuple[str, Node]]:
        """Yield the objects of an object, each with its key."""
        for name, item in self.get(key, dict, {}).items():
            yield name, Node(item, f"{self.path}.{key}{_step(name)}", self.remedy)

    def children(self, key: str) -> Iterator[Node]:
        """Yield the objects of a list; iproute2 leaves empty objects where it filtered something out."""
        for i, item in enumerate(self.get(key, list, [])):
            node = Node(item, f"{self.path}.{key}[{i}]", self.remedy)
            if node.value:
                yield node

    def whole(self, key: str, default: int, limit: int) -> int:
        """Return a whole number from 0 to *limit*."""
        found = self.get(key, int, default)
        if not 0 <= found <= limit:
            raise self.wrong(key, f"a number from 0 to {limit}")
        return found

    def address(self, key: str, family: Family | None = None) -> IPAddress | None:
        """Return an address, None when it is absent."""
        text = self.maybe(key, str)
        if text is None:
            return None
        try:
            match family:
                case Family.IPV4:
                    return IPv4Address(text)
                case Family.IPV6:
                    return IPv6Address(text)
            return ip_address(text)
        except ValueError as error:
            raise self.wrong(key, f"an {family or 'IP'} address") from error


def _step(key: str) -> str:
    """Return a key as a step of a path; one that a terminal would obey is written out."""
    return f".{key}" if key.isascii() and key.isprintable() else written(key)


def wrong(path: str, value: Any, expected: str, remedy: str) -> SnapshotInvalid:  # noqa: ANN401  (JSON)
    """Return the error of a *value* that is not what was *expected*."""
    shown = json.dumps(value)
    shown = shown if len(shown) <= MOST_SHOWN else shown[: MOST_SHOWN - 3] + "..."
    return SnapshotInvalid(f"The snapshot has {shown} at {path}, {expected} was expected", remedy=remedy)
