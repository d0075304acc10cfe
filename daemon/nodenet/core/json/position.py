"""At which place of a JSON document did a reader fail?"""

from __future__ import annotations

import re

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{},:]', re.DOTALL)
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{,39}")
_MOST_OF_A_KEY = 40


def path_at(text: str, end: int) -> str:
    """Return the path (in the notation of RFC 9535) of the value before position *end* of *text*.

    The text up to there need not be a whole document, but it must have been read without complaint.
    """
    steps: list[str | int] = []
    last = ""
    for found in _TOKEN.finditer(text, 0, end):
        token = found[0]
        match token:
            case "[":
                steps.append(0)
            case "{":
                steps.append("")
            case "]" | "}":
                if steps:
                    steps.pop()
            case ",":
                if steps:
                    step = steps[-1]
                    steps[-1] = step + 1 if isinstance(step, int) else ""
            case ":":
                if steps:
                    steps[-1] = last[1:-1]
            case _:
                last = token
    return "$" + "".join(map(written, steps))


def written(step: str | int) -> str:
    """Return one step of a path, of a list's number or an object's key, printable and short."""
    if isinstance(step, int):
        return f"[{step}]"
    if not step:
        return ""
    if _PLAIN_KEY.fullmatch(step):
        return f".{step}"
    # Anyone may have written the key, and it goes to a terminal.
    key = "".join(each if " " <= each <= "~" else ascii(each)[1:-1] for each in step[:_MOST_OF_A_KEY])
    return f"['{key}']"
