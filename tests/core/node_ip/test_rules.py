"""The rules that reject an address, each by one plain example; the cases under ``fixtures/node_ip`` have the rest."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address

import pytest

from nodenet.core.ip import Family
from nodenet.core.kernel.snapshot import Address, AddressFlag, Link
from nodenet.core.node_ip.policy import Policy
from nodenet.core.node_ip.rules import PASSING, REJECTIONS, Case, Rule, rejection

ETH0 = Link(2, "eth0")


def case(text: str, link: Link = ETH0, policy: Policy = Policy(), **fields: object) -> Case:  # noqa: B008
    address = replace(Address(ip_address(text), 64 if ":" in text else 24, link.name), **fields)  # type: ignore[arg-type]
    return Case(address, int(address.address), link, policy, frozenset())


def flagged(text: str, flag: AddressFlag) -> Case:
    return case(text, flags=frozenset({flag}))


EXAMPLES = {
    Rule.UNSPECIFIED: case("::"),
    Rule.LOOPBACK: case("127.0.0.1"),
    Rule.MULTICAST: case("224.0.0.1"),
    Rule.IPV4_MAPPED: case("::ffff:192.0.2.5"),
    Rule.LINK_LOCAL: case("fe80::1"),
    Rule.DENIED_LINK: case("192.0.2.5", Link(3, "docker0")),
    Rule.VIP: case("192.0.2.2", policy=Policy(api_vips=(ip_address("192.0.2.2"),))),
    Rule.EGRESS_IP: case("192.0.2.5", label="eth0:eip"),
    Rule.OVN_INTERNAL: case("fd69::2"),
    Rule.UNWANTED_FAMILY: case("192.0.2.5", policy=Policy(families=(Family.IPV6,))),
    Rule.LINK_DOWN: case("192.0.2.5", Link(2, "eth0", carrier=False)),
    Rule.DAD_FAILED: flagged("2001:db8::5", AddressFlag.DAD_FAILED),
    Rule.TENTATIVE: flagged("2001:db8::5", AddressFlag.TENTATIVE),
    Rule.TEMPORARY: flagged("2001:db8::5", AddressFlag.TEMPORARY),
    Rule.DEPRECATED: case("2001:db8::5", preferred_lifetime=0),
    Rule.NOT_BINDABLE: case("192.0.2.5")._replace(unbindable=frozenset({ip_address("192.0.2.5")})),
}


def test_every_rejection_has_its_example() -> None:
    assert set(EXAMPLES) == {rule for rule, _ in REJECTIONS}


@pytest.mark.parametrize("rule", EXAMPLES, ids=str)
def test_a_rule_rejects_its_example(rule: Rule) -> None:
    assert rejection(EXAMPLES[rule]) is rule


@pytest.mark.parametrize("text", ["192.0.2.5", "10.0.0.5", "2001:db8::5", "fd00::5"])
def test_a_plain_address_passes(text: str) -> None:
    assert rejection(case(text)) is None


def test_an_optimistic_address_is_usable() -> None:
    flags = frozenset({AddressFlag.TENTATIVE, AddressFlag.OPTIMISTIC})
    assert rejection(case("2001:db8::5", flags=flags)) is None


def test_a_published_address_survives_what_may_pass() -> None:
    assert {Rule.LINK_DOWN, Rule.TENTATIVE, Rule.DEPRECATED} == PASSING
