"""What may still come before the first choice: a family from a router or DHCP server, or a link that is not done."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address

import pytest

from core.node_ip.test_choice import chosen, host
from nodenet.core.ip import Family
from nodenet.core.kernel.iproute import from_document
from nodenet.core.kernel.snapshot import Snapshot
from nodenet.core.network_manager.objects import Inventory
from nodenet.core.node_ip.patience import rivals, unanswered
from nodenet.core.node_ip.policy import Policy
from nodenet.core.node_ip.select import select


@pytest.mark.parametrize(
    ("addresses", "families", "lacking"),
    [
        (["192.0.2.5", "fe80::1"], "auto", Family.IPV6),  # a router may answer
        (["192.0.2.5"], "auto", None),  # without a link-local address no router was asked
        (["2001:db8::5", "fe80::1"], "auto", Family.IPV4),  # a DHCP server may answer
        (["192.0.2.5", "2001:db8::5"], "auto", None),
        (["192.0.2.5", "fe80::1"], (Family.IPV4,), None),
    ],
)
def test_a_family_that_a_server_may_still_give(
    addresses: list[str], families: tuple[Family, ...] | str, lacking: Family | None
) -> None:
    document = host(*(("eth0", address, 100) for address in addresses))
    policy = Policy(families=families)  # type: ignore[arg-type]
    selection = chosen(document, policy)
    assert unanswered(from_document(document), policy, selection) is lacking


def found(*activating: str, automatic: tuple[str, ...] = (), settled: tuple[str, ...] = ("eth1",)) -> Inventory:
    links = frozenset(activating)
    return Inventory(settled=frozenset(settled), activating=links, automatic=frozenset(automatic))


def three() -> Snapshot:
    """Return a host with an address on the second of three links."""
    snapshot = from_document(host(("eth1", "192.0.2.5", 100)))
    (eth1,) = (link for link in snapshot.links if link.name == "eth1")
    others = (replace(eth1, index=eth1.index - 1, name="eth0"), replace(eth1, index=eth1.index + 1, name="eth2"))
    return replace(snapshot, links=(eth1, *others))


@pytest.mark.parametrize(
    ("inventory", "starting", "waited_for"),
    [
        (found("eth0"), False, ["eth0"]),  # before the chosen one: its default route is the better one
        (found("eth2", automatic=("eth2",)), False, []),  # a storage NIC without a DHCP server
        (found("eth2"), False, ["eth2"]),  # an administrator's profile may have the lower metric
        (found(), True, ["eth0"]),  # NetworkManager has not got to it yet
        (found(settled=("eth0", "eth1")), True, []),
        (replace(found(), states={"eth0": "unmanaged"}), True, []),
        (found(), False, []),  # its start is over: there is nothing to come
    ],
)
def test_a_link_that_is_not_settled_is_waited_for_if_it_may_win(
    inventory: Inventory, waited_for: list[str], *, starting: bool
) -> None:
    snapshot, policy = three(), Policy()
    selection = select(snapshot, policy)
    assert rivals(snapshot, policy, selection, inventory, starting=starting) == waited_for


def test_a_wish_that_nothing_meets_may_be_met_by_any_link() -> None:
    """Where a VIP or hint asks for a path, the order of the links does not matter."""
    snapshot, inventory = three(), found("eth2", automatic=("eth2",))
    for vip, waited_for in (("198.51.100.1", ["eth2"]), ("192.0.2.1", [])):
        policy = Policy(api_vips=(ip_address(vip),))
        assert rivals(snapshot, policy, select(snapshot, policy), inventory, starting=False) == waited_for
