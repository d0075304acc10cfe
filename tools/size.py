"""How large is nodenet, what is its ceiling, and what is its budget? `python tools/size.py` prints the table.

A ceiling is what `tests/tools/test_size.py` allows today, a little above what there is. To change a ceiling, edit its
number in `measures` and say why in the commit; a commit that makes nodenet smaller lowers it.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]


@dataclasses.dataclass(frozen=True)
class Measure:
    """One size: its name, how large it is, how large it may be now, and how large it is to be in the end."""

    name: str
    size: int
    ceiling: int
    budget: int


def measures(root: Path = ROOT) -> tuple[Measure, ...]:
    """Return every size of the tree below *root*."""
    product = list(_files(root / "daemon", ".py"))
    machinery = [path for folder in ("tools", "packaging") for path in _files(root / folder, ".py")]
    documents = [
        *root.glob("*.md"),
        *(path for ending in (".md", ".1", ".5", ".8") for path in _files(root / "docs", ending)),
    ]
    return (
        Measure("product: lines", _lines(product), 69_200, 48_000),
        Measure("product: modules", len(product), 393, 260),
        Measure("tests: lines", _lines(_files(root / "tests", ".py")), 109_000, 75_000),
        Measure("tools and packaging: lines of Python", _lines(machinery), 11_150, 9_000),
        Measure("documents and manual pages: words", _words(documents), 46_700, 35_000),
        Measure("packages that run on a node", _packages(root / "packaging" / "requirements.txt"), 6, 6),
    )


def median_module(root: Path = ROOT) -> int:
    """Return how many lines the median module of the product has; the aim is 150 or more."""
    return round(median(_lines([path]) for path in _files(root / "daemon", ".py")))


def table(found: tuple[Measure, ...], half: int) -> str:
    """Return what `python tools/size.py` prints."""
    lines = [f"{'':37} {'now':>8} {'ceiling':>8} {'budget':>8}"]
    lines += [f"{one.name:37} {one.size:8} {one.ceiling:8} {one.budget:8}" for one in found]
    lines += [f"{'product: lines of the median module':37} {half:8} {'':8} {'>= 150':>8}"]
    return "".join(f"{line}\n" for line in lines)


def _files(folder: Path, ending: str) -> Iterator[Path]:
    for path in folder.rglob(f"*{ending}"):
        if not any(part.startswith((".", "__pyc")) for part in path.relative_to(folder).parts):
            yield path


def _lines(paths: Iterator[Path] | list[Path]) -> int:
    return sum(path.read_bytes().count(b"\n") for path in paths)


def _words(paths: list[Path]) -> int:
    return sum(words(path.read_text(encoding="utf-8")) for path in paths)


def words(text: str) -> int:
    """Return how many words *text* has; the borders of a table are none."""
    return sum(any(map(str.isalnum, token)) for token in text.split())


def _packages(requirements: Path) -> int:
    return len(re.findall(r"^[\w.-]+==", requirements.read_text(encoding="utf-8"), re.MULTILINE))


if __name__ == "__main__":
    print(table(measures(), median_module()), end="")
