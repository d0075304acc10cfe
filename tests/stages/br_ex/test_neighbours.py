"""Do the neighbours of a link go with its addresses? (R68)"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from ipaddress import ip_address

from br_ex_rig import Rig
from fakes import FakeNeighbours
from nodenet.core.boot.outcome import Done, Skipped
from nodenet.core.errors import Unavailable
from nodenet.core.kernel.neighbours import Neighbour
from nodenet.stages.br_ex.neighbours import EVERY_SECONDS, neighbours_follow

PEER = Neighbour(2, ip_address("10.88.0.9"), 0x02, b"\2\0\0\0\0\x09")
GATEWAY = Neighbour(2, ip_address("10.88.0.1"), 0x04, b"\2\0\0\0\0\1")


@dataclass
class Mute(FakeNeighbours):
    """A kernel that answers no question about neighbours."""

    def known(self, link: str) -> tuple[Neighbour, ...]:
        raise Unavailable(f"The neighbours on {link} cannot be read")


async def test_a_new_link_gets_what_the_old_one_had() -> None:
    """Although the old link loses its entries in the middle."""
    neighbours = FakeNeighbours(on={"eth0": (PEER, GATEWAY)})
    async with neighbours_follow(neighbours, {"eth0": "br-ex"}):
        neighbours.on["eth0"] = ()
        await asyncio.sleep(EVERY_SECONDS)
    assert neighbours.on["br-ex"] == (PEER, GATEWAY)


async def test_entries_that_are_lost_again_come_back_and_newer_ones_stay() -> None:
    """A link that goes down and up loses them; what it has learnt itself is not replaced."""
    newer = Neighbour(3, GATEWAY.address, 0x02, b"\2\0\0\0\0\2")
    neighbours = FakeNeighbours(on={"eth0": (PEER, GATEWAY), "br-ex": (newer,)})
    async with neighbours_follow(neighbours, {"eth0": "br-ex"}):
        await asyncio.sleep(0)
        assert neighbours.on["br-ex"] == (newer, PEER)
        neighbours.on["br-ex"] = (newer,)
        await asyncio.sleep(2 * EVERY_SECONDS)
    assert neighbours.on["br-ex"] == (newer, PEER)


async def test_neighbours_that_cannot_be_read_stop_nothing() -> None:
    async with neighbours_follow(Mute(), {"eth0": "br-ex"}):
        await asyncio.sleep(0)


async def test_they_move_with_the_making_and_back_with_the_removal() -> None:
    """While libnmstate applies, not only afterwards."""
    rig = Rig()
    rig.neighbours.on["eth0"] = (PEER, GATEWAY)
    assert isinstance(await rig.attempt(), Done)
    assert rig.neighbours.on["br-ex"][:2] == (PEER, GATEWAY)
    back = Rig("standing-ours", files=rig.files, neighbours=FakeNeighbours(on={"br-ex": (PEER,)}))
    back.place("br-ex")
    back.nmstate.during_apply = lambda: back.place("eth0")
    assert isinstance(await back.attempt(remove_bridge=True), Skipped)
    assert back.neighbours.on["eth0"] == (PEER,)
