"""Does every case under ``fixtures/node_ip`` come out as written down?"""

from __future__ import annotations

import json
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from random import Random

import pytest

from node_ip_cases import directories, read_case, shuffled, told
from nodenet.core.kernel.snapshot import Address, AddressFlag, Link, NextHop, Route, Snapshot
from nodenet.core.node_ip.explain import explanation, summary
from nodenet.core.node_ip.last_published import LastPublished
from nodenet.core.node_ip.policy import Policy, parse_value
from nodenet.core.node_ip.rules import Rule
from nodenet.core.node_ip.select import select

CASES = pytest.mark.parametrize("directory", directories(), ids=lambda path: path.name)


@CASES
def test_node_ips_and_verdicts_are_as_written_down(directory: Path) -> None:
    expected = json.loads((directory / "expected.json").read_text())
    assert told(read_case(directory).selection()) == expected


@CASES
def test_the_kernels_order_makes_no_difference(directory: Path) -> None:
    case = read_case(directory)
    expected = case.selection()
    chance = Random(directory.name)  # noqa: S311 - a reproducible order, not a secret
    for _ in range(5):
        again = replace(case, snapshot=shuffled(case.snapshot, chance)).selection()
        assert again == expected
        assert explanation(again) == explanation(expected)


def test_every_rule_has_a_case() -> None:
    seen = {rule for directory in directories() for rule in _rules(directory)}
    assert seen == {rule.value for rule in Rule}


def _rules(directory: Path) -> set[str]:
    expected = json.loads((directory / "expected.json").read_text())
    return {verdict.split()[1] for verdict in expected["verdicts"].values()}


def _case(name: str) -> Path:
    return next(path for path in directories() if path.name == name)


def test_the_summary_is_one_sentence_a_person_can_repeat() -> None:
    chosen = read_case(_case("vip-subnet")).selection()
    assert summary(chosen) == "198.51.100.5 on eth1, because VIP 198.51.100.100 is in its subnet"
    nothing = read_case(_case("wait-dhcp")).selection()
    assert summary(nothing) == "There is no node IP: eth0 has carrier, no address yet (DHCP)"


def test_the_document_has_the_promised_keys() -> None:
    document = explanation(read_case(_case("vip-subnet")).selection())
    assert document["schema_version"] == 1
    assert document["node_ips"] == ["198.51.100.5"]
    assert (document["link"], document["matches_vip"], document["remote_worker"]) == ("eth1", True, False)
    first = document["candidates"][0]
    assert first["address"] == "198.51.100.5"
    assert (first["prefix_length"], first["link"]) == (24, "eth1")
    assert (first["verdict"], first["rule"]) == ("selected", "vip-subnet")


@pytest.mark.parametrize(
    ("case", "address", "sentence"),
    [
        ("lower-metric-wins", "192.0.2.5", "198.51.100.5 has the lower metric (100, not 200)"),
        ("equal-metric-lower-index", "198.51.100.5", "192.0.2.5 has the lower link index"),
        ("gateway-in-prefix-first", "192.0.2.5", "10.0.0.5 has the gateway in its subnet"),
        ("public-before-private", "10.0.0.5", "203.0.113.5 has a public address"),
        ("primary-before-secondary", "192.0.2.5", "192.0.2.77 has the primary address of its subnet"),
        ("hint-several-in-order", "192.0.2.5", "198.51.100.5 has an earlier hint"),
        ("same-link-before-better-metric", "2001:db8:1::5", "2001:db8::5 is on the same link as 192.0.2.5"),
        ("sticky-keeps-over-rank", "192.0.2.5", "198.51.100.5 is the last node IP and still eligible"),
        ("hint-own-address", "192.0.2.5", "hint 192.0.2.9 (policy.toml) matches 192.0.2.9 instead"),
        ("reject-no-carrier", "198.51.100.5", "eth1 has no carrier"),
    ],
)
def test_who_lost_is_told_why(case: str, address: str, sentence: str) -> None:
    candidates = read_case(_case(case)).selection().candidates
    assert next(item.sentence for item in candidates if item.address == ip_address(address)) == sentence


def test_an_address_whose_link_is_unknown_does_not_crash() -> None:
    """Addresses and links are read one after the other: a link may have gone in between."""
    selection = select(Snapshot(addresses=(Address(ip_address("192.0.2.5"), 24, "gone"),)), Policy())
    assert selection.node_ips == ()


def test_what_is_published_survives_passing_troubles_only() -> None:
    """In the boot that published it, deprecation does not drop an address; a failed detection does."""
    address = Address(ip_address("2001:db8::5"), 64, "eth0", preferred_lifetime=0)
    route = Route(read_case(_case("default-route-ipv6")).snapshot.routes[0].destination, (NextHop("eth0"),))
    record = LastPublished((address.address,), this_boot=True)
    here = Snapshot((Link(2, "eth0"),), (address,), (route,))
    assert select(here, Policy(), record).node_ips == (address.address,)
    assert select(here, Policy(), replace(record, this_boot=False)).node_ips == ()
    failed = replace(address, flags=frozenset({AddressFlag.DAD_FAILED}))
    assert select(replace(here, addresses=(failed,)), Policy(), record).node_ips == ()


@pytest.mark.parametrize(
    ("hint", "this_boot", "noted"),
    [("198.51.100.5", True, True), ("198.51.100.5", False, False), ("192.0.2.5", True, False)],
)
def test_a_hint_that_the_next_boot_will_follow_is_noted(hint: str, this_boot: bool, noted: bool) -> None:  # noqa: FBT001
    """This boot keeps what kubelet runs with."""
    snapshot = read_case(_case("vip-subnet")).snapshot
    policy = Policy(hints=parse_value(hint, "settings").hints)
    last = LastPublished((ip_address("192.0.2.5"),), this_boot=this_boot)
    found = select(snapshot, policy, last)
    assert found.node_ips[0] == ip_address("192.0.2.5" if this_boot else hint)
    said = "the next boot would select 198.51.100.5 on eth1, by hint 198.51.100.5 (settings)"
    assert any(note.startswith(said) for note in found.notes) is noted
