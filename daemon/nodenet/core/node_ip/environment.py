"""Which variables do an environment file and a drop-in of systemd set?

Environment files are read as EnvironmentFile= of systemd.exec(5) reads them, drop-ins as Environment= does.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator
from functools import lru_cache


def logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield (number of its first line, line) without comments and empty lines, continuations joined."""
    pending, start = "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not pending and (not line or line[0] in "#;"):
            continue
        start = start if pending else number
        pending += line
        if pending.endswith("\\"):
            pending = pending[:-1]
            continue
        yield start, pending
        pending = ""
    if pending:
        yield start, pending


def unquoted(value: str) -> str:
    """Return a value without its quotes. Raises ValueError when they are not closed."""
    quote = value[:1]
    if quote not in ("'", '"'):
        return value
    end = value.find(quote, 1)
    if end < 0:
        raise ValueError(f"the quote {quote} is not closed")
    return value[1:end]


def file_variables(content: bytes) -> dict[str, str]:
    """Return what an environment file sets; a line that cannot be understood sets nothing, as in systemd."""
    found: dict[str, str] = {}
    for _, line in logical_lines(content.decode("utf-8", errors="replace")):
        name, equals, value = line.partition("=")
        try:
            found |= {name.strip(): unquoted(value.strip())} if equals else {}
        except ValueError:
            continue
    return found


def drop_in_variables(content: bytes) -> dict[str, str]:
    """Return what the Environment= lines of a drop-in set; an empty one forgets those before it."""
    return dict(word.split("=", 1) for word in _words(content, "Environment") if "=" in word)


def drop_in_removals(content: bytes) -> tuple[str, ...]:
    """Return what the UnsetEnvironment= lines of a drop-in name: variables, or variables with the value they lose."""
    return _words(content, "UnsetEnvironment")


def is_removed(name: str, value: str, removals: Collection[str]) -> bool:
    """Return whether *removals* of UnsetEnvironment= take this variable away from the unit (systemd.exec(5))."""
    return name in removals or f"{name}={value}" in removals


@lru_cache(maxsize=32)
def _words(content: bytes, wanted: str) -> tuple[str, ...]:
    """Return the words that the lines of one key list; an empty line forgets those before it."""
    found: list[str] = []
    for _, line in logical_lines(content.decode("utf-8", errors="replace")):
        key, equals, value = line.partition("=")
        if key.strip() != wanted or not equals:
            continue
        try:
            words = shlex.split(value)
        except ValueError:
            continue
        found = [*found, *words] if words else []
    return tuple(found)
