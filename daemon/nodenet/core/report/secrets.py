"""How do secrets stay out of a report?

In three steps. A node file is printed again from its values, so that a secret cannot hide behind YAML's quotes, and
without comments. Secrets of node files, of NetworkManager's keyfiles and of nodenetd's records are then known, and
hidden in every spelling in every part. What looks like a secret by its name or its form is hidden in its place; in a
JSON document that is everything below the name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any

from nodenet.core.node_file import yaml_text
from nodenet.core.node_file.secret import HIDDEN, is_secret, secrets_of, spellings
from nodenet.core.node_file.yaml_text import Block, Misread, Node, Scalar, json_values

# Which secrets do a keyfile, a record of nodenetd and broken YAML have, so that they can be hidden everywhere?

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


@lru_cache(maxsize=4096)
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


# How are known secrets, and what looks like one, hidden in every part?

MOST_KEPT, LONGEST_KEPT = 8192, 64
"""Short texts whose answer is kept: documents of ten thousand links repeat theirs."""
SHORTEST = 3
"""Shorter secrets are hidden in their own place only: a text without each `1` cannot be read."""
_VALUE = r"\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|[^\n]*"
_PAIR = re.compile(rf"(?P<name>(?<![\w.-]){NAME})(?P<sign>[\"']?[ \t]*(?:=|:)[ \t]*)(?P<value>{_VALUE})", re.IGNORECASE)
_KEY = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_BEARER = re.compile(r"(?P<before>\b(?:bearer|basic)[ \t]+)[A-Za-z0-9+/=._~-]{8,}", re.IGNORECASE)
_JWT = re.compile(r"\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*")
_ENCODED = re.compile(r"LS0tLS1CRUdJTi(?!BDRVJU)[A-Za-z0-9+/=_-]*")
"""A key in PEM, encoded in base64 once more as in a kubeconfig; what is spared begins as a certificate does."""
_OPTION = re.compile(rf"(?P<before>(?<!\S)--?{NAME}[ \t]+)(?![-=])\S+", re.IGNORECASE)
_USER = re.compile(r"(?P<before>://)[^\s/@\"']+@")


def node_file(name: str, text: str) -> tuple[str | None, frozenset[str]]:
    """Return the node file as JSON without secrets and comments, and every spelling of its secrets.

    None in its place where it cannot be read: then what is behind the name of a secret is taken for one.
    """
    try:
        tree = yaml_text.load(name, text)
    except Misread:
        return None, in_lines(text)
    shown = json.dumps(_shown(tree, secret=False), indent=1, ensure_ascii=False)
    return f"{shown}\n", frozenset(secrets_of(tree).spellings)


def node_file_lines(name: str, text: str) -> str | None:
    """Return the text of a node file without secrets and comments, each line at its number; None if it is no YAML.

    A value in quotes may be written in many ways, so nothing of a secret is searched for here: what stands between the
    place of a secret and the place of the next key or value is left out.
    """
    try:
        tree = yaml_text.load(name, text)
    except Misread:
        return None
    known = secrets_of(tree).spellings
    places = sorted((one.line, one.column, below or one.text in known) for one, below in _scalars(tree))
    lines = [_without_comment(line) for line in text.splitlines()]
    for (line, column, is_hidden), (until, end, _) in zip(
        places, [*places[1:], (len(lines) + 1, 1, False)], strict=True
    ):
        if is_hidden and line <= len(lines):
            lines[line - 1] = f"{lines[line - 1][: column - 1]}{HIDDEN}"
            lines[line : until - 1] = [""] * max(0, until - 1 - line)
            if line < until <= len(lines):
                following = lines[until - 1]
                lines[until - 1] = re.sub(r"[^\s-]", " ", following[: end - 1]) + following[end - 1 :]
    return "".join(f"{line}\n" for line in lines)


def _without_comment(line: str) -> str:
    """Return a line up to its first `#` that may begin a comment, even if it is inside quotes."""
    found = re.search(r"(?:^|\s)#", line)
    return line[: found.start()].rstrip() if found else line.rstrip()


def _scalars(node: Node | None, *, secret: bool = False) -> Iterator[tuple[Scalar, bool]]:
    """Yield every key and value with its place, and whether it is below the name of a secret."""
    if isinstance(node, Scalar):
        yield node, secret
    elif node is not None:
        for item in node.items:
            yield from _scalars(item, secret=secret)
        for key, value in node.entries:
            yield key, False
            yield from _scalars(value, secret=secret or is_name(key.text))
        yield from ((key, True) for key, _ in node.doubled)  # the value of a key's second time is not in the tree


def document(text: str, redaction: Redaction) -> str | None:
    """Return a JSON document without secrets, None where *text* is none: its structure says which values are secret."""
    try:
        return f"{json.dumps(_hidden(json.loads(text), redaction, secret=False), indent=1, ensure_ascii=False)}\n"
    except (ValueError, RecursionError):
        return None


def _hidden(value: Any, redaction: Redaction, *, secret: bool) -> Any:  # noqa: ANN401  (a JSON document)
    match value:
        case dict():
            return {
                redaction.hidden_in(key): _hidden(each, redaction, secret=secret or is_name(key))
                for key, each in value.items()
            }
        case list():
            return [_hidden(each, redaction, secret=secret) for each in value]
        case None | bool() | "":
            return value
        case str():
            return HIDDEN if secret and not is_place(value) else redaction.hidden_in(value)
    return HIDDEN if secret or redaction.hidden_in(shown := json.dumps(value)) != shown else value


def _shown(node: Node | None, *, secret: bool) -> Any:  # noqa: ANN401  (a JSON document)
    match node:
        case Block(is_list=True):
            return [_shown(item, secret=secret) for item in node.items]
        case Block():
            return {key.text: _shown(value, secret=secret or is_secret(key.text)) for key, value in node.entries}
        case Scalar() if secret:
            return HIDDEN
    return json_values(node)


class Redaction:
    """Hides what is known to be a secret, and what looks like one."""

    def __init__(self, known: Iterable[str]) -> None:
        """*known*: secrets in every spelling."""
        words = sorted({word for word in known if len(word) >= SHORTEST}, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, words))) if words else None
        self._short = lru_cache(MOST_KEPT)(self._without)

    def hidden_in(self, text: str) -> str:
        """Return *text* without secrets."""
        return self._short(text) if len(text) <= LONGEST_KEPT else self._without(text)

    def _without(self, text: str) -> str:
        for step in self._steps():
            text = step(text)
        return text

    def _steps(self) -> Iterator[Any]:
        if self._known is not None:
            known = self._known
            yield lambda text: known.sub(HIDDEN, text)
        yield lambda text: _KEY.sub(HIDDEN, text)
        yield lambda text: _ENCODED.sub(HIDDEN, text)
        yield lambda text: _JWT.sub(HIDDEN, text)
        yield lambda text: _BEARER.sub(rf"\g<before>{HIDDEN}", text)
        yield lambda text: _USER.sub(rf"\g<before>{HIDDEN}@", text)
        yield lambda text: _PAIR.sub(_without_value, text)
        yield lambda text: _OPTION.sub(rf"\g<before>{HIDDEN}", text)


def _without_value(found: re.Match[str]) -> str:
    value = found["value"].strip()
    if not value or value in ("--", "null", '""') or is_place(value) or found["name"].endswith("-flags"):
        return found[0]
    quote = value[0] if value[0] in "\"'" else ""
    return f"{found['name']}{found['sign']}{quote}{HIDDEN}{quote}"
