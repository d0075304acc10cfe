"""How are the findings of a check printed: for people and as JSON?

A line of a file is quoted only if it cannot hold a secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from nodenet.core.day_one.rules import Found
from nodenet.core.node_file.finding import Severity, printable
from nodenet.core.node_file.secret import is_secret

LONGEST_LINE = 160
Lines = Callable[[str, int], str | None]
"""The text of one line of a file, None where it cannot be read any more."""
_KEY = re.compile(r"\s*(?:- +)*[\"']?(?P<key>[\w./<-]+)[\"']? *:(?: |$)")
_IN_URL = re.compile(r"//[^/\s@]*@")
_OPAQUE = frozenset({"data", "stringdata", "nmstate", "source", "sshkey", "additionaltrustbundle", "username"})
"""Keys whose values are long or private."""


def text(found: Sequence[Found], lines: Lines) -> str:
    """Return all findings for people: cause, place, the line itself, remedy."""
    return "\n".join(_one(each, lines) for each in found)


def _one(found: Found, lines: Lines) -> str:
    head = f"{found.severity.value}[{found.rule.word}]: {found.sentence()}"
    if not found.line:
        return printed([head, f"  --> {found.file}", f"   = {found.remedy}"])
    place = f"{found.file}:{found.line}" + (f":{found.column}" if found.column else "")
    number = str(found.line)
    margin = " " * (len(number) + 1)
    said = [head, f"{margin}--> {place}"]
    if quoted := quotable(lines(found.file, found.line), found.key):
        marked = quoted[found.column - 1 :]
        length = len(found.value or "")
        starts = next((begin for begin in (0, 1) if length and marked[begin:].startswith(found.value or "")), None)
        width = 1 if starts is None else length + 2 * starts
        said += [f"{margin} |", f"{number}  | {quoted}"]
        if 0 < found.column <= len(quoted):
            said.append(f"{margin} | {' ' * (found.column - 1)}{'^' * width}")
    return printed([*said, f"{margin} = {found.remedy}"])


def printed(lines: Iterable[str]) -> str:
    """Return lines as one text that controls no terminal, with a line end."""
    return "".join(f"{printable(line)}\n" for line in lines)


def quotable(line: str | None, key: str) -> str | None:
    """Return a line as it may be shown, None where it may hold a secret: only plain lines with a known key are."""
    if line is None or "\t" in line or len(line) > LONGEST_LINE or any(map(_is_hidden, re.split(r"[.\[\]]+", key))):
        return None
    found = _KEY.match(line)
    if found is None and not (key and line.lstrip().startswith("- ")):
        return None
    if "{" in line or (found is not None and _is_hidden(found["key"])):
        return None
    return _IN_URL.sub("//…@", line.rstrip("\r"))


def _is_hidden(key: str) -> bool:
    return bool(key) and (key.lower() in _OPAQUE or is_secret(key))


def summary(found: Sequence[Found], files: int) -> str:
    """Return the last line for people."""
    errors = sum(each.severity is Severity.ERROR for each in found)
    parts = [_times(errors, "error"), _times(len(found) - errors, "warning")]
    checked = f"{_times(files, 'file') or '0 files'} checked"
    return f"{checked}: {' and '.join(filter(None, parts)) or 'nothing found'}"


def _times(number: int, what: str) -> str:
    return "" if not number else f"1 {what}" if number == 1 else f"{number} {what}s"


def document(found: Sequence[Found], files: int) -> dict[str, Any]:
    """Return the JSON document; paths as they were given on the command line."""
    return {
        "schema_version": 1,
        "files": files,
        "errors": sum(each.severity is Severity.ERROR for each in found),
        "warnings": sum(each.severity is Severity.WARNING for each in found),
        "findings": [
            {
                "rule": each.rule.word,
                "severity": each.severity.value,
                "file": each.file,
                "line": each.line or None,
                "column": each.column or None,
                "key": each.key or None,
                "value": each.value,
                "cause": each.cause,
                "remedy": each.remedy,
            }
            for each in found
        ],
    }
