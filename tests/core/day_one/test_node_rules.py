"""One node file, judged on its own for either step."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.day_one.trees import block
from nodenet.core.day_one.node_rules import Shape, Step, judge, shape_of

SEED = Path(__file__).parents[3] / "fixtures" / "day_one" / "seed"


@pytest.mark.parametrize("path", sorted(SEED.rglob("*.yml")), ids=lambda path: path.name)
def test_the_seeds_documents_break_no_rule(path: Path) -> None:
    known = judge("a.yml", path.read_bytes(), Step.BOTH)
    assert known.findings == ()
    assert known.summary is not None


def test_both_steps_give_a_host_the_same() -> None:
    first = (SEED / "ostest-master-0.yml").read_text()
    second = (SEED / "br-ex" / "master-0.yml").read_text()
    expected = Shape(frozenset({"192.168.111.110/24"}), frozenset({"192.168.111.1"}), frozenset({"enp2s0"}))
    assert shape_of(block(first)) == shape_of(block(second)) == expected


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"a: \xff\n", "not-text"),
        ("\ufeffa: 1\n".encode(), "not-text"),
        (b"a: [\n", "not-yaml"),
        (b"- a\n", "no-document"),
        (b"baseDomain: example.com\n", "other-tool"),
        (b"a: {{ x }}\n", "template-not-rendered"),
        (b"capture: {}\n", "policy"),
    ],
)
def test_what_cannot_be_judged_further_is_one_finding(content: bytes, rule: str) -> None:
    known = judge("a.yml", content, Step.BOTH)
    assert [each.rule.word for each in known.findings] == [rule]


def test_an_empty_file_asks_for_nothing() -> None:
    known = judge("a.yml", b"# later\n", Step.BOTH)
    assert known.summary is not None
    assert (known.findings, known.summary.empty) == ((), True)


def test_the_steps_have_rules_of_their_own() -> None:
    content = (SEED / "br-ex" / "master-0.yml").read_bytes().replace(b"  copy-mac-from: enp2s0\n", b"")
    found = {step: {each.rule.word for each in judge("a.yml", content, step).findings} for step in Step}
    assert found == {Step.FIRST: {"first-step-open-vswitch"}, Step.SECOND: {"br-ex-mac"}, Step.BOTH: {"br-ex-mac"}}


def test_why_the_first_step_cannot_be_derived_is_said_at_the_bridge() -> None:
    content = (SEED / "br-ex" / "master-0.yml").read_bytes().replace(b"    - name: enp2s0\n", b"")
    (found,) = [each for each in judge("a.yml", content, Step.BOTH).findings if "step" in each.rule.word]
    assert found.cause == ("the first step cannot be derived: bridge br-ex: one link below it is expected, found none")
    assert (found.remedy, found.line) == ("Write this step by hand", 9)
