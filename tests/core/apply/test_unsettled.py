"""Which links of a node file NetworkManager still activates."""

from __future__ import annotations

import pytest

from nodenet.core.apply.unsettled import GRACE_SECONDS, SETTLE_SECONDS, reason, unsettled
from nodenet.core.network_manager.objects import Inventory
from nodenet.core.node_file.links import Links

NIC = Links(frozenset({"eth0"}))
BOND = Links(frozenset({"eth0", "eth1"}), made=frozenset({"bond0"}))
LEASED = Links(frozenset({"eth0"}), leased=frozenset({"eth0"}))
PRESENT = frozenset({"eth0", "eth1"})
ASKS = "getting its IP configuration"


def found(*, settled: str = "", automatic: str = "", other: str = "", idle: str = "") -> Inventory:
    """Return the devices with these names; *other* are activated with a profile on disk."""
    states = dict.fromkeys(f"{settled} {automatic} {other}".split(), ASKS)
    states |= dict.fromkeys(idle.split(), "unavailable (no carrier)")
    return Inventory(states=states, settled=frozenset(settled.split()), automatic=frozenset(automatic.split()))


@pytest.mark.parametrize(
    ("links", "inventory", "waited"),
    [
        (NIC, found(settled="eth0", other="eth1"), ""),
        (NIC, found(automatic="eth0"), ""),
        (LEASED, found(automatic="eth0"), "eth0"),
        (NIC, found(other="eth0"), "eth0"),
        (NIC, found(idle="eth0"), ""),
        (NIC, found(settled="eth1"), ""),
        (BOND, found(settled="eth0 eth1"), ""),
        (BOND, found(settled="eth0 eth1", other="bond0"), "bond0"),
        (Links(frozenset({"ens3"})), found(automatic="eth0"), ""),
    ],
    ids=[
        *("another link", "a lease that the file does not want", "a lease that it wants", "a profile on disk"),
        *("no carrier", "not managed", "a new bond", "a bond", "no such link"),
    ],
)
def test_links_that_are_waited_for(links: Links, inventory: Inventory, waited: str) -> None:
    assert unsettled(links, inventory, PRESENT, GRACE_SECONDS) == frozenset(waited.split())


def test_network_manager_may_take_a_moment_to_begin() -> None:
    """And a DHCP server to answer: without a gateway before the apply a file could not be judged."""
    for inventory in (found(), found(idle="eth0"), found(automatic="eth0")):
        assert unsettled(NIC, inventory, PRESENT, GRACE_SECONDS - 1) == {"eth0"}
    assert unsettled(NIC, found(settled="eth0"), PRESENT, 0.0) == frozenset()


def test_no_link_is_waited_for_without_end() -> None:
    """A DHCP client may have no time-out."""
    assert unsettled(NIC, found(other="eth0"), PRESENT, SETTLE_SECONDS - 1) == {"eth0"}
    assert unsettled(NIC, found(other="eth0"), PRESENT, SETTLE_SECONDS) == frozenset()


def test_the_links_are_named() -> None:
    assert reason({"eth1", "eth0"}) == "NetworkManager, which still activates eth0, eth1"
