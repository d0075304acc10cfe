"""Every rule says why it is there."""

from nodenet.core.day_one.rule_texts import WHY
from nodenet.core.day_one.rules import Rule


def test_every_rule_has_its_reason_in_whole_sentences() -> None:
    assert list(WHY) == sorted(WHY, key=lambda rule: list(WHY).index(rule))
    assert set(WHY) == set(Rule)
    assert [rule.word for rule, why in WHY.items() if not why.endswith(".") or len(why) < 20] == []
