"""A link that takes the place of another one below a bridge has its port number at once, and is shown to the switch."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network

import pytest

from fakes import FakeFiles, FakeKernel, FakeNeighbours, FakeOvsdb, FakeProfiles
from nodenet.core.kernel.snapshot import Link, NextHop, Route, Snapshot
from nodenet.core.network_manager.objects import Inventory
from nodenet.core.network_manager.profiles import KEYFILES, MADE_BY_NM, Device, Profile
from nodenet.core.open_vswitch import OvsBridge, OvsInterface, OvsPort, render
from nodenet.edge.files.store import Store
from nodenet.stages.apply.hand_over import HandOver, Ofports
from nodenet.stages.apply.records import OFPORTS

ETH1 = Device("eth1", "ethernet", profile=Profile("u-1", "eth1", "802-3-ethernet", "eth1"))
DEFAULT = Route(ip_network("0.0.0.0/0"), (NextHop("br-ex", ip_address("192.0.2.1")),))
SWAPPED = {"eth1": 1}
EVERY = 0.2


def over(**numbers: int) -> tuple[OvsBridge, ...]:
    own = {MADE_BY_NM: "1"}
    ports = tuple(OvsPort(name, (OvsInterface(name, ofport=number),), own) for name, number in numbers.items())
    return (OvsBridge("br-ex", ports=ports),)


@dataclass
class Rig:
    """A br-ex over eth0, port 1, whose number is on the disk."""

    ovsdb: FakeOvsdb = field(default_factory=lambda: FakeOvsdb(held=over(eth0=1)))
    profiles: FakeProfiles = field(default_factory=lambda: FakeProfiles(Inventory((ETH1,), ())))
    files: FakeFiles = field(default_factory=lambda: FakeFiles({str(OFPORTS): render({"br-ex": {"eth0": 1}})}))
    neighbours: FakeNeighbours = field(default_factory=FakeNeighbours)

    def hand_over(self) -> HandOver:
        kernel = FakeKernel(Snapshot((Link(2, "br-ex"),), (), (DEFAULT,)))
        ofports = Ofports(self.ovsdb, self.profiles, self.files, Store(self.files, KEYFILES))
        return HandOver(ofports, self.neighbours, kernel)


async def test_the_number_goes_over_while_the_change_runs() -> None:
    """Its profile has it once libnmstate has ended."""
    rig = Rig()
    async with rig.hand_over().watched({"br-ex"}):
        rig.ovsdb.held = over(eth0=1, eth1=3)
        await asyncio.sleep(EVERY)
        assert rig.ovsdb.requested == {}
        rig.ovsdb.held = over(eth1=3)
        await asyncio.sleep(EVERY)
        assert rig.ovsdb.requested == SWAPPED
        assert rig.profiles.done == []
    assert rig.profiles.done == [("set", "u-1", {"ovs-interface": {"ofport-request": 1}})]
    assert ("192.0.2.1", "br-ex") in {(str(address), link) for address, link in rig.neighbours.asked}


async def test_a_leg_of_a_bond_that_stays_alone_gets_the_first_number() -> None:
    rig = Rig(FakeOvsdb(held=over(eth1=3, eth0=1)))
    rig.files.content[str(OFPORTS)] = render({"br-ex": {"eth0": 1, "eth1": 3}})
    async with rig.hand_over().watched({"br-ex"}):
        rig.ovsdb.held = over(eth1=3)
        await asyncio.sleep(EVERY)
    assert rig.ovsdb.requested == SWAPPED


async def test_a_change_that_fails_writes_no_profile() -> None:
    rig = Rig()

    async def fails() -> None:
        async with rig.hand_over().watched({"br-ex"}):
            rig.ovsdb.held = over(eth1=3)
            await asyncio.sleep(EVERY)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await fails()
    assert (rig.ovsdb.requested, rig.profiles.done) == (SWAPPED, [])


async def test_a_change_of_other_links_and_a_bridge_that_keeps_its_links_ask_nothing() -> None:
    for links, held in (({"eth9"}, over(eth1=3)), ({"br-ex"}, over(eth0=1))):
        rig = Rig()
        async with rig.hand_over().watched(links):
            rig.ovsdb.held = held
            await asyncio.sleep(EVERY)
        assert (rig.ovsdb.requested, rig.profiles.done, rig.neighbours.asked) == ({}, [], [])


async def test_a_database_that_goes_away_in_the_middle_is_asked_again() -> None:
    rig = Rig()
    async with rig.hand_over().watched({"br-ex"}):
        rig.ovsdb.up = False
        await asyncio.sleep(EVERY)
        rig.ovsdb.up, rig.ovsdb.held = True, over(eth1=3)
        await asyncio.sleep(EVERY)
    assert rig.ovsdb.requested == SWAPPED
