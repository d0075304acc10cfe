"""Which secrets do a keyfile, a record of nodenetd and broken YAML have, so that they can be hidden everywhere?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from nodenet.core.node_file.secret import is_secret, spellings

_KEYS = "(?:pre-?shared|private|client|signing|encryption|api|access|auth|ssl|tls)[-_]?key"
_WORD = (
    rf"passw(?:or)?d|passphrase|[-_]pass(?![\w.-])|secret|psk|cak|token|credential|wep-key|community|key-data|{_KEYS}"
)
NAME = rf"[\w.-]{{0,64}}(?:{_WORD})[\w.-]{{0,64}}"
"""The name of a secret. Bounded, as a text of one word must not take the square of its length."""
_SHORT = frozenset({"pin"})
"""Names of secrets as a whole only: many other words have these letters."""
_PLACE = re.compile(r"[\"']?(?:file:(?://)?)?/(?:etc|home|mnt|opt|root|run|srv|tmp|usr|var)/")
"""The name of a file that has a key is no secret, and a key in base64 may begin with a slash."""
_SECTION = re.compile(r"[ \t]*\[([^\]]*)\][ \t]*")
_LINE = re.compile(r"[ \t]*(?:-[ \t]+)?[\"']?([\w. -]*[\w.-])[\"']?[ \t]*[=:][ \t]*(\S.*?)[ \t]*")
_NUMBERS = re.compile(r"\d{1,3}(?:;\d{1,3})*;?")
_WHOLE = "vpn-secrets"
"""A section in which every value is a secret; a plug-in of NetworkManager gives the names."""


def is_name(name: str) -> bool:
    """Return whether *name* is that of a secret."""
    if name.endswith("-flags"):  # where NetworkManager keeps a secret
        return False
    return name in _SHORT or is_secret(name) or re.fullmatch(NAME, name, re.IGNORECASE) is not None


def is_place(value: str) -> bool:
    """Return whether *value* is the name of a file."""
    return _PLACE.match(value) is not None


def in_lines(text: str) -> frozenset[str]:
    """Return the spellings of what follows the name of a secret in the lines of a keyfile or of broken YAML."""
    found: set[str] = set()
    section = ""
    for line in text.splitlines():
        if heading := _SECTION.fullmatch(line):
            section = heading[1]
        elif (pair := _LINE.fullmatch(line)) and (section == _WHOLE or is_name(pair[1])) and not is_place(pair[2]):
            for each in _values(pair[2]):
                found.update(spellings(each))
    return frozenset(found)


def in_json(text: str) -> frozenset[str]:
    """Return the spellings of the secrets in a record of nodenetd; none where it cannot be read."""
    with suppress(ValueError, RecursionError):
        return frozenset(_in_values(json.loads(text), secret=False))
    return frozenset()


def _values(value: str) -> Iterator[str]:
    """Yield a value of a keyfile as it is, without quotes, without escapes, and as bytes (nm-settings-keyfile(5))."""
    yield from (value, value.strip("\"'"))
    yield re.sub(r"\\(.)", lambda escape: {"s": " ", "t": "\t", "n": "\n"}.get(escape[1], escape[1]), value)
    if value.startswith("data:"):
        yield value.rpartition(",")[2]
    if _NUMBERS.fullmatch(value):
        numbers = [int(number) for number in value.split(";") if number]
        yield bytes(number for number in numbers if number < 256).rstrip(b"\0").decode(errors="replace")


def _in_values(value: Any, *, secret: bool) -> Iterator[str]:  # noqa: ANN401  (a JSON document)
    """Yield the spellings of what is below the name of a secret, and of the secrets in the text of a keyfile.

    A setting of NetworkManager is stored with its type: ``["variant", "s", ["plain", "…"]]``.
    """
    match value:
        case dict():
            for key, each in value.items():
                yield from _in_values(each, secret=secret or is_name(key))
        case ["plain" | "list" | "dict", content] | ["variant", _, content]:
            yield from _in_values(content, secret=secret)
        case ["bytes", str(digits)] if secret:
            yield digits
            with suppress(ValueError):
                yield from spellings(bytes.fromhex(digits).rstrip(b"\0").decode(errors="replace"))
        case list():
            for each in value:
                yield from _in_values(each, secret=secret)
        case str() if secret:
            yield from spellings(value)
        case str() if "\n" in value:
            yield from in_lines(value)
