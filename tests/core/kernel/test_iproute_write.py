"""A snapshot printed as iproute2 does is read back equal."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

from hypothesis import given
from hypothesis import strategies as st

from nodenet.core.ip import Family, family_of
from nodenet.core.kernel.iproute import from_document, to_document
from nodenet.core.kernel.snapshot import (
    IPV6_DEFAULT_METRIC,
    Address,
    AddressFlag,
    Link,
    NextHop,
    Route,
    Snapshot,
)

LINKS = (Link(1, "lo", loopback=True, operstate="UNKNOWN"), Link(2, "eth0", ("enp1s0",), mac="52:54:00:00:00:01"))
ADDRESSES = st.builds(
    Address,
    st.ip_addresses(),
    st.just(24),
    st.sampled_from(("lo", "eth0")),
    flags=st.frozensets(st.sampled_from(AddressFlag), max_size=3),
    preferred_lifetime=st.none() | st.integers(0, 1000),
)
GATEWAYS = {4: (None, ip_address("192.0.2.1")), 6: (None, ip_address("2001:db8::1"))}


@st.composite
def routes(draw: st.DrawFn) -> Route:
    destination = draw(st.sampled_from((ip_network("0.0.0.0/0"), ip_network("::/0"), ip_network("198.51.100.0/24"))))
    hop = st.builds(NextHop, st.just("eth0"), st.sampled_from(GATEWAYS[destination.version]))
    several = tuple(draw(st.lists(hop, min_size=1, max_size=2)))
    metric = draw(st.integers(0 if family_of(destination) is Family.IPV4 else 1, IPV6_DEFAULT_METRIC))
    return Route(destination, several, metric, draw(st.sampled_from(("main", "100"))), "static")


@given(st.lists(ADDRESSES, max_size=4), st.lists(routes(), max_size=3))
def test_what_is_printed_is_read_back(addresses: list[Address], found: list[Route]) -> None:
    by_link = sorted(addresses, key=lambda address: ("lo", "eth0").index(address.link))
    by_family = sorted(found, key=lambda route: route.family is Family.IPV6)
    snapshot = Snapshot(LINKS, tuple(by_link), tuple(by_family))
    assert from_document(to_document(snapshot)) == snapshot


def test_the_mtu_is_read_back() -> None:
    snapshot = Snapshot((Link(1, "eth0", mtu=9000), Link(2, "eth1")))
    assert [link.mtu for link in from_document(to_document(snapshot)).links] == [9000, 0]


def test_the_words_are_those_of_iproute2() -> None:
    route = Route(ip_network("0.0.0.0/0"), (NextHop("eth0", ip_address("192.0.2.1")),), 0, "main", "dhcp")
    (printed,) = to_document(Snapshot((), (), (route,)))["routes"]
    assert printed == {
        "type": "unicast",
        "dst": "default",
        "gateway": "192.0.2.1",
        "dev": "eth0",
        "table": "main",
        "protocol": "dhcp",
        "flags": [],
    }
