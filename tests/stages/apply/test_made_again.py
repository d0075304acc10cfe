"""NetworkManager makes br-ex again at its start: what other programs had there comes back, unless they took it away."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address

import pytest

from fakes import FakeManager
from nodenet.core.boot.outcome import Facts
from nodenet.core.kernel.snapshot import Address, Link, Snapshot
from nodenet.core.network_manager.state import ManagerState
from nodenet.core.node_ip.select import Selection
from nodenet.core.ownership.things import Kind, Thing
from nodenet.stages.apply.others import TRIES, MadeAgain
from stages.apply.test_others import ELSEWHERE, MASQUERADE, SERVICE, VIP, Rig

ON_BRIDGE = Facts(selection=Selection(node_ips=(ip_address("192.0.2.7"),), link="br-ex"), bridge="br-ex")
OWN = (Address(ip_address("192.0.2.7"), 24, "br-ex"),)
BELOW = (Link(2, "eth0"), Link(3, "eth1"))
AGAIN = Snapshot((Link(9, "br-ex"), *BELOW), OWN)
NEW = Thing(Kind.ADDRESS, "br-ex", ("169.254.64.2",), "06")


class Node:
    """A node on which OVN runs, and a nodenetd that has looked at it."""

    def __init__(self) -> None:
        self.rig = Rig(back_seconds=0.5)
        self.rig.kernel.now = Snapshot((Link(1, "br-ex"), *BELOW), OWN)
        self.manager = FakeManager()
        self.watch = MadeAgain(self.rig.kernel, self.manager, self.rig.profiles)

    async def look(self, facts: Facts = ON_BRIDGE) -> frozenset[Thing]:
        """Look; return what is there then."""
        await self.watch.look(self.rig.others(), facts)
        return frozenset(self.rig.standing.there)

    def made_again(self, *there: Thing) -> None:
        """Have another br-ex, with nothing on it but *there*."""
        self.rig.kernel.now, self.rig.standing.there = AGAIN, there


async def test_what_was_on_br_ex_is_on_the_next_one() -> None:
    """A VIP moves with its holder; and what the other program has put there in the meantime stays."""
    node = Node()
    await node.look()
    node.made_again(ELSEWHERE, NEW)
    assert await node.look() == {ELSEWHERE, NEW, MASQUERADE, SERVICE}


async def test_what_a_program_takes_away_itself_stays_away() -> None:
    """Also over the next br-ex."""
    node = Node()
    await node.look()
    node.rig.standing.there = (MASQUERADE,)
    assert await node.look() == {MASQUERADE}
    node.made_again()
    assert await node.look() == {MASQUERADE}


@pytest.mark.parametrize("state", [ManagerState.STARTING, ManagerState.ABSENT])
async def test_nothing_is_noted_or_put_back_while_network_manager_starts(state: ManagerState) -> None:
    """What is missing then was not taken away by its owner."""
    node = Node()
    await node.look()
    node.manager.status = state
    node.rig.standing.there = ()
    assert await node.look() == frozenset()
    node.made_again()
    assert await node.look() == frozenset()
    node.manager.status = ManagerState.READY
    assert await node.look() == {MASQUERADE, SERVICE}


async def test_nothing_is_put_back_before_the_address_of_the_node() -> None:
    """It may be the source of a route of another program: the kernel refuses that without it."""
    node = Node()
    await node.look()
    node.made_again()
    node.rig.kernel.now = Snapshot(AGAIN.links)
    assert await node.look() == frozenset()
    node.made_again()
    assert await node.look() == {MASQUERADE, SERVICE}


async def test_what_the_kernel_refuses_is_put_back_later_a_bounded_number_of_times() -> None:
    node = Node()
    await node.look()
    node.made_again()
    node.rig.standing.refused = frozenset(SERVICE.name)
    assert await node.look() == {MASQUERADE}
    node.rig.standing.refused = frozenset()
    assert await node.look() == {MASQUERADE, SERVICE}
    node.made_again(NEW)
    node.rig.kernel.now = Snapshot((Link(10, "br-ex"), *BELOW), OWN)
    node.rig.standing.refused = frozenset(SERVICE.name)
    for _ in range(TRIES + 1):
        assert await node.look() == {NEW, MASQUERADE}
    node.rig.standing.refused = frozenset()
    assert await node.look() == {NEW, MASQUERADE}


async def test_a_bridge_that_is_away_for_a_moment_is_not_forgotten() -> None:
    node = Node()
    await node.look()
    node.rig.kernel.now, node.rig.standing.there = Snapshot((Link(2, "eth0"),)), ()
    await node.look()
    node.made_again()
    assert await node.look() == {MASQUERADE, SERVICE}


async def test_a_node_without_a_bridge_is_left_alone() -> None:
    node = Node()
    plain = replace(ON_BRIDGE, bridge=None)
    assert await node.look(plain) == {SERVICE, MASQUERADE, VIP, ELSEWHERE}
    node.made_again()
    assert await node.look(plain) == frozenset()


@pytest.mark.parametrize(("activating", "ups"), [({"br-ex"}, TRIES), ({"eth0"}, 0), (set(), 0)])
async def test_a_link_that_network_manager_waits_for_is_set_up(activating: set[str], ups: int) -> None:
    """One that it has activated was set down by an administrator, and stays down."""
    node = Node()
    node.rig.profiles.found = replace(node.rig.profiles.found, activating=frozenset(activating))
    for _ in range(2):
        node.rig.kernel.now = Snapshot((Link(9, "br-ex", up=False), Link(2, "eth0", up=False)))
        for _ in range(TRIES + 1):
            await node.look()
        assert node.rig.kernel.raised == ["br-ex"] * ups
        node.rig.kernel.raised.clear()
        node.rig.kernel.now = AGAIN
        await node.look()
