"""What is selection made of, which candidate is the best, and why is another one not?"""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from core.node_ip.test_rules import EXAMPLES
from nodenet.core.ip import Family
from nodenet.core.kernel.iproute import from_document
from nodenet.core.kernel.snapshot import Link, Snapshot
from nodenet.core.node_ip.choice import down, link_state, managed, no_address_yet, own_links, rejected, why_rejected
from nodenet.core.node_ip.last_published import LastPublished
from nodenet.core.node_ip.policy import Policy
from nodenet.core.node_ip.rules import Rule
from nodenet.core.node_ip.select import Selection, select


def host(*rows: tuple[str, str, int]) -> dict[str, object]:
    """Return a snapshot of links (name, address, metric of the default route), in iproute2's form."""
    up = ["UP", "LOWER_UP"]
    return {
        "links": [{"ifindex": i, "ifname": name, "flags": up} for i, (name, _, _) in enumerate(rows, 1)],
        "addresses": [
            {"ifname": name, "addr_info": [{"local": address, "prefixlen": 64 if ":" in address else 24}]}
            for name, address, _ in rows
        ],
        "routes": [{"dst": "default", "dev": name, "metric": metric} for name, _, metric in rows],
        "routes6": [{"dst": "default", "dev": name, "metric": metric} for name, _, metric in rows],
    }


def chosen(document: object, policy: Policy = Policy(), last: LastPublished | None = None) -> Selection:  # noqa: B008
    return select(from_document(document), policy, last)


def test_the_best_leads_and_what_was_published_stays_over_it() -> None:
    two = host(("eth0", "192.0.2.5", 100), ("eth1", "198.51.100.5", 50))
    assert [str(address) for address in chosen(two).node_ips] == ["198.51.100.5"]
    last = LastPublished((ip_address("192.0.2.5"),), None)
    assert chosen(two, last=last).node_ips == last.addresses


def test_a_published_order_of_families_stays() -> None:
    both = host(("eth0", "192.0.2.5", 100), ("eth0", "2001:db8::5", 100))
    wanted = Policy(families=(Family.IPV4, Family.IPV6))
    assert [address.version for address in chosen(both, wanted).node_ips] == [4, 6]
    last = LastPublished((ip_address("2001:db8::5"), ip_address("192.0.2.5")), None, "", this_boot=True)
    assert [address.version for address in chosen(both, wanted, last).node_ips] == [6, 4]


def names(*links: Link) -> list[str]:
    return [link.name for link in own_links(Snapshot(links, (), ()), Policy())]


def test_links_are_listed_by_index() -> None:
    assert names(Link(3, "eth1"), Link(2, "eth0")) == ["eth0", "eth1"]


def test_a_port_leaves_the_address_to_its_bridge_or_bond() -> None:
    assert names(Link(2, "eth0", master="br0"), Link(3, "br0", kind="bridge")) == ["br0"]


def test_a_link_in_a_vrf_keeps_its_address_and_the_vrf_has_none() -> None:
    assert names(Link(2, "eth0", master="blue"), Link(3, "blue", kind="vrf")) == ["eth0"]


def test_loopback_and_denied_links_are_none() -> None:
    assert names(Link(1, "lo", loopback=True), Link(2, "docker0"), Link(3, "ovn-k8s-mp0")) == []


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


def test_links_that_are_down_by_index() -> None:
    """A link without carrier is up; one of Open vSwitch's own is not the node's."""
    links = (
        Link(4, "eth1", up=False),
        Link(3, "eth0", up=False, carrier=False),
        Link(5, "eth2", carrier=False),
        Link(1, "lo", up=False, loopback=True),
        Link(6, "ovs-system", up=False),
    )
    assert down(Snapshot(links=links), Policy()) == ("eth0", "eth1")


def test_a_link_that_may_not_have_the_node_ip_stays_as_it_is() -> None:
    links = (Link(2, "eth0", up=False), Link(3, "ib0", up=False))
    assert down(Snapshot(links=links), Policy(deny_links=("ib*",))) == ("eth0",)


def test_links_of_networkmanager_only() -> None:
    """By the beginning of the state: its reason follows."""
    states = {"eth0": "unavailable (carrier changed)", "eth1": "unmanaged (by its user)", "eth2": "connected"}
    assert managed(("eth0", "eth1", "eth2", "eth3"), states) == ("eth0", "eth2")
