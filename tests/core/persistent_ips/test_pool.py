from __future__ import annotations

import time
from ipaddress import ip_address, ip_network, summarize_address_range
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodenet.core.ip import IPNetwork
from nodenet.core.persistent_ips.network import Pool


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
