"""What does nodenet work with, and how is that known? `python tools/make_compatibility.py` writes the page.

The rows are in docs/dev/compatibility.toml. What was run has the name of a test; what a documentation says has none.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "dev" / "compatibility.md"
ROWS = ROOT / "docs" / "dev" / "compatibility.toml"


class How(StrEnum):
    """How it is known that nodenet works with something."""

    BOOTED = "booted"
    RUN = "run"
    CHECKED = "checked"
    DOCUMENTATION = "documentation"


MEANINGS: Mapping[How, str] = {
    How.BOOTED: "nodes with this version boot in the lab, and the named tests are among those that pass",
    How.RUN: "the named tests run it, without a node",
    How.CHECKED: "the named tests read or build for it; nothing is run",
    How.DOCUMENTATION: "only what its documentation says: it was not run here",
}
HEAD = """\
# Compatibility

With what nodenet was tried, and what is expected to work by documentation alone. Versions that are newer than those of
this page are expected to work; older ones are not.

"""


@dataclass(frozen=True, slots=True)
class Row:
    """One thing in one version. *lab*: suite and package that have it; *at*: a file of the repository, and its text."""

    kind: str
    what: str
    version: str
    how: How
    tests: tuple[str, ...]
    note: str
    lab: tuple[str, ...] = ()
    at: tuple[str, ...] = ()


def rows(source: Path = ROWS) -> tuple[Row, ...]:
    """Return the rows in their order."""
    return tuple(_row(entry) for entry in tomllib.loads(source.read_text(encoding="utf-8"))["row"])


def _row(entry: Mapping[str, Any]) -> Row:
    lists = {key: tuple(entry.get(key, ())) for key in ("tests", "lab", "at")}
    return Row(**{**entry, **lists, "how": How(entry["how"])})


def page(listed: Sequence[Row]) -> str:
    """Return the page."""
    meanings = "".join(f"* **{how}**: {meaning}\n" for how, meaning in MEANINGS.items())
    parts = [HEAD, meanings]
    for kind in dict.fromkeys(row.kind for row in listed):
        parts.append(f"\n## {kind}\n\n| what | version | known by | tests | |\n|---|---|---|---|---|\n")
        parts += [_line(row) for row in listed if row.kind == kind]
    return "".join(parts)


def _line(row: Row) -> str:
    tests = ", ".join(f"`{name}`" for name in row.tests)
    return f"| {row.what} | {row.version} | {row.how} | {tests} | {row.note} |\n"


if __name__ == "__main__":
    PAGE.write_text(page(rows()), encoding="utf-8")
