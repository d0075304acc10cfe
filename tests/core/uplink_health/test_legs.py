"""A bond that runs on one leg is worth a note: the next cable is the last one."""

from __future__ import annotations

from dataclasses import replace

from nodenet.core.kernel.snapshot import Link, Snapshot
from nodenet.core.uplink_health.health import notes
from nodenet.core.uplink_health.watched import Place

BOND, ETH1, ETH2 = Link(2, "bond0", kind="bond"), Link(3, "eth1", master="bond0"), Link(4, "eth2", master="bond0")
PULLED = replace(ETH2, carrier=False)


def test_a_bond_on_one_leg_is_noted() -> None:
    """Not one whose ports are all there, and not one without any: its own carrier is the problem."""
    place = Place("bond0")
    assert notes(place, ("bond0",), Snapshot(links=(BOND, ETH1, ETH2))) == ()
    assert notes(place, ("bond0",), Snapshot(links=(BOND, ETH1, PULLED))) == (
        "bond0 runs on 1 of 2 ports: eth2 has no carrier",
    )
    assert notes(place, ("bond0",), Snapshot(links=(BOND, replace(ETH1, up=False), PULLED))) == ()
    assert notes(place, ("bond0",), Snapshot()) == ()


def test_so_is_a_bridge_of_open_vswitch_with_several_uplinks() -> None:
    legs = (replace(ETH1, master="ovs-system"), replace(PULLED, master="ovs-system"))
    found = notes(Place("br-ex"), ("eth1", "eth2"), Snapshot(links=legs))
    assert found == ("br-ex runs on 1 of 2 ports: eth2 has no carrier",)
