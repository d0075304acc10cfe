"""The order of preference, one place of the tuple at a time; the cases under ``fixtures/node_ip`` have the rest."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from core.node_ip.test_choice import host
from nodenet.core.kernel.iproute import from_document
from nodenet.core.kernel.snapshot import Snapshot
from nodenet.core.node_ip.policy import Policy, parse_value
from nodenet.core.node_ip.ranking import (
    KEY_NAMES,
    Path,
    Ranked,
    best_first,
    exact_hints,
    ranked,
    surroundings,
    vip_lengths,
)
from nodenet.core.node_ip.rules import cases

TWO = from_document(host(("eth0", "10.0.0.5", 100), ("eth1", "192.0.2.5", 100)))


def places(snapshot: Snapshot, policy: Policy = Policy()) -> list[Ranked]:  # noqa: B008
    around = surroundings(snapshot, policy)
    return sorted((ranked(case, around) for case in cases(snapshot, policy, frozenset())), key=best_first)


def first(snapshot: Snapshot, policy: Policy = Policy()) -> str:  # noqa: B008
    return str(places(snapshot, policy)[0].address.address)


def hinted(text: str) -> Policy:
    return Policy(hints=parse_value(text, "a test").hints)


def test_a_hint_outranks_a_vip_and_a_vip_the_default_route() -> None:
    with_vip = Policy(api_vips=(ip_address("192.0.2.2"),))
    assert [place.path for place in places(TWO, with_vip)] == [Path.VIP, Path.DEFAULT_ROUTE]
    assert first(TWO, with_vip) == "192.0.2.5"
    assert first(TWO, hinted("eth0")) == "10.0.0.5"
    assert [place.path for place in places(TWO, hinted("10.0.0.0/24"))] == [Path.HINT, Path.DEFAULT_ROUTE]


@pytest.mark.parametrize(
    ("rows", "best"),
    [
        ((("eth0", "192.0.2.5", 100), ("eth1", "198.51.100.5", 50)), "198.51.100.5"),  # metric
        ((("eth0", "10.0.0.5", 100), ("eth1", "192.0.2.5", 100)), "10.0.0.5"),  # link index, before public
    ],
)
def test_the_tuple_decides_from_its_first_place_on(rows: tuple[tuple[str, str, int], ...], best: str) -> None:
    assert first(from_document(host(*rows))) == best


def test_every_place_of_the_tuple_has_a_name() -> None:
    assert {len(place.key) for place in places(TWO)} == {len(KEY_NAMES)}


def test_a_hint_that_is_an_address_of_this_host_means_it_alone() -> None:
    (hint,) = parse_value("192.0.2.5", "a test").hints
    assert exact_hints(Policy(hints=(hint,)), [ip_address("192.0.2.5")]) == {hint}
    assert exact_hints(Policy(hints=(hint,)), [ip_address("192.0.2.6")]) == frozenset()


def test_a_full_length_ipv6_address_has_the_subnets_of_router_advertisements() -> None:
    document = host(("eth0", "2001:db8::5", 100))
    document["addresses"][0]["addr_info"][0]["prefixlen"] = 128  # type: ignore[index]
    document["routes6"] = [{"dst": "2001:db8::/64", "dev": "eth0", "protocol": "ra"}]
    snapshot = from_document(document)
    assert set(vip_lengths(snapshot.addresses[0], surroundings(snapshot, Policy()))) == {64}
