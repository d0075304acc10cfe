"""Does docs/br-ex.md say what the code does?"""

from __future__ import annotations

from make_bridge_docs import BLOCKS, CHOICES, FINDINGS, OWNERS, PAGE
from make_docs import made
from nodenet.core.br_ex.condition import Owner, Rule
from nodenet.core.br_ex.uplink import UplinkRule


def test_the_tables_are_those_of_the_fixtures() -> None:
    """`python tools/make_bridge_docs.py` writes them."""
    page = PAGE.read_text(encoding="utf-8")
    assert made(page, BLOCKS) == page
    for name in BLOCKS:
        assert page.count(f"<!-- {name}: made from the fixtures -->") == 1
        assert made(page, {**BLOCKS, name: lambda: "another one"}) != page


def test_every_rule_is_told() -> None:
    assert list(CHOICES) == list(UplinkRule)
    assert list(FINDINGS) == list(Rule)
    assert list(OWNERS) == list(Owner)
