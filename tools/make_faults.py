"""What does a node do when something fails, and which test shows it? `python tools/make_faults.py` writes the page.

The rows are in docs/dev/faults.toml. A row without a test is refused, and so is the
name of a test that does not exist, or that two tests have.
"""

from __future__ import annotations

import ast
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "dev" / "faults.md"
ROWS = ROOT / "docs" / "dev" / "faults.toml"
HEAD = """\
# Faults

What nodenet does when something fails, how the node heals if not by itself, and the tests that show it. `degraded`
means that kubelet runs, and that `nodenetctl` gives cause and remedy.

"""
OF_ITSELF = ("By itself", "Nothing is wrong")
"""What heals so needs no words."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One row."""

    number: int
    fault: str
    does: str
    heals: str
    tests: tuple[str, ...]


def faults(rows: Path = ROWS) -> tuple[Fault, ...]:
    """Return the rows in their order."""
    return tuple(_fault(row) for row in tomllib.loads(rows.read_text(encoding="utf-8"))["fault"])


def _fault(row: Mapping[str, Any]) -> Fault:
    return Fault(**{**row, "tests": tuple(row["tests"])})


def names_of_tests(folder: Path = ROOT / "tests") -> Counter[str]:
    """Return the names of all test functions, with how many have each."""
    return Counter(name for path in folder.rglob("test_*.py") for name in _functions(path))


def _functions(path: Path) -> Iterator[str]:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_"):
            yield node.name


def page(rows: Sequence[Fault]) -> str:
    """Return the page."""
    return HEAD + "".join(map(_line, rows))


def _line(row: Fault) -> str:
    heals = "" if row.heals in OF_ITSELF else f" Healed: {row.heals}."
    return f"{row.number}. **{row.fault}.** {row.does}.{heals} {', '.join(f'`{name}`' for name in row.tests)}\n"


if __name__ == "__main__":
    PAGE.write_text(page(faults()), encoding="utf-8")
