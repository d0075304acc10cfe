"""What do programs and people read of a plan?"""

from __future__ import annotations

from br_ex_cases import CASES, facts_of
from nodenet.core.br_ex.explain import conditions, explanation, summary
from nodenet.core.br_ex.plan import plan


def test_the_summary_is_one_sentence_about_links_and_one_about_bridges() -> None:
    made = plan(facts_of(CASES / "dhcp4"))
    found = conditions(facts_of(CASES / "dhcp4"), made.uplinks)
    assert summary(made.uplinks, found) == (
        "br-ex goes over eth0, because the node IP 10.88.0.113 is on it. br-ex is not there yet"
    )


def test_the_document_says_nothing_that_is_not_done() -> None:
    """Every part is applied or verified: what was explained only is gone."""
    facts = facts_of(CASES / "dhcp4")
    made = plan(facts)
    document = explanation(made, conditions(facts, made.uplinks))
    assert "finish" not in document
    assert document["carried"] == made.document_with_lease
    assert document["beyond"] == made.nm_properties
    assert [set(each) for each in document["expect"]] == [{"bridge", "addresses", "gateways"}]


def test_the_second_bridge_is_left_out_where_nothing_is_known_of_it() -> None:
    facts = facts_of(CASES / "dhcp4")
    assert [each.bridge for each in conditions(facts)] == ["br-ex"]
    extra = facts_of(CASES / "choice-extra-bridge")
    assert [each.bridge for each in conditions(extra, plan(extra).uplinks)] == ["br-ex", "br-ex1"]
