"""The sentences of verdicts: whole, as an administrator reads them."""

import pytest

from core.node_ip.test_choice import chosen, host
from core.node_ip.test_rules import EXAMPLES
from nodenet.core.ip import Family
from nodenet.core.kernel.snapshot import Link
from nodenet.core.node_ip.choice import link_state, no_address_yet, rejected, why_rejected
from nodenet.core.node_ip.policy import Policy
from nodenet.core.node_ip.rules import Rule


@pytest.mark.parametrize("rule", EXAMPLES, ids=str)
def test_every_rejection_has_one_printable_sentence(rule: Rule) -> None:
    sentence = why_rejected(EXAMPLES[rule], rule)
    assert sentence.isprintable()
    assert not sentence.endswith(".")
    assert rejected(EXAMPLES[rule], rule).endswith(f": {sentence}")


def test_the_state_of_a_link() -> None:
    links = (Link(1, "eth0"), Link(1, "eth0", carrier=False), Link(1, "eth0", up=False))
    assert [link_state(link) for link in links] == ["eth0 has carrier", "eth0 has no carrier", "eth0 is down"]


def test_what_a_link_without_an_address_may_get() -> None:
    link = Link(1, "eth0")
    assert [no_address_yet(link, family) for family in (Family.IPV4, Family.IPV6, None)] == [
        "eth0 has carrier, no IPv4 address yet (DHCP)",
        "eth0 has carrier, no IPv6 address yet (router advertisement, DHCPv6)",
        "eth0 has carrier, no address yet (DHCP)",
    ]


def test_why_one_is_selected_and_the_other_is_not() -> None:
    two = host(("eth0", "192.0.2.5", 100), ("eth1", "198.51.100.5", 50))
    told = {str(item.address): item.sentence for item in chosen(two).candidates}
    assert told == {
        "198.51.100.5": "eth1 has the IPv4 default route with the best metric (50)",
        "192.0.2.5": "198.51.100.5 has the lower metric (50, not 100)",
    }
    alone = host(("eth0", "192.0.2.5", 100))
    (only,) = chosen({**alone, "routes": []}).candidates
    assert only.sentence == "eth0 has no IPv4 default route"
    required = chosen(two, Policy(hint_required=True))
    assert {item.sentence for item in required.candidates} == {"hint_required is set and no hint matches it"}
