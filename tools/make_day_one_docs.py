"""Which rules does docs/day-one.md explain? All of them: `python tools/make_day_one_docs.py` writes the section.

What stands below a rule was printed for its bad example (fixtures/day_one/rules.yaml), so the page cannot show what the
command does not print.
"""

from __future__ import annotations

import contextlib
import re
import sys
import tempfile
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1] / place) for place in ("tests", "daemon")]

import day_one_examples
from day_one_examples import Example
from nodenet.cli.day_one import folder
from nodenet.cli.day_one.findings import Lines, gathered
from nodenet.cli.main import parser
from nodenet.core.day_one import report
from nodenet.core.day_one.rules import Group, Rule

PAGE = Path(__file__).parents[1] / "docs" / "day-one.md"
_BLOCK = re.compile(r"(<!-- rules: made by tools/make_day_one_docs.py -->\n).*?(<!-- end -->)", re.DOTALL)


def made(page: str) -> str:
    """Return *page* with its marked block as it should be."""
    return _BLOCK.sub(lambda block: f"{block[1]}\n{_rules()}\n{block[2]}", page)


def _rules() -> str:
    examples = day_one_examples.read()
    parts = []
    for group in Group:
        parts.append(f"### {group.value}\n")
        parts += [_rule(rule, examples[rule.word]) for rule in Rule if rule.group is group]
    return "\n".join(parts)


def _rule(rule: Rule, example: Example) -> str:
    head = f"#### {rule.word}\n\n{rule.severity.value.capitalize()}. {example.why}\n"
    said = printed(rule, example)
    return f"{head}\n```\n{said}```\n" if said else head


def printed(rule: Rule, example: Example) -> str:
    """Return what is printed of *rule* for its bad example; nothing where the example needs a second program."""
    with tempfile.TemporaryDirectory() as directory, contextlib.chdir(directory):
        day_one_examples.write(example.bad, Path())
        arguments = parser("day-one").parse_args(day_one_examples.words(example, Path()))
        found, _ = gathered(arguments, folder.listed(arguments.path))
        return report.text([each for each in found if each.rule is rule][:1], Lines().line)


if __name__ == "__main__":
    PAGE.write_text(made(PAGE.read_text()))
