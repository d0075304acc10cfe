"""How is a snapshot read from the JSON of iproute2, and written as such?"""

from __future__ import annotations

import json
import re
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodenet.core.errors import SnapshotInvalid
from nodenet.core.ip import Family, family_of
from nodenet.core.kernel.iproute import MOST_BYTES, from_document, parse, to_document
from nodenet.core.kernel.snapshot import IPV6_DEFAULT_METRIC, Address, AddressFlag, Link, NextHop, Route, Snapshot

SNAPSHOTS = Path(__file__).parents[3] / "fixtures" / "kernel"


def test_what_iproute2_prints_is_understood() -> None:
    """The file is `ip -j -d`'s own output: links, addresses, and routes of every form."""
    snapshot = parse((SNAPSHOTS / "iproute2-6.1/snapshot.json").read_bytes())
    links = {link.name: link for link in snapshot.links}
    assert links["lo"].loopback
    assert links["eth0"].altnames == ("enp0s1",)
    assert (links["p0"].kind, links["p0"].master) == ("veth", "br9")
    assert not links["br9"].up
    addresses = {str(address.address): address for address in snapshot.addresses}
    assert addresses["192.0.2.9"].label == "eth0:eip"
    assert AddressFlag.SECONDARY in addresses["192.0.2.9"].flags
    assert addresses["10.9.9.1"].peer == ip_address("10.9.9.2")
    assert addresses["2001:db8::6"].preferred_lifetime == 0
    assert addresses["192.0.2.5"].valid_lifetime is None
    ways = {(route.family, route.metric, route.table): route for route in snapshot.routes if route.is_default}
    one, two = ip_address("192.0.2.1"), ip_address("192.0.2.2")
    assert ways[Family.IPV4, 0, "main"].next_hops == (NextHop("eth0", one),)
    assert ways[Family.IPV4, 0, "99"].next_hops == (NextHop("eth0", one),)
    assert ways[Family.IPV4, 100, "main"].next_hops == (NextHop("eth0", one), NextHop("eth0", two))
    assert ways[Family.IPV4, 200, "main"].next_hops == (NextHop("eth0"),)
    assert ways[Family.IPV4, 300, "main"].nexthop_id == 10
    assert ways[Family.IPV4, 306, "main"].next_hops == (NextHop("eth0", ip_address("2001:db8::1")),)
    assert ways[Family.IPV4, 400, "main"] == Route(ip_network("0.0.0.0/0"), (), 400, "main", "boot", "unreachable")
    assert ways[Family.IPV6, 1024, "main"].next_hops == (NextHop("eth0", ip_address("2001:db8::1")),)


def test_addresses_of_other_protocols_are_left_out() -> None:
    """Those that iproute2 names; a family that nobody knows is a mistake."""
    addresses = [{"family": "mpls", "local": "100"}, {"family": "???"}, {"family": "inet", "local": "192.0.2.5"}]
    document = {"addresses": [{"ifname": "eth0", "addr_info": addresses}]}
    assert [str(item.address) for item in from_document(document).addresses] == ["192.0.2.5"]


def test_too_large_a_snapshot_is_refused_unread() -> None:
    with pytest.raises(SnapshotInvalid, match="larger than 32 MiB") as caught:
        parse(b"[" * (MOST_BYTES + 1))
    assert "leave the others out" in caught.value.remedy


def test_keys_may_be_missing() -> None:
    assert parse('{"routes": []}') == Snapshot()
    assert parse('{"links": null, "addresses": [{}]}') == Snapshot()


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("{}", "The snapshot has none of the keys links, addresses, routes, routes6"),
        ('{"interfaces": []}', "The snapshot has none of the keys links, addresses, routes, routes6"),
        ("[]", "The snapshot is a list, but not that of `ip -j address`"),
        ('[{"dst": "default", "dev": "eth0"}]', "The snapshot is a list, but not that of `ip -j address`"),
    ],
)
def test_another_document_is_not_an_empty_host(text: str, cause: str) -> None:
    """An explanation of nothing would look like an answer (R59)."""
    with pytest.raises(SnapshotInvalid) as caught:
        parse(text)
    assert (caught.value.cause, caught.value.remedy) == (
        cause,
        "A snapshot is what `nodenetctl snapshot` or `ip -j address` prints",
    )


def test_the_output_of_ip_address_alone_is_a_snapshot() -> None:
    """With the links that it names, and without routes (R59)."""
    document = [{"ifname": "eth0", "ifindex": 2, "addr_info": [{"local": "192.0.2.5", "prefixlen": 24}]}]
    assert parse(json.dumps(document)) == parse(json.dumps({"addresses": document}))
    assert [str(item.address) for item in parse(json.dumps(document)).addresses] == ["192.0.2.5"]


def test_fields_that_are_missing_get_the_kernels_defaults() -> None:
    document = {
        "addresses": [{"ifname": "eth0", "addr_info": [{"local": "192.0.2.5"}, {"local": "2001:db8::5"}]}],
        "routes": [{"dst": "default", "dev": "eth0"}],
        "routes6": [{"dst": "default", "dev": "eth0"}],
    }
    snapshot = from_document(document)
    (link,) = snapshot.links
    assert (link.index, link.name, link.up, link.carrier) == (1, "eth0", True, True)
    assert [address.prefix_length for address in snapshot.addresses] == [32, 128]
    assert [route.metric for route in snapshot.routes] == [0, 1024]
    assert {route.table for route in snapshot.routes} == {"main"}


@pytest.mark.parametrize(
    ("document", "path", "expected"),
    [
        ("text", "$", "an object"),
        ({"links": {}}, "$.links", "a list"),
        ({"links": [5]}, "$.links[0]", "an object"),
        ({"links": [{"ifname": 7}]}, "$.links[0].ifname", "a string"),
        ({"links": [{"ifindex": 7}]}, "$.links[0].ifname", "a link's name"),
        ({"links": [{"ifname": "eth0", "ifindex": True}]}, "$.links[0].ifindex", "a number"),
        ({"links": [{"ifname": "eth0", "ifindex": -1}]}, "$.links[0].ifindex", "a number from 0"),
        ({"links": [{"ifname": "eth0", "flags": "UP"}]}, "$.links[0].flags", "a list"),
        ({"links": [{"ifname": "eth0", "flags": [1]}]}, "$.links[0].flags[0]", "a string"),
        ({"links": [{"ifname": "eth0", "linkinfo": "veth"}]}, "$.links[0].linkinfo", "an object"),
        (
            {"addresses": [{"ifname": "e", "addr_info": [{}, {"local": 5}]}]},
            "$.addresses[0].addr_info[1].local",
            "a string",
        ),
        (
            {"addresses": [{"ifname": "e", "addr_info": [{"family": "inet", "local": "::1"}]}]},
            "$.addresses[0].addr_info[0].local",
            "an IPv4 address",
        ),
        (
            {"addresses": [{"ifname": "e", "addr_info": [{"family": "inet", "prefixlen": 8}]}]},
            "$.addresses[0].addr_info[0].local",
            "an IPv4 address",
        ),
        (
            {"addresses": [{"ifname": "e", "addr_info": [{"local": "192.0.2.5", "prefixlen": 33}]}]},
            "$.addresses[0].addr_info[0].prefixlen",
            "a number from 0 to 32",
        ),
        (
            {"addresses": [{"ifname": "e", "addr_info": [{"local": "192.0.2.5", "tentative": 1}]}]},
            "$.addresses[0].addr_info[0].tentative",
            "true or false",
        ),
        (
            {"addresses": [{"ifname": "e", "addr_info": [{"family": "inet5", "local": "192.0.2.5"}]}]},
            "$.addresses[0].addr_info[0].family",
            "`inet` or `inet6`",
        ),
        ({"routes": [{"dst": "2001:db8::/64"}]}, "$.routes[0].dst", "an IPv4 prefix"),
        ({"routes6": [{"dst": "default", "metric": "9"}]}, "$.routes6[0].metric", "a number"),
        ({"routes": [{"nexthops": [{"gateway": "x"}]}]}, "$.routes[0].nexthops[0].gateway", "an IPv4 address"),
        ({"routes": [{"via": {"host": 1}}]}, "$.routes[0].via.host", "a string"),
        ({"routes": [{"table": []}]}, "$.routes[0].table", "a string"),
    ],
)
def test_what_is_wrong_is_named_with_its_json_path(document: Any, path: str, expected: str) -> None:
    with pytest.raises(SnapshotInvalid) as caught:
        parse(json.dumps(document))
    assert f" at {path}, " in caught.value.cause
    assert expected in caught.value.cause
    assert caught.value.exit_code == 65


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "not JSON, line 1, column 1, at $:"),
        (b'{"links": [', "not JSON, line 1, column 12, at $.links[0]:"),
        (b'{"links": [], "addresses": [{}, {"addr_info": [{"local": "1', r"at $.addresses[1].addr_info[0].local:"),
        ('{"a b\u202e": ['.encode(), r"at $['a b\u202e'][0]:"),
        (b'{"links": [{"ifname": "a,]}b\\"["}, {"x": 1 2', r"at $.links[1].x:"),
        (b"\xff\xfe{", "not UTF-8, at byte"),
        (b'{"links": ' + b"[" * 100_000, "nested too deeply"),
        (b'{"links": ' + b"9" * 5000 + b"}", "cannot be read"),
        (b'{"links": NaN}', "$.links"),
    ],
)
def test_what_is_no_json_is_refused(text: bytes, words: str) -> None:
    with pytest.raises(SnapshotInvalid, match=re.escape(words)):
        parse(text)


KEYS = (
    *("links", "addresses", "routes", "routes6", "ifname", "ifindex", "flags", "linkinfo", "addr_info", "local"),
    *("prefixlen", "dst", "gateway", "dev", "nexthops", "via", "host", "metric", "table", "nh_info", "family"),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["eth0", "192.0.2.5", "default", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_any_json_is_understood_or_refused(document: Any) -> None:
    try:
        snapshot = from_document(document)
    except SnapshotInvalid:
        return
    to_document(snapshot)


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
