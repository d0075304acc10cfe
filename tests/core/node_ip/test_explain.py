"""Why was an address chosen, in words, and how do two selections differ?"""

from core.node_ip.test_choice import chosen, host
from nodenet.core.node_ip.explain import compare, difference_summary, document, explanation, summary


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


ONE = chosen(host(("eth0", "192.0.2.5", 100)))
TWO = chosen(host(("eth0", "192.0.2.5", 100), ("eth1", "198.51.100.5", 50)))


def test_nothing_changes() -> None:
    found = compare(ONE, ONE)
    assert (found.equal, difference_summary(found)) == (True, "Nothing changes: the node IPs are 192.0.2.5")


def test_a_better_address_changes_the_node_ip() -> None:
    found = compare(ONE, TWO)
    assert difference_summary(found) == "The node IPs change from 192.0.2.5 to 198.51.100.5"
    told = document(found)
    assert (told["equal"], told["node_ips"]) == (False, {"before": ["192.0.2.5"], "after": ["198.51.100.5"]})
    assert [(change["address"], change["before"] is None) for change in told["changes"]] == [
        ("192.0.2.5", False),
        ("198.51.100.5", True),
    ]


def test_a_worse_address_changes_a_verdict_only() -> None:
    worse = chosen(host(("eth0", "192.0.2.5", 100), ("eth1", "198.51.100.5", 200)))
    assert difference_summary(compare(ONE, worse)) == "The node IPs stay 192.0.2.5; 1 verdict changes"
