"""Which verdicts does this release give? `python tools/freeze_verdicts.py` writes them down, for every later release.

A node that is upgraded must not select other node IPs without a word. For each release
``fixtures/node_ip_verdicts/VERSION.json`` has what it answered to every case of ``fixtures/node_ip``, with a digest of
the case. tests/tools/test_freeze_verdicts.py asks the present code the same: a case that gets another answer needs a
line in CHANGELOG.md that names it, and a frozen case is never changed or removed.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1] / place) for place in ("tests", "daemon")]

from node_ip_cases import CASES, read_case, told
from nodenet import __version__

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT / "fixtures" / "node_ip_verdicts"
CHANGELOG = ROOT / "CHANGELOG.md"
INPUTS = ("snapshot.json", "policy.toml")
ANSWERED = ("node_ips", "link", "matches_vip", "remote_worker", "verdicts", "missing")
"""What is frozen of an answer: decisions, not the words around them."""


@dataclass(frozen=True, slots=True)
class Change:
    """A case of a release that is not answered as it was: *what* differs."""

    release: str
    case: str
    what: str


def answer(case: Path) -> dict[str, Any]:
    """Return what is frozen of the present answer to a case."""
    document = told(read_case(case).selection())
    return {key: document[key] for key in ANSWERED}


def digest(case: Path) -> str:
    """Return the SHA-256 of what a case asks."""
    return hashlib.sha256(b"\0".join((case / name).read_bytes() for name in INPUTS)).hexdigest()


def frozen(cases: Iterable[Path]) -> dict[str, Any]:
    """Return what a release answers to *cases*."""
    return {case.name: {"asked": digest(case), **answer(case)} for case in sorted(cases)}


def releases(directory: Path = CORPUS) -> dict[str, Mapping[str, Any]]:
    """Return what every release answered, by version."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(directory.glob("*.json"))}


def changes(release: str, corpus: Mapping[str, Any], cases: Path = CASES) -> Iterator[Change]:
    """Yield the cases of *corpus* that are not answered as that release did."""
    for name, was in corpus.items():
        case = cases / name
        if not case.is_dir():
            yield Change(release, name, "the case was removed")
        elif digest(case) != was["asked"]:
            yield Change(release, name, "the case itself was changed: a new case belongs beside it")
        else:
            now = answer(case)
            for key in ANSWERED:
                if now[key] != was[key]:
                    yield Change(release, name, f"{key}: {was[key]} became {now[key]}")


def explained(change: Change, changelog: str) -> bool:
    """Return whether the changelog, above the section of that release, names the case."""
    section = _section(change.release, changelog)
    newer = changelog[: section.start()] if section else changelog
    return f"`{change.case}`" in newer


def _section(release: str, changelog: str) -> re.Match[str] | None:
    return re.search(rf"^## \[?{re.escape(release)}\b", changelog, re.MULTILINE)


def main() -> int:
    """Write down what this version answers, unless it is released: the changelog has its section then."""
    path = CORPUS / f"{__version__}.json"
    if path.exists() and _section(__version__, CHANGELOG.read_text(encoding="utf-8")):
        sys.stderr.write(f"{__version__} is released, and {path} is frozen: raise the version first\n")
        return 1
    text = json.dumps(frozen(case for case in CASES.iterdir() if case.is_dir()), indent=1) + "\n"
    path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
