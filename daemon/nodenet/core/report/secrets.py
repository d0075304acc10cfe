"""How do secrets stay out of a report?

In three steps. A node file is printed again from its values, so that a secret cannot hide behind YAML's quotes, and
without comments. Secrets of node files and of NetworkManager's keyfiles are then known, and hidden in every spelling in
every part. What looks like a secret by its name or its form is hidden in its place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from nodenet.core.node_file import yaml_text
from nodenet.core.node_file.secret import HIDDEN, is_secret, secrets_of, spellings
from nodenet.core.node_file.yaml_text import Block, Misread, Node, Scalar
from nodenet.core.node_file.yaml_values import json_values

SHORTEST = 3
"""Shorter secrets are hidden in their own place only: a text without each `1` cannot be read."""
_WORD = "passw(?:or)?d|passphrase|secret|psk|cak|token|credential|wep-key|community|private-key-data"
_NAME = rf"[\w.-]{{0,64}}(?:{_WORD})[\w.-]{{0,64}}"
"""Bounded, as a text of one word must not take the square of its length."""
_VALUE = r"\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|[^\n]*"
_PAIR = re.compile(
    rf"(?P<name>(?<![\w.-]){_NAME})(?P<sign>[\"']?[ \t]*(?:=|:)[ \t]*)(?P<value>{_VALUE})", re.IGNORECASE
)
_KEY = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_BEARER = re.compile(r"(?P<before>\b(?:bearer|basic)[ \t]+)[A-Za-z0-9+/=._~-]{8,}", re.IGNORECASE)
_JWT = re.compile(r"\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*")
_USER = re.compile(r"(?P<before>://)[^\s/@\"']+@")
_LINE = re.compile(r"^[ \t]*(?:-[ \t]+)?[\"']?([\w.-]+)[\"']?[ \t]*[=:][ \t]*(.+?)[ \t]*$", re.MULTILINE)


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


def in_lines(text: str) -> frozenset[str]:
    """Return the spellings of what follows the name of a secret in the lines of a keyfile or of broken YAML."""
    found: set[str] = set()
    for name, value in _LINE.findall(text):
        if is_secret(name) or re.fullmatch(_NAME, name, re.IGNORECASE):
            for each in (value, value.strip("\"'"), _unescaped(value)):
                found.update(spellings(each))
    return frozenset(found)


def _unescaped(value: str) -> str:
    """Return a value of a keyfile without its escapes (nm-settings-keyfile(5))."""
    return re.sub(r"\\(.)", lambda escape: {"s": " ", "t": "\t", "n": "\n"}.get(escape[1], escape[1]), value)


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

    def hidden_in(self, text: str) -> str:
        """Return *text* without secrets."""
        for step in self._steps():
            text = step(text)
        return text

    def _steps(self) -> Iterator[Any]:
        if self._known is not None:
            known = self._known
            yield lambda text: known.sub(HIDDEN, text)
        yield lambda text: _KEY.sub(HIDDEN, text)
        yield lambda text: _JWT.sub(HIDDEN, text)
        yield lambda text: _BEARER.sub(rf"\g<before>{HIDDEN}", text)
        yield lambda text: _USER.sub(rf"\g<before>{HIDDEN}@", text)
        yield lambda text: _PAIR.sub(_without_value, text)


def _without_value(found: re.Match[str]) -> str:
    value = found["value"].strip()
    if not value or value in ("--", "null", '""'):
        return found[0]
    quote = value[0] if value[0] in "\"'" else ""
    return f"{found['name']}{found['sign']}{quote}{HIDDEN}{quote}"
