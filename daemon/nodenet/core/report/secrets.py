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
from typing import Any

from nodenet.core.node_file import yaml_text
from nodenet.core.node_file.secret import HIDDEN, is_secret, secrets_of
from nodenet.core.node_file.yaml_text import Block, Misread, Node, Scalar
from nodenet.core.node_file.yaml_values import json_values
from nodenet.core.report.known_secrets import NAME, in_lines, is_name, is_place

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
