"""docs/day-one-rules.md has every rule."""

import make_day_one_docs
from nodenet.core.day_one.rules import Rule


def test_the_page_is_made_from_the_rules() -> None:
    page = make_day_one_docs.PAGE.read_text(encoding="utf-8")
    assert make_day_one_docs.page() == page, "run: python tools/make_day_one_docs.py"
    assert [rule.word for rule in Rule if f"`{rule.word}`" not in page] == []
