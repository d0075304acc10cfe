"""What may still come before the first choice: a family from a router or DHCP server, or a link that is not done."""

import pytest

from core.node_ip.test_choice import chosen, host
from nodenet.core.ip import Family
from nodenet.core.kernel.iproute_read import from_document
from nodenet.core.node_ip.first_boot import unanswered, undecided_links
from nodenet.core.node_ip.policy import Policy


@pytest.mark.parametrize(
    ("addresses", "families", "lacking"),
    [
        (["192.0.2.5", "fe80::1"], "auto", Family.IPV6),  # a router may answer
        (["192.0.2.5"], "auto", None),  # without a link-local address no router was asked
        (["2001:db8::5", "fe80::1"], "auto", Family.IPV4),  # a DHCP server may answer
        (["192.0.2.5", "2001:db8::5"], "auto", None),
        (["192.0.2.5", "fe80::1"], (Family.IPV4,), None),
    ],
)
def test_a_family_that_a_server_may_still_give(
    addresses: list[str], families: tuple[Family, ...] | str, lacking: Family | None
) -> None:
    document = host(*(("eth0", address, 100) for address in addresses))
    policy = Policy(families=families)  # type: ignore[arg-type]
    selection = chosen(document, policy)
    assert unanswered(from_document(document), policy, "eth0", selection.selected) is lacking


def test_a_link_without_address_or_route_may_still_become_the_better_one() -> None:
    document = host(("eth0", "192.0.2.5", 100))
    document["links"] = [*document["links"], {"ifindex": 9, "ifname": "eth1", "flags": ["UP", "LOWER_UP"]}]  # type: ignore[misc]
    snapshot, policy = from_document(document), Policy()
    assert undecided_links(snapshot, policy, chosen(document).selected) == ("eth1",)
    done = host(("eth0", "192.0.2.5", 100), ("eth1", "198.51.100.5", 200))
    assert undecided_links(from_document(done), policy, chosen(done).selected) == ()
