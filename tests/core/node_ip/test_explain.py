"""A selection as a document for programs and as one sentence."""

from core.node_ip.test_choice import chosen, host
from nodenet.core.node_ip.explain import explanation, summary


def test_every_candidate_has_a_verdict_a_rule_and_a_reason() -> None:
    told = explanation(chosen(host(("eth0", "192.0.2.5", 100), ("eth1", "198.51.100.5", 50))))
    assert (told["schema_version"], told["node_ips"], told["link"]) == (1, ["198.51.100.5"], "eth1")
    assert [(each["address"], each["verdict"], each["rule"]) for each in told["candidates"]] == [
        ("198.51.100.5", "selected", "default-route"),
        ("192.0.2.5", "eligible", "outranked"),
    ]
    assert all(each["reason"] for each in told["candidates"])


def test_without_a_node_ip_the_sentence_says_what_is_waited_for() -> None:
    nothing = chosen({"links": [{"ifindex": 2, "ifname": "eth0", "flags": ["UP"]}]})
    assert summary(nothing) == f"There is no node IP: {nothing.waiting}"
    assert nothing.waiting
