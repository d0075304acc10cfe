"""A finding has its place, quotes the value, and is there once."""

from core.day_one.trees import block
from nodenet.core.day_one.rules import Found, Rule, at, misread, of, ordered
from nodenet.core.node_file.finding import Finding, Severity
from nodenet.core.node_file.yaml_text import Misread


def test_a_finding_at_a_value_quotes_it() -> None:
    node = block("a:\n  b: x\n").get("a")
    value = node.get("b") if node is not None and not hasattr(node, "text") else None
    assert value is not None
    found = at(Rule.BAD_MAC, "f.yml", value, "a.b", ("wrong", "Mend it"))
    assert (found.line, found.column, found.value, found.severity) == (2, 6, "x", Severity.ERROR)
    assert found.sentence() == "a.b = x: wrong"


def test_findings_of_a_node_file_keep_place_and_words() -> None:
    (found,) = of(Rule.NMSTATE_KEY, "f.yml", [Finding("wrong", "Mend it", 3, 4, "a", "b")])
    assert found == Found(Rule.NMSTATE_KEY, "f.yml", "wrong", "Mend it", 3, 4, "a", "b")
    (named,) = of(Rule.KEY_TWICE, "f.yml", [Finding("a is there twice", "Mend it", 3, 4, "a", names_its_key=True)])
    assert named.sentence() == "a is there twice"


def test_an_unreadable_text_is_a_template_or_no_yaml() -> None:
    assert misread("f.yml", Misread("f.yml", "a key must be a plain word", "Mend it", 1, 2)).rule is Rule.NOT_YAML
    words = "a placeholder of a template was not filled in"
    assert misread("f.yml", Misread("f.yml", words, "Mend it", 1, 2)).rule is Rule.TEMPLATE


def test_they_are_in_order_and_once() -> None:
    first, second = Found(Rule.NO_DNS, "a", "x", "y", 2), Found(Rule.NO_DNS, "b", "x", "y", 1)
    assert ordered([second, first, second]) == [first, second]
