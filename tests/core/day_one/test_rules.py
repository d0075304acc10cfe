"""The names of the rules are what people put into their notes: plain, unique, and the same for ever."""

import pickle
import re

from nodenet.core.day_one.rules import Group, Rule
from nodenet.core.node_file.finding import Severity


def test_names_are_plain_and_unique() -> None:
    words = [rule.word for rule in Rule]
    assert len(set(words)) == len(words)
    assert [word for word in words if not re.fullmatch(r"[a-z]+(-[a-z]+)*", word)] == []


def test_every_group_has_rules_of_both_kinds_somewhere() -> None:
    assert {rule.group for rule in Rule} == set(Group)
    assert {rule.severity for rule in Rule} == set(Severity)


def test_a_rule_travels_between_processes() -> None:
    assert [pickle.loads(pickle.dumps(rule)) for rule in Rule] == list(Rule)  # noqa: S301 - our own bytes
