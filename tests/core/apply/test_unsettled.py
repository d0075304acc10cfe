"""Which links of a node file NetworkManager still activates."""

from __future__ import annotations

import pytest

from nodenet.core.apply.awaited_links import GRACE_SECONDS, SETTLE_SECONDS, unsettled, unsettled_reason
from nodenet.core.network_manager.objects import Inventory
from nodenet.core.node_file.links import Links

NIC = Links(frozenset({"eth0"}))
BOND = Links(frozenset({"eth0", "eth1"}), made=frozenset({"bond0"}), leased=frozenset({"bond0"}))
LEASED = Links(frozenset({"eth0"}), leased=frozenset({"eth0"}))
PRESENT = frozenset({"eth0", "eth1"})
ASKS = "getting its IP configuration"


def found(*, settled: str = "", asks: str = "", idle: str = "") -> Inventory:
    """Return the devices with these names; those that *asks* names wait for a lease."""
    states = dict.fromkeys(f"{settled} {asks}".split(), ASKS)
    states |= dict.fromkeys(idle.split(), "unavailable (no carrier)")
    return Inventory(states=states, settled=frozenset(settled.split()))


@pytest.mark.parametrize(
    ("links", "inventory", "waited"),
    [
        (NIC, found(settled="eth0", asks="eth1"), ""),
        (NIC, found(asks="eth0"), ""),
        (LEASED, found(asks="eth0"), "eth0"),
        (LEASED, found(idle="eth0"), ""),
        (LEASED, found(settled="eth1"), ""),
        (BOND, found(settled="eth0 eth1"), ""),
        (BOND, found(settled="eth0 eth1", asks="bond0"), "bond0"),
        (Links(frozenset({"ens3"}), leased=frozenset({"ens3"})), found(asks="eth0"), ""),
    ],
    ids=[
        *("another link", "a lease that the file does not want", "a lease that it wants", "no carrier"),
        *("not managed", "a new bond", "a bond", "no such link"),
    ],
)
def test_links_that_are_waited_for(links: Links, inventory: Inventory, waited: str) -> None:
    assert unsettled(links, inventory, PRESENT, GRACE_SECONDS) == frozenset(waited.split())


def test_network_manager_may_take_a_moment_to_begin() -> None:
    """And a DHCP server to answer: without a gateway before the apply a file could not be judged."""
    for inventory in (found(), found(idle="eth0"), found(asks="eth0")):
        assert unsettled(NIC, inventory, PRESENT, GRACE_SECONDS - 1) == {"eth0"}
    assert unsettled(NIC, found(settled="eth0"), PRESENT, 0.0) == frozenset()


def test_every_link_of_a_file_in_force_is_waited_for() -> None:
    """It is compared once its links are as they are to be."""
    assert unsettled(NIC, found(asks="eth0 eth1"), PRESENT, GRACE_SECONDS, in_force=True) == {"eth0"}
    assert unsettled(NIC, found(idle="eth0"), PRESENT, GRACE_SECONDS, in_force=True) == frozenset()


def test_no_link_is_waited_for_without_end() -> None:
    """A DHCP client may have no time-out."""
    assert unsettled(LEASED, found(asks="eth0"), PRESENT, SETTLE_SECONDS - 1) == {"eth0"}
    assert unsettled(LEASED, found(asks="eth0"), PRESENT, SETTLE_SECONDS) == frozenset()


def test_the_links_are_named() -> None:
    assert unsettled_reason({"eth1", "eth0"}) == "NetworkManager, which still activates eth0, eth1"
