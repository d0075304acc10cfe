"""Which variables do an environment file and a drop-in of systemd set?

Environment files are read as EnvironmentFile= of systemd.exec(5) reads them, drop-ins as Environment= does.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator


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
    found: dict[str, str] = {}
    for _, line in logical_lines(content.decode("utf-8", errors="replace")):
        key, equals, value = line.partition("=")
        if key.strip() != "Environment" or not equals:
            continue
        try:
            words = shlex.split(value)
        except ValueError:
            continue
        found = {**found, **dict(word.split("=", 1) for word in words if "=" in word)} if words else {}
    return found
