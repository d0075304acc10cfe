"""Is it decided what NetworkManager does on the links of a node file?"""

from __future__ import annotations

import pytest

from nodenet.core.apply.early import LONGEST_PAUSE_SECONDS, are_decided, pause
from nodenet.core.network_manager.objects import Inventory
from nodenet.core.node_file.links import Links

NIC = Links(frozenset({"eth0"}))
BOND = Links(frozenset({"eth0", "eth1"}), made=frozenset({"bond0"}))
LEASED = Links(frozenset({"eth0"}), leased=frozenset({"eth0"}))


def found(*, settled: str = "", automatic: str = "", other: str = "") -> Inventory:
    """Return the devices with these names."""
    names = f"{settled} {automatic} {other}".split()
    ended, asking = frozenset(settled.split()), frozenset(automatic.split())
    return Inventory(states=dict.fromkeys(names, "in some state"), settled=ended, automatic=asking)


@pytest.mark.parametrize(
    ("links", "inventory", "decided"),
    [
        (NIC, found(settled="eth0"), True),
        (NIC, found(settled="eth0", other="eth1"), True),
        (NIC, found(automatic="eth0"), True),
        (NIC, found(other="eth0"), False),
        (NIC, found(settled="eth1"), False),
        (LEASED, found(automatic="eth0"), False),
        (LEASED, found(settled="eth0"), True),
        (BOND, found(automatic="eth0 eth1"), True),
        (BOND, found(automatic="eth0"), False),
        (BOND, found(settled="eth0 eth1", other="bond0"), False),
        (BOND, found(settled="eth0 eth1 bond0"), True),
        (Links(), found(settled="eth0"), False),
        (Links(made=frozenset({"dummy0"})), found(settled="eth0"), False),
    ],
)
def test_every_link_of_the_file_is_decided(links: Links, inventory: Inventory, *, decided: bool) -> None:
    """Activated, failed, or asked a lease for that the file replaces; a link that it makes need not exist."""
    assert are_decided(links, inventory) is decided


def test_the_pause_grows() -> None:
    """The first look comes after three seconds; a NetworkManager that never ends its start costs one look a minute."""
    assert [pause(lasted) for lasted in (0.0, 2.0, 3.0, 20.0, 3600.0)] == [3.0, 1.0, 5.0, 10.0, LONGEST_PAUSE_SECONDS]
