"""Is a VIP on the node its own address, or keepalived's?"""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address

import pytest

from nodenet.core.kernel.snapshot import Address, AddressFlag, Link, Snapshot
from nodenet.core.node_ip.last_published import LastPublished
from nodenet.core.node_ip.policy import Policy
from nodenet.core.node_ip.select import select

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
