"""docs/day-one.md shows every rule as it is."""

import make_day_one_docs
from nodenet.core.day_one.rules import Rule


def test_the_page_is_made_from_the_rules() -> None:
    page = make_day_one_docs.PAGE.read_text()
    assert make_day_one_docs.made(page) == page, "run: python tools/make_day_one_docs.py"
    assert [rule.word for rule in Rule if f"#### {rule.word}\n" not in page] == []
