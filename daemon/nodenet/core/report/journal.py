"""How does a journal read in a report? One line for each entry, with its remedy, oldest first."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any


def text(printed: str, moment: Callable[[float], str]) -> str:
    """Return the lines for what journalctl printed as JSON, newest first; a line that is cut off is left out.

    *moment* writes a time, which is in seconds since 1970.
    """
    return "".join(f"{line}\n" for line in reversed(list(_lines(printed, moment))))


def _lines(printed: str, moment: Callable[[float], str]) -> Iterator[str]:
    for line in printed.split("\n"):
        try:
            entry = json.loads(line)
            yield f"{moment(int(entry['__REALTIME_TIMESTAMP']) / 1e6)} {_line(entry)}"
        except (ValueError, KeyError, TypeError, AttributeError, OSError, RecursionError, OverflowError):
            continue


def _line(entry: Mapping[str, Any]) -> str:
    program = entry.get("SYSLOG_IDENTIFIER") or entry.get("_COMM") or "?"
    remedy = f" To do: {_plain(entry['REMEDY'])}" if entry.get("REMEDY") else ""
    process = f"[{entry['_PID']}]" if "_PID" in entry else ""
    return f"{_plain(program)}{process}: {_plain(entry.get('MESSAGE'))}{remedy}"


def _plain(value: object) -> str:
    """Return a field as text: journalctl prints one with other bytes as a list of numbers, a repeated one as a list."""
    if isinstance(value, list) and all(isinstance(item, int) and 0 <= item < 256 for item in value):
        value = bytes(value).decode(errors="backslashreplace")
    elif isinstance(value, list):
        value = " ".join(map(str, value))
    return str(value).replace("\n", "\n  ")
