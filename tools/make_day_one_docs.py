"""Which rules does `nodenetctl day-one check` have? `python tools/make_day_one_docs.py` writes their page."""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1] / place) for place in ("tests", "daemon")]

import day_one_examples
from nodenet.core.day_one.rules import Group, Rule

PAGE = Path(__file__).parents[1] / "docs" / "day-one-rules.md"
HEAD = """\
# The rules of `nodenetctl day-one check`

Each finding has the name of its rule, the place in the file, and the remedy. This page says what
happens to a host if the rule is broken.
"""


def page() -> str:
    """Return the page."""
    return HEAD + "".join(f"\n## {group.value}\n\n{_rules(group)}" for group in Group)


def _rules(group: Group) -> str:
    why = {name: example.why for name, example in day_one_examples.read().items()}
    return "".join(
        f"* `{rule.word}` ({rule.severity.value}): {why[rule.word]}\n" for rule in Rule if rule.group is group
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
