from __future__ import annotations

import json
import time
from ipaddress import ip_address, ip_interface, ip_network, summarize_address_range
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodenet.core.ip import IPNetwork
from nodenet.core.persistent_ips import cni
from nodenet.core.persistent_ips.book import check, doomed, full
from nodenet.core.persistent_ips.cni import CniError, Code, Request
from nodenet.core.persistent_ips.network import Network, Pool, definition_of, list_allows, name_of, parse
from persistent_ips_story import added, vm
from persistent_ips_world import World, network


def made(**changes: Any) -> Network:
    return parse({"name": "blue", "ipam": {}, "subnets": "192.0.2.0/24", **changes})


def test_a_network_has_a_pool_for_each_subnet() -> None:
    found = made(
        subnets="192.0.2.0/24, 2001:db8::/64",
        excludeSubnets="192.0.2.0/28,192.0.2.16/28",
        allowPersistentIPs=True,
        ipam={"gateway": "192.0.2.99", "routes": [{"dst": "0.0.0.0/0"}]},
    )
    assert found.persistent
    assert [str(pool.subnet) for pool in found.pools] == ["192.0.2.0/24", "2001:db8::/64"]
    assert [[str(one) for one in pool.excluded] for pool in found.pools] == [["192.0.2.0/27"], []]
    addresses = (ip_interface("192.0.2.40/24"), ip_interface("2001:db8::40/64"))
    extras = found.extras(addresses)
    assert (extras.gateways, extras.routes) == ({0: "192.0.2.99"}, ({"dst": "0.0.0.0/0"},))
    for address in ("192.0.2.0/24", "192.0.2.255/24", "192.0.2.255/25", "192.0.2.40/23", "198.51.100.1/24"):
        assert found.pool_of(ip_interface(address)) is None, address


def test_a_subnet_may_grow() -> None:
    """Addresses of the smaller one stay, and are given with the new prefix length."""
    before = (ip_interface("192.0.2.127/30"), ip_interface("2001:db8::7/80"), ip_interface("198.51.100.1/24"))
    found = made(subnets="192.0.2.0/24,2001:db8::/64", ipam={"gateway": "192.0.2.1"})
    assert list(map(str, found.given(before))) == ["192.0.2.127/24", "2001:db8::7/64", "198.51.100.1/24"]
    assert found.extras(before).gateways == {0: "192.0.2.1"}


def test_what_gives_addresses_otherwise_has_another_digest() -> None:
    one = made(subnets=["192.0.2.0/24"], allowPersistentIPs=False)
    assert one.digest == made().digest
    assert one.digest != made(excludeSubnets="192.0.2.0/28").digest
    assert one.digest != made(allowPersistentIPs=True).digest


@pytest.mark.parametrize(
    ("changes", "text", "remedy"),
    [
        (
            {"ipam": {"exclude": ["192.0.2.0/25"]}},
            "ipam has 'exclude', which is not known there",
            "Write excludeSubnets at the top level, beside ipam",
        ),
        (
            {"ipam": {"excludeSubnet": "192.0.2.0/25"}},
            "ipam has 'excludeSubnet', which is not known there",
            "Write excludeSubnets at the top level, beside ipam",
        ),
        (
            {"ipam": {"allowPersistentIPs": True}},
            "ipam has 'allowPersistentIPs', which is not known there",
            "Write allowPersistentIPs at the top level, beside ipam",
        ),
        (
            {"ipam": {"rangeStart": "192.0.2.9"}},
            "ipam has 'rangeStart', which is not known there",
            "Keys of ipam are type, gateway, routes, dns",
        ),
        ({"ipam": {"gatway": "192.0.2.1"}}, "ipam has 'gatway', which is not known there", "Write gateway in ipam"),
        ({"excludeSubnet": "192.0.2.0/25"}, "'excludeSubnet' is not known", "Write excludeSubnets"),
        ({"allowPersistentIps": True}, "'allowPersistentIps' is not known", "Write allowPersistentIPs"),
    ],
)
def test_a_key_that_nothing_reads_is_refused(changes: dict[str, Any], text: str, remedy: str) -> None:
    with pytest.raises(CniError) as caught:
        made(**changes)
    assert (caught.value.code, caught.value.details) == (Code.CONFIGURATION, remedy)
    assert caught.value.text == f"The network configuration is not valid: {text}"


def test_what_no_interface_may_have() -> None:
    found = made(excludeSubnets="192.0.2.0/28", ipam={"gateway": "192.0.2.99"})
    assert found.refusal(ip_interface("192.0.2.40/24")) == ""
    assert found.refusal(ip_interface("192.0.2.99/24")) == "which is a gateway of network blue"
    assert found.refusal(ip_interface("192.0.2.7/24")) == "which excludeSubnets of network blue excludes"
    assert found.refusal(ip_interface("198.51.100.1/24")) == "which is in no subnet of network blue"
    assert [str(one) for one in found.never_given] == ["192.0.2.0/28", "192.0.2.99/32"]


def test_the_list_allows_persistent_ips_at_its_top_level() -> None:
    assert list_allows('{"allowPersistentIPs": true, "plugins": [{"type": "bridge"}]}')
    assert not list_allows('{"plugins": [{"allowPersistentIPs": true}]}')
    assert not list_allows('{"allowPersistentIPs": "true", "plugins": []}')
    assert not list_allows("[[") and not list_allows("[]")  # noqa: PT018
    assert definition_of({"spec": {"config": "{}"}}) == "{}"
    assert definition_of({"spec": []}) == definition_of({}) == ""


def test_the_bridge_plugin_takes_the_first_address_as_gateway() -> None:
    assert str(made(isGateway=True).pools[0].gateway) == "192.0.2.1"
    assert str(made(isDefaultGateway=True, ipam={"gateway": "192.0.2.9"}).pools[0].gateway) == "192.0.2.9"


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"name": "../x"}, "name is '../x'"),
        ({"name": 7}, "name is 7"),
        ({"ipam": None}, "ipam is not an object"),
        ({"subnets": ""}, "subnets is missing"),
        ({"subnets": 7}, "subnets is 7"),
        ({"subnets": "192.0.2.0"}, "subnets has '192.0.2.0', which has no prefix length"),
        (
            {"subnets": "192.0.2.0/255.255.255.0"},
            "subnets has '192.0.2.0/255.255.255.0', which has no prefix length",
        ),
        ({"subnets": "192.0.2.7/24"}, "subnets has '192.0.2.7/24'"),
        ({"subnets": "192.0.2.0/77"}, "subnets has '192.0.2.0/77', which is not a subnet"),
        ({"subnets": "blue/24"}, "subnets has 'blue/24', which is not a subnet"),
        ({"subnets": "10.0.0.0/8"}, "subnets has 10.0.0.0/8"),
        ({"subnets": "192.0.2.0/31"}, "subnets has 192.0.2.0/31"),
        ({"subnets": "2001:db8::/127"}, "subnets has 2001:db8::/127"),
        (
            {"subnets": "::ffff:192.0.2.0/120"},
            "subnets has '::ffff:192.0.2.0/120', an IPv4-mapped or scoped address",
        ),
        ({"subnets": "224.0.0.0/24"}, "subnets has 224.0.0.0/24, whose addresses no interface of a pod can have"),
        ({"subnets": "fe80::/64"}, "subnets has fe80::/64, whose addresses no interface of a pod can have"),
        (
            {"subnets": "192.0.2.0/24,192.0.2.128/25"},
            "subnets has 192.0.2.0/24 and 192.0.2.128/25, which overlap",
        ),
        ({"subnets": ",".join(f"10.{n}.0.0/16" for n in range(17))}, "subnets has 17 entries; 16 are the most"),
        ({"excludeSubnets": "198.51.100.0/24"}, "excludeSubnets has 198.51.100.0/24, which is in none of the subnets"),
        ({"excludeSubnets": "192.0.2.0/24"}, "excludeSubnets leaves no address of 192.0.2.0/24"),
        ({"allowPersistentIPs": "true"}, "allowPersistentIPs is 'true'"),
        ({"ipam": {"gateway": "x"}}, "ipam.gateway has 'x', which is not an address"),
        ({"ipam": {"gateway": "198.51.100.1"}}, "ipam.gateway has 198.51.100.1, which is in none of the subnets"),
        ({"ipam": {"gateway": "192.0.2.1,192.0.2.2"}}, "ipam.gateway has two addresses of 192.0.2.0/24"),
        ({"ipam": {"routes": {}}}, "ipam.routes is not a list of routes"),
        ({"ipam": {"routes": [{"gw": "192.0.2.1"}]}}, "ipam.routes has {'gw': '192.0.2.1'}"),
        ({"ipam": {"routes": [{"dst": "blue/24"}]}}, "ipam.routes has dst 'blue/24', which is not a subnet"),
        ({"ipam": {"routes": [{"dst": "10.0.0.1"}]}}, "ipam.routes has dst '10.0.0.1', which has no prefix length"),
        (
            {"ipam": {"routes": [{"dst": "10.0.0.0/255.0.0.0"}]}},
            "ipam.routes has dst '10.0.0.0/255.0.0.0', which has no prefix length",
        ),
        ({"ipam": {"routes": [{"dst": "10.0.0.0/8", "gw": 7}]}}, "ipam.routes has gw 7, which is not an address"),
        ({"ipam": {"dns": []}}, "ipam.dns is not an object"),
        ({"ipam": {"dns": {"nameservers": "192.0.2.1"}}}, "ipam.dns.nameservers is '192.0.2.1'"),
        ({"ipam": {"dns": {"search": [7]}}}, "ipam.dns.search is [7]"),
        ({"ipam": {"dns": {"domain": 7}}}, "ipam.dns.domain is 7"),
    ],
)
def test_each_mistake_is_named_with_its_key(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(CniError) as caught:
        made(**changes)
    assert caught.value.code is Code.CONFIGURATION
    assert caught.value.text == f"The network configuration is not valid: {text}"


def test_host_bits_are_corrected_in_the_details() -> None:
    with pytest.raises(CniError) as caught:
        made(subnets="192.0.2.7/24")
    assert caught.value.details == "Did you mean 192.0.2.0/24?"


def test_a_name_alone_is_enough_for_gc() -> None:
    assert name_of({"name": "blue"}) == "blue"
    with pytest.raises(CniError):
        name_of({})


def test_dns_is_passed_on() -> None:
    dns = {"domain": "example.com", "nameservers": ["192.0.2.1"], "search": None}
    assert made(ipam={"dns": dns}).dns == dns


@given(st.integers(20, 30), st.text(max_size=10), st.integers(0, 200))
def test_the_candidates_are_every_address_once(length: int, seed: str, excluded: int) -> None:
    subnet = ip_network(f"10.0.0.0/{length}")
    gateway = subnet[1]
    hole = ip_network(f"{subnet[min(excluded, subnet.num_addresses - 1)]}/32")
    pool = Pool(subnet, (hole,), gateway)
    found = list(pool.candidates(seed))
    wanted = set(subnet.hosts()) - {gateway, hole.network_address}
    assert len(found) == len(set(found)) == pool.size
    assert set(found) == wanted


def test_two_owners_begin_elsewhere_and_one_begins_at_the_same() -> None:
    pool = Pool(ip_network("2001:db8::/64"))
    assert next(pool.candidates("a")) == next(pool.candidates("a")) != next(pool.candidates("b"))
    assert len(set(islice(pool.candidates("a"), 1000))) == 1000
    assert all(int(one) - pool.first < 1 << 32 for one in islice(pool.candidates("b"), 100))


@pytest.mark.parametrize(
    ("subnet", "size"),
    [("192.0.2.0/30", 2), ("192.0.2.0/24", 254), ("2001:db8::/126", 3), ("10.0.0.0/9", (1 << 23) - 2)],
)
def test_network_and_broadcast_are_not_given(subnet: str, size: int) -> None:
    assert Pool(ip_network(subnet)).size == size


def test_what_can_be_given() -> None:
    pool = Pool(ip_network("192.0.2.0/29"), (ip_network("192.0.2.4/31"),), ip_address("192.0.2.1"))
    assert [str(one) for one in ip_network("192.0.2.0/29") if pool.has(one)] == ["192.0.2.2", "192.0.2.3", "192.0.2.6"]
    assert not pool.has(ip_address("198.51.100.1"))
    assert str(pool.interface(ip_address("192.0.2.2"))) == "192.0.2.2/29"
    assert pool.size == 3


@pytest.mark.parametrize("subnet", ["10.0.0.0/9", "2001:db8::/64"])
def test_a_large_subnet_with_little_left_takes_no_time(subnet: str) -> None:
    """All but ten addresses are excluded; a loop over the others would stop the service for minutes."""
    first = ip_network(subnet)[0]
    last = Pool(ip_network(subnet)).last
    excluded: list[IPNetwork] = [*summarize_address_range(first + 11, type(first)(last + 1))]
    pool = Pool(ip_network(subnet), tuple(excluded))
    began = time.process_time()
    assert set(pool.candidates("a")) == {first + number for number in range(1, 11)}
    assert pool.size == 10
    assert time.process_time() - began < 1


def request(container: str = "c1", **changes: Any) -> Request:
    configuration = {"cniVersion": "1.1.0", "name": "blue", "ipam": {}, **changes}
    fields = {
        "container_id": container,
        "netns": "/n",
        "ifname": "net1",
        "args": "",
        "config": json.dumps(configuration),
    }
    return cni.parse({"version": 1, "command": "CHECK", **fields})


def test_check_compares_with_the_answer() -> None:
    world = World(1)
    book = world.nodes[0].book
    (address,) = added(world, world.nodes[0], vm(world), "c1")
    check(book, request(prevResult={"ips": [{"address": address}, {"address": "198.51.100.1/24"}]}))
    for wrong, text in (
        (request("c2"), "Interface net1 of container c2 is not attached"),
        (request(), "prevResult is missing: CHECK compares with it"),
        (request(prevResult={"ips": []}), f"prevResult has not {address}, which claim vms/vm has"),
    ):
        with pytest.raises(CniError) as caught:
            check(book, wrong)
        assert caught.value.text == text


def test_gc_finds_what_is_not_valid_of_its_network() -> None:
    world = World(1)
    for number in range(3):
        added(world, world.nodes[0], world.api.put_pod(f"p{number}"), f"c{number}")
    book = world.nodes[0].book
    assert {one.container_id for one in doomed(book, "blue", {("c1", "net1")})} == {"c0", "c2"}
    assert doomed(book, "red", ()) == ()


def test_a_full_pool_is_seen() -> None:
    world = World(1, network(subnets="192.0.2.0/30"))
    book = world.nodes[0].book
    for number in range(2):
        assert full(book, world.network) is None
        added(world, world.nodes[0], world.api.put_pod(f"p{number}"))
    assert full(book, world.network) == world.network.pools[0]
