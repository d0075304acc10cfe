"""`nodenetctl day-one check`: every rule has an example that breaks it and one that does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import day_one_examples
from nodenet.cli.main import main
from nodenet.core.day_one.rules import Rule
from nodenet.core.node_file.finding import Severity

EXAMPLES = day_one_examples.read()
RULES = {rule.word: rule for rule in Rule}
WHILE_IT_RUNS = "changed-while-read"
"""Its bad example changes during the check: a test of its own."""


def test_every_rule_has_its_examples() -> None:
    assert sorted(EXAMPLES) == sorted(RULES)


@pytest.mark.parametrize("name", sorted(set(EXAMPLES) - {WHILE_IT_RUNS}))
def test_the_bad_example_breaks_the_rule_and_no_other(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    example = EXAMPLES[name]
    day_one_examples.write(example.bad, tmp_path)
    code = main([*day_one_examples.words(example, tmp_path), "--json"])
    found = json.loads(capsys.readouterr().out)["findings"]
    assert {each["rule"] for each in found} == {name, *example.also}, found
    severities = {RULES[each].severity for each in (name, *example.also)}
    assert code == (65 if Severity.ERROR in severities else 0)
    for each in found:
        assert each["cause"]
        assert each["remedy"]
        assert Path(each["file"]).is_relative_to(tmp_path)


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_the_good_example_breaks_nothing(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = EXAMPLES[name]
    day_one_examples.write(example.good, tmp_path)
    code = main([*day_one_examples.words(example, tmp_path), "--strict"])
    said = capsys.readouterr()
    assert (code, said.err) == (0, "")
    assert said.out.endswith(": nothing found\n")
