"""A link that takes the place of another one below a bridge has its port number at once, and is shown to the switch."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import ip_address

import pytest

from fakes import FakeFiles, FakeKernel, FakeNeighbours, FakeOvsdb, FakeProfiles
from nodenet.core.errors import Unavailable
from nodenet.core.ip import IPAddress
from nodenet.core.kernel.snapshot import Address, AddressFlag, Link, Snapshot
from nodenet.core.network_manager.objects import Inventory
from nodenet.core.network_manager.profiles import KEYFILES, MADE_BY_NM, Device, Profile
from nodenet.core.open_vswitch import OvsBridge, OvsInterface, OvsPort, render
from nodenet.edge.files.store import Store
from nodenet.stages.apply.hand_over import HandOver, Ofports
from nodenet.stages.apply.records import OFPORTS

ETH1 = Device("eth1", "ethernet", profile=Profile("u-1", "eth1", "802-3-ethernet", "eth1"))
OWN = frozenset({AddressFlag.NO_PREFIX_ROUTE})
ADDRESSES = (
    Address(ip_address("192.0.2.5"), 24, "br-ex", flags=OWN),
    Address(ip_address("2001:db8::5"), 64, "br-ex", valid_lifetime=600),
    Address(ip_address("2001:db8::6"), 64, "br-ex", flags=OWN | {AddressFlag.TENTATIVE}),
    Address(ip_address("169.254.0.2"), 17, "br-ex"),
    Address(ip_address("198.51.100.5"), 24, "eth9", flags=OWN),
)
"""The node has the first two, OVN-Kubernetes on every node the one before the last."""
SWAPPED = {"eth1": 1}
EVERY = 0.2


def over(**numbers: int) -> tuple[OvsBridge, ...]:
    own = {MADE_BY_NM: "1"}
    asked = {"eth0": 1}
    links = {name: OvsInterface(name, ofport=each, ofport_request=asked.get(name)) for name, each in numbers.items()}
    ports = tuple(OvsPort(name, (link,), own) for name, link in links.items())
    return (OvsBridge("br-ex", ports=ports),)


@dataclass
class Rig:
    """A br-ex over eth0, port 1, whose number is on the disk."""

    ovsdb: FakeOvsdb = field(default_factory=lambda: FakeOvsdb(held=over(eth0=1)))
    profiles: FakeProfiles = field(default_factory=lambda: FakeProfiles(Inventory((ETH1,), ())))
    files: FakeFiles = field(default_factory=lambda: FakeFiles({str(OFPORTS): render({"br-ex": {"eth0": 1}})}))
    neighbours: FakeNeighbours = field(default_factory=FakeNeighbours)

    def hand_over(self) -> HandOver:
        kernel = FakeKernel(Snapshot((Link(2, "br-ex"),), ADDRESSES))
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
    assert announced(rig) == {("br-ex", "192.0.2.5"), ("br-ex", "2001:db8::5")}


def announced(rig: Rig) -> set[tuple[str, str]]:
    return {(link, str(address)) for link, address in rig.neighbours.announced}


async def test_an_announcement_is_repeated_and_begins_again_with_another_number() -> None:
    """Whatever is lost while Open vSwitch gives the port another number."""
    rig = Rig()
    async with rig.hand_over().watched({"br-ex"}):
        rig.ovsdb.held = over(eth1=3)
        await asyncio.sleep(EVERY)
        first = len(rig.neighbours.announced)
        assert first >= 2 * 2
        rig.ovsdb.held = ()
        await asyncio.sleep(EVERY)
        before = len(rig.neighbours.announced)
        rig.ovsdb.held = over(eth1=1)
        await asyncio.sleep(EVERY)
        assert len(rig.neighbours.announced) > before


async def test_a_bridge_without_a_link_announces_nothing() -> None:
    rig = Rig()
    async with rig.hand_over().watched({"br-ex"}):
        rig.ovsdb.held = over()
        await asyncio.sleep(EVERY)
    assert rig.neighbours.announced == []


async def test_a_link_that_cannot_send_ends_no_watch() -> None:
    rig = Rig(neighbours=Mute())
    async with rig.hand_over().watched({"br-ex"}):
        rig.ovsdb.held = over(eth2=5)
        await asyncio.sleep(EVERY)
        rig.ovsdb.held = over(eth1=3)
        await asyncio.sleep(EVERY)
    assert rig.ovsdb.requested == {"eth2": 1, "eth1": 1}


class Mute(FakeNeighbours):
    """Those of a link that is down."""

    def announce(self, link: str, addresses: Iterable[IPAddress]) -> None:  # noqa: ARG002
        raise Unavailable("Network is down")


async def test_a_port_that_comes_at_the_very_end_has_its_number_all_the_same() -> None:
    rig = Rig()
    async with rig.hand_over().watched({"br-ex"}):
        rig.ovsdb.held = over(eth1=3)
    assert rig.ovsdb.requested == SWAPPED
    assert rig.profiles.done == [("set", "u-1", {"ovs-interface": {"ofport-request": 1}})]


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
        assert (rig.ovsdb.requested, rig.profiles.done, rig.neighbours.announced) == ({}, [], [])


async def test_a_database_that_goes_away_in_the_middle_is_asked_again() -> None:
    rig = Rig()
    async with rig.hand_over().watched({"br-ex"}):
        rig.ovsdb.up = False
        await asyncio.sleep(EVERY)
        rig.ovsdb.up, rig.ovsdb.held = True, over(eth1=3)
        await asyncio.sleep(EVERY)
    assert rig.ovsdb.requested == SWAPPED
