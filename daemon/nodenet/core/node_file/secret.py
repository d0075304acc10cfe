"""Which values of a node file are secret, and how do they stay out of journal, status and bus?

libnmstate quotes a value as it *read* it: ``+4912345678`` becomes ``4912345678``, ``12345678.50`` becomes
``12345678.5``. So each spelling of a secret is hidden. In a text about a document with secrets, every number and
every quoted word is hidden too, unless it is in the document as a value that is not secret.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Collection, Iterator

from nodenet.core.node_file import schema
from nodenet.core.node_file.yaml_text import Node, Scalar, typed
from nodenet.core.value import frozen

SECRET_KEYS = frozenset({"password", "private-key-password", "mka-cak", "psk"})
"""Keys whose values must not be seen: 802.1X, MACsec, IPsec (nmstate's API reference)."""
HIDDEN = "<hidden>"
_SIMILAR = 0.8
_WORDS = re.compile(r"`[^`\n]*`|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|[^\s`\"',;()\[\]{}=:]*[0-9][^\s`\"',;()\[\]{}=]*")
_ORDINARY = 4
"""Digits of a number that is shown all the same: line numbers, prefix lengths, MTUs."""


@frozen
class Secrets:
    """The secrets of a document in every spelling, and the words that it shows elsewhere."""

    spellings: frozenset[str] = frozenset()
    elsewhere: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.spellings)

    def hidden_in(self, text: str) -> str:
        """Return *text*, which may quote the document, without its secrets and what may be one."""
        if not self.spellings:
            return text
        for secret in sorted(self.spellings, key=len, reverse=True):
            text = text.replace(secret, HIDDEN)
        return _WORDS.sub(self._kept, text)

    def _kept(self, found: re.Match[str]) -> str:
        word = found[0]
        quote = word[0] if word[0] in "`\"'" and len(word) > 1 else ""
        inner = word.strip(quote) if quote else word.strip(".!?")
        if not inner or HIDDEN in inner or self._is_known(inner):
            return word
        return f"{quote}{HIDDEN}{quote}"

    def _is_known(self, word: str) -> bool:
        parts = word.split(".")
        ordinary = word.isdigit() and len(word) <= _ORDINARY
        return (
            ordinary
            or word in self.elsewhere
            or all(part in schema.places() or part in self.elsewhere for part in parts)
        )


NO_SECRETS = Secrets()


def is_secret(key: str) -> bool:
    """Whether the value of *key* is to be hidden: a mistyped key of a secret holds the secret all the same."""
    word = key[:40].lower().replace("_", "-")
    if word in schema.places() and word not in SECRET_KEYS:
        return False
    known = any(each in word for each in ("password", "passwd", "passphrase", "secret", "psk", "cak"))
    return known or bool(difflib.get_close_matches(word, SECRET_KEYS, n=1, cutoff=_SIMILAR))


def secrets_of(document: Node | None) -> Secrets:
    """Return the secrets of a document."""
    hidden: set[str] = set()
    elsewhere: set[str] = set()
    for text, secret in _scalars(document, secret=False):
        (hidden if secret else elsewhere).add(text)
    found = frozenset(each for text in hidden for each in spellings(text))
    return Secrets(found, frozenset(elsewhere) - found) if found else NO_SECRETS


def _scalars(node: Node | None, *, secret: bool) -> Iterator[tuple[str, bool]]:
    """Yield every scalar, and whether it is below the key of a secret."""
    if isinstance(node, Scalar):
        yield node.text, secret
    elif node is not None:
        for item in node.items:
            yield from _scalars(item, secret=secret)
        for key, value in node.entries:
            yield key.text, False
            yield from _scalars(value, secret=secret or is_secret(key.text))


def spellings(text: str) -> Iterator[str]:
    """Yield *text* as libnmstate, Python and JSON may write it."""
    if not text.strip():
        return
    values: Collection[object] = [text, text.strip()]
    value = typed(text.strip())
    if isinstance(value, bool) or value is None:
        return  # nothing is gained by hiding each `true`
    if isinstance(value, (int, float)):
        values = [*values, value, *([int(value)] if isinstance(value, float) and value.is_integer() else [])]
    for each in values:
        plain = str(each)
        yield plain
        yield json.dumps(plain)[1:-1]
        yield json.dumps(plain, ensure_ascii=False)[1:-1]
        yield plain.encode("ascii", "backslashreplace").decode()
    yield from (line.strip() for line in text.splitlines() if len(line.strip()) >= _ORDINARY)
