"""How is the TOML of a settings file read, so that every error names the file and the line?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from nodenet.core.errors import SettingsInvalid

MOST_BYTES = 64 << 10
"""The largest settings file that is read; the one with every key is 4 KiB."""
MOST_DOTS = 400
"""The most dots of one line: a list of a hundred IPv4 addresses has three hundred."""
MOST_SHOWN = 80
"""Characters of a wrong value that are shown."""
_LONG_NUMBER = re.compile(rb"(?<![0-9A-Za-z_])[0-9][0-9A-Fa-f_xob]{100}")


def flat(path: str, content: bytes, tables: set[str]) -> Iterator[tuple[str, object]]:
    """Yield the dotted keys of a TOML document and their values. Raises SettingsInvalid."""
    for key, value in _toml(path, content).items():
        if key not in tables:
            yield key, value
        elif isinstance(value, dict):
            yield from ((f"{key}.{name}", inner) for name, inner in value.items())
        else:
            raise SettingsInvalid(f"{path}: {key} is a table", remedy=f"Write [{key}] on a line, its keys below it")


def _toml(path: str, content: bytes) -> dict[str, Any]:
    import tomllib  # noqa: PLC0415 - most nodes have no settings file: they do not pay for the parser

    _refuse_costly(path, content)
    try:
        return tomllib.loads(content.decode())
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SettingsInvalid(f"{path}: line {line} is not UTF-8", remedy=f"Save {path} as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsInvalid(f"{path}: not TOML: {error}", remedy=f"Edit {path}") from None
    except RecursionError:
        raise SettingsInvalid(f"{path}: not TOML: nested too deep", remedy=f"Edit {path}") from None


def _refuse_costly(path: str, content: bytes) -> None:
    """Raise SettingsInvalid for what the parser needs seconds for, or cannot take: no setting looks like that.

    Its time grows with the square of a dotted key's parts, and Python reads no number of more than 4300 digits.
    """
    if len(content) > MOST_BYTES:
        raise SettingsInvalid(f"{path} is larger than {MOST_BYTES >> 10} KiB", remedy=f"Edit {path}")
    for number, line in enumerate((line.partition(b"#")[0] for line in content.splitlines()), 1):
        key = line.partition(b"=")[0].decode(errors="replace").strip()
        named = f"line {number}, {shown(key)}" if b"=" in line else f"line {number}"
        if line.count(b".") > MOST_DOTS:
            raise SettingsInvalid(f"{path}: {named}: more than {MOST_DOTS} dots", remedy=f"Edit {path}")
        if _LONG_NUMBER.search(line):
            raise SettingsInvalid(f"{path}: {named}: a number with more than 100 digits", remedy=f"Edit {path}")


def shown(value: object) -> str:
    """Return *value* for an error message, MOST_SHOWN characters at most."""
    text = {True: "true", False: "false"}[value] if isinstance(value, bool) else repr(value)
    return text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 3] + "..."
