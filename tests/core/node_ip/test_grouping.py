"""Is the answer the same where thousands of addresses are not looked at one by one?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodenet.core.ip import Family, IPAddress
from nodenet.core.kernel.snapshot import Address, AddressFlag, Link, NextHop, Route, Snapshot
from nodenet.core.node_ip.grouping import FEW, Boundaries, address_groups
from nodenet.core.node_ip.hints import Hint
from nodenet.core.node_ip.last_published import LastPublished
from nodenet.core.node_ip.policy import Policy
from nodenet.core.node_ip.ranking import surroundings
from nodenet.core.node_ip.select import Selection, select

PLACES = {
    4: [
        *("0.0.0.1", "10.0.0.0", "11.0.0.0", "126.255.255.254", "128.0.0.0", "169.254.0.0", "169.255.0.0"),
        *("172.15.255.254", "172.32.0.0", "192.0.2.0", "192.0.2.14", "192.168.0.0", "224.0.0.0", "239.255.255.254"),
    ],
    6: [
        *("::", "::fffe:ffff:fffe", "::ffff:ffff:fffe", "2001:db8::", "2001:db8::e", "2001:db8::fffe", "fbff::"),
        *("fc00::", "fd69::", "fd69::fffe", "fdff:ffff::", "fe7f::", "fe80::", "febf::", "fec0::", "ff00::"),
    ],
}
"""Where something begins, or is about to."""
LENGTHS = {4: (24, 28, 32), 6: (64, 112, 128)}
NONE: frozenset[AddressFlag] = frozenset()
FLAGS = (NONE, *(NONE | {flag} for flag in (AddressFlag.TENTATIVE, AddressFlag.SECONDARY, AddressFlag.DEPRECATED)))


def numbers(version: int) -> st.SearchStrategy[IPAddress]:
    """Give addresses of which many lie close together."""
    places = [int(ip_address(place)) for place in PLACES[version]]
    make = IPv4Address if version == 4 else IPv6Address
    return st.builds(lambda place, offset: make(place + offset), st.sampled_from(places), st.integers(0, 20))


@st.composite
def crowds(draw: st.DrawFn) -> list[Address]:
    """Draw more addresses on one link than are looked at one by one."""
    version = draw(st.sampled_from([4, 6]))
    length, link = draw(st.sampled_from(LENGTHS[version])), draw(st.sampled_from(["eth0", "eth1", "docker0"]))
    flags = draw(st.sampled_from(FLAGS))
    found = draw(st.lists(numbers(version), min_size=FEW + 1, max_size=FEW + 20, unique=True))
    return [Address(address, length, link, flags=flags) for address in found]


@st.composite
def routes(draw: st.DrawFn) -> Route:
    """Draw a default route, or one that a router has advertised."""
    version = draw(st.sampled_from([4, 6]))
    everywhere = ip_network("0.0.0.0/0" if version == 4 else "::/0")
    destination = draw(st.sampled_from([everywhere, everywhere, ip_network("2001:db8::/64"), ip_network("fc00::/120")]))
    if destination.prefixlen:
        return Route(destination, (NextHop("eth0"),), protocol="ra")
    hop = NextHop(draw(st.sampled_from(["eth0", "eth1"])), draw(st.none() | numbers(version)))
    return Route(destination, (hop,), draw(st.sampled_from([100, 101])))


ANY = numbers(4) | numbers(6)
MEANINGS = ANY | st.sampled_from([ip_network("192.0.2.8/29"), ip_network("fc00::/124"), "eth1"])
POLICIES = st.builds(
    Policy,
    api_vips=st.lists(ANY, max_size=2).map(tuple),
    hints=st.lists(MEANINGS.map(lambda meaning: Hint(str(meaning), "here", meaning)), max_size=2).map(tuple),
    hint_required=st.booleans(),
    families=st.sampled_from(["auto", (Family.IPV6,), (Family.IPV6, Family.IPV4)]),
    prefer_ipv6=st.booleans(),
)
LINKS = (Link(2, "eth0"), Link(3, "eth1"), Link(4, "docker0"))


def told(selection: Selection) -> tuple[Selection, list[str]]:
    """Return everything that is said about a selection."""
    return selection, [f"{item} {item.sentence}" for item in selection.candidates]


def one_by_one(addresses: Sequence[Address]) -> tuple[Address, ...]:
    """Return the addresses with a label each: no two of them are alike then, though no rule minds."""
    return tuple(replace(address, label=f"{address.link}:{i}") for i, address in enumerate(addresses))


@given(st.lists(crowds(), min_size=1, max_size=2), st.lists(routes(), max_size=4), POLICIES, st.data())
def test_a_crowd_gets_the_answer_that_each_of_it_would_get(
    several: list[list[Address]], ways: list[Route], policy: Policy, data: st.DataObject
) -> None:
    host = Snapshot(LINKS, tuple({(a.address, a.link): a for crowd in several for a in crowd}.values()), tuple(ways))
    present = st.sampled_from([address.address for address in host.addresses])
    unbindable = frozenset(data.draw(st.lists(present, max_size=3)))
    published = data.draw(st.lists(present | ANY, max_size=2, unique=True))
    sticky = LastPublished(tuple(published), None, "boot", data.draw(st.booleans())) if published else None
    apart = replace(host, addresses=one_by_one(host.addresses))
    assert told(select(host, policy, sticky, unbindable)) == told(select(apart, policy, sticky, unbindable))


def host(prefix_length: int, *places: str, gateway: str | None = None) -> Snapshot:
    """Return a host with nine addresses at each of *places*."""
    found = tuple(Address(ip_address(place) + i, prefix_length, "eth0") for place in places for i in range(9))
    six = ":" in places[0]
    hop = NextHop("eth0", ip_address(gateway) if gateway else None)
    advertised = Route(ip_network("2001:db8:0:1::/64"), (NextHop("eth0"),), protocol="ra")
    return Snapshot(LINKS, found, (Route(ip_network("::/0" if six else "0.0.0.0/0"), (hop,)), advertised))


IN_A_ROW = ("192.0.1.1", "192.0.2.1", "192.0.3.1")
SIX_IN_A_ROW = ("2001:db8::1", "2001:db8:0:1::1", "2001:db8:0:2::1")


@pytest.mark.parametrize(
    ("there", "policy"),
    [
        (host(32, "10.0.0.1", "192.0.2.1", "192.168.0.1"), Policy()),
        (host(24, *IN_A_ROW, gateway="192.0.2.254"), Policy()),
        (host(24, *IN_A_ROW), Policy(api_vips=(ip_address("192.0.2.254"),))),
        (host(24, *IN_A_ROW), Policy(hints=(Hint("", "", ip_address("192.0.2.254")),))),
        (host(24, *IN_A_ROW), Policy(hints=(Hint("", "", ip_network("192.0.2.0/26")),))),
        (host(128, *SIX_IN_A_ROW), Policy(api_vips=(ip_address("2001:db8:0:1::ff"),))),
    ],
    ids=["public", "the gateway's subnet", "a VIP's", "a hint's", "a prefix", "a VIP's by router advertisement"],
)
def test_the_best_amid_a_crowd_is_found(there: Snapshot, policy: Policy) -> None:
    """It is neither the first nor the last."""
    expected = there.addresses[9].address
    assert len(there.addresses) > FEW
    assert select(there, policy).node_ips == (expected,)


def sizes(addresses: Sequence[Address], policy: Policy) -> list[int]:
    """Return how many addresses each stretch has."""
    host = Snapshot(LINKS, tuple(addresses))
    landmarks = Boundaries(policy, surroundings(host, policy), ())
    return [len(part.addresses) for part in address_groups(host, policy, (), landmarks)]


def test_few_stand_for_many() -> None:
    """Otherwise the property above says nothing."""
    many = [Address(IPv4Address("10.0.0.1") + i, 16, "eth0") for i in range(1000)]
    assert sizes(many, Policy()) == [1000]
    # Its subnet is everybody's.
    assert sizes(many, Policy(api_vips=(many[500].address,))) == [500, 1, 499]


def test_those_with_a_peer_are_looked_at_one_by_one() -> None:
    """Subnets are the peer's, not the address's own."""
    peer = IPv4Address("192.0.2.1")
    many = [Address(IPv4Address("10.0.0.1") + i, 32, "eth0", peer=peer) for i in range(FEW + 1)]
    assert sizes(many, Policy()) == [1] * (FEW + 1)
