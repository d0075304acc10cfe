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


def test_libnmstate_is_asked_about_each_network_config(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A bond without a mode breaks no rule of ours; the finding has the place in install-config."""
    bad = EXAMPLES["nmstate-refused"].bad["nodes/master-0.yml"]
    good = EXAMPLES["nmstate-refused"].good["nodes/master-0.yml"]
    config = "".join(f"        {line}\n" for line in bad.splitlines())
    head = "platform:\n  baremetal:\n    hosts:\n    - name: master-0\n      bootMACAddress: 52:54:00:00:00:01\n"
    files = {"nodes/master-0.yml": good, "install-config.yaml": f"{head}      networkConfig:\n{config}"}
    day_one_examples.write(files, tmp_path)
    install_config = tmp_path / "install-config.yaml"
    words = ["day-one", "check", str(tmp_path / "nodes"), "--install-config", str(install_config), "--json"]
    assert main(words) == 65
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [(each["rule"], each["file"], each["line"]) for each in found] == [
        ("nmstate-refused", str(install_config), 7)
    ]
