"""Does docs/node-ip.md say what the code does?"""

from __future__ import annotations

from differences import DIFFERENCES, differs
from make_docs import BLOCKS, PAGE, RANKED, REJECTED, made
from node_ip_cases import directories, read_case
from nodenet.core.node_ip.rules import REJECTIONS, Rule


def test_the_tables_are_those_of_the_fixtures() -> None:
    """`python tools/make_docs.py` writes them."""
    page = PAGE.read_text(encoding="utf-8")
    assert made(page) == page
    for name in BLOCKS:
        assert page.count(f"<!-- {name}: made from the fixtures -->") == 1
        assert made(page, {**BLOCKS, name: lambda: "another one"}) != page


def test_every_rule_that_rejects_and_every_place_of_the_rank_is_told() -> None:
    assert list(REJECTED) == [rule for rule, _ in REJECTIONS]
    page = made(PAGE.read_text(encoding="utf-8"))
    assert all(f"| {place} " in page for place, _, _ in RANKED)


def test_every_rule_stands_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [rule for rule in Rule if f"`{rule}`" not in page] == []


def test_every_case_in_which_the_old_tool_answers_otherwise_is_told_once_and_no_other() -> None:
    told = [case for difference in DIFFERENCES for case in difference.cases]
    assert sorted(told) == [path.name for path in directories() if differs(read_case(path))]
