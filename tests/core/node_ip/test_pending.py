"""What is missing for a selection: links that are not there yet, families without an address, VIPs of this host?"""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address

import pytest

from core.node_ip.test_choice import chosen, host
from node_ip_cases import CASES, read_case
from nodenet.core.ip import Family
from nodenet.core.kernel.snapshot import Address, AddressFlag, Link, Snapshot
from nodenet.core.node_ip.last_published import LastPublished
from nodenet.core.node_ip.pending import Pending
from nodenet.core.node_ip.policy import Policy
from nodenet.core.node_ip.select import select


def awaited(case: str) -> tuple[Pending, ...]:
    """Return what is worth a wait in a case of the fixtures."""
    return read_case(CASES / case).selection().pending


@pytest.mark.parametrize("case", ["hint-own-no-carrier", "hint-own-no-carrier-required", "hint-own-first-of-several"])
def test_the_address_of_a_hint_is_waited_for(case: str) -> None:
    """Its link has no carrier: no other address of the subnet takes its place at once, nor does a later hint (R19)."""
    (item,) = awaited(case)
    assert item.link == "eth0"
    assert item.reason == "hint 192.0.2.5 (policy.toml) is on eth0, but eth0 has no carrier"


def test_an_address_that_another_host_has_may_be_corrected() -> None:
    """The hint means it and not its neighbour (R19)."""
    (item,) = awaited("hint-own-duplicate")
    words = "another host has the same address (duplicate address detection failed)"
    assert item.reason == f"hint 2001:db8::5 (policy.toml) is on eth0, but {words}"


def test_a_required_hint_gives_the_reason_of_the_wait() -> None:
    case = read_case(CASES / "hint-own-no-carrier-required")
    assert case.selection().waiting == "hint 192.0.2.5 (policy.toml) is on eth0, but eth0 has no carrier"
    without = replace(case, policy=replace(case.policy, hint_required=False))
    assert without.selection().waiting is None


def test_without_any_link() -> None:
    assert chosen({"links": []}).waiting == "there is no link that could have a node IP"


def test_a_link_without_an_address_and_one_without_carrier() -> None:
    links = [
        {"ifindex": 2, "ifname": "eth0", "flags": ["UP"]},
        {"ifindex": 3, "ifname": "eth1", "flags": ["UP", "LOWER_UP"]},
    ]
    assert chosen({"links": links}).waiting == ("eth1 has carrier, no address yet (DHCP); eth0 has no carrier")


def test_an_address_without_a_route() -> None:
    alone = host(("eth0", "192.0.2.5", 100))
    assert chosen({**alone, "routes": []}).waiting == "192.0.2.5 on eth0: eth0 has no IPv4 default route yet"


def test_more_than_three_reasons_are_counted() -> None:
    links = [{"ifindex": i, "ifname": f"eth{i}", "flags": ["UP"]} for i in range(5)]
    assert chosen({"links": links}).waiting == (
        "eth0 has no carrier; eth1 has no carrier; eth2 has no carrier; and 2 more"
    )


def test_a_family_that_the_settings_name_is_missing() -> None:
    found = chosen(host(("eth0", "192.0.2.5", 100)), Policy(families=(Family.IPV4, Family.IPV6)))
    assert found.missing == (Family.IPV6,)
    assert found.waiting == "IPv6: eth0 has carrier, no IPv6 address yet (router advertisement, DHCPv6)"


def test_a_link_without_carrier_is_said_once() -> None:
    links = [{"ifindex": 2, "ifname": "eth0", "flags": ["UP"]}]
    assert (
        chosen({**host(("eth0", "192.0.2.5", 100)), "links": links}).waiting == "192.0.2.5 on eth0: eth0 has no carrier"
    )


VIP = Address(ip_address("192.0.2.5"), 24, "eth0", label="eth0")
VIP6 = Address(ip_address("2001:db8::5"), 64, "eth0")
OTHER = Address(ip_address("192.0.2.6"), 24, "eth0", label="eth0")
POLICY = Policy(api_vips=(VIP.address,), ingress_vips=(VIP6.address,))


def conflict(*addresses: Address, published: LastPublished | None = None) -> str | None:
    """Return what is wrong with the VIPs of a node that has *addresses* on eth0."""
    return select(Snapshot((Link(2, "eth0"),), addresses), POLICY, published).conflict


def test_a_static_address_of_the_node_is_named_with_its_setting() -> None:
    """A VIP that is the only address of its subnet on the link cannot be keepalived's (R25)."""
    assert conflict(VIP) == "api_vips contains this node's own address 192.0.2.5 (eth0)"
    assert conflict(VIP6) == "ingress_vips contains this node's own address 2001:db8::5 (eth0)"
    both = "api_vips and ingress_vips contain this node's own addresses 192.0.2.5 (eth0) and 2001:db8::5 (eth0)"
    assert conflict(VIP, VIP6) == both


def test_the_conflict_is_a_note_too() -> None:
    """`nodenetctl explain node-ip` prints notes."""
    chosen = select(Snapshot((Link(2, "eth0"),), (VIP,)), POLICY)
    assert chosen.conflict in chosen.notes


@pytest.mark.parametrize(
    "vip",
    [
        replace(VIP, prefix_length=32),
        replace(VIP, label="eth0:vip"),
        replace(VIP6, prefix_length=128),
        replace(VIP6, flags=frozenset({AddressFlag.DEPRECATED})),
        replace(VIP6, preferred_lifetime=0),
    ],
)
def test_what_keepalived_adds_is_no_conflict(vip: Address) -> None:
    """A host address, a label, no preferred lifetime."""
    assert conflict(vip) is None


def test_a_vip_beside_another_address_of_its_subnet_is_no_conflict() -> None:
    """Keepalived needs one there; an address of another subnet or link does not help."""
    assert conflict(VIP, OTHER) is None
    assert conflict(VIP, replace(OTHER, address=ip_address("198.51.100.6")))
    assert conflict(VIP, replace(OTHER, link="eth1"))


def test_once_published_in_this_boot_a_vip_may_be_keepaliveds() -> None:
    """The node's own address may have been lost meanwhile."""
    record = LastPublished((OTHER.address,), this_boot=True)
    assert conflict(VIP, published=record) is None
    assert conflict(VIP, published=replace(record, this_boot=False))
