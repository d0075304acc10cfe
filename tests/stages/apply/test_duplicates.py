"""Whether other hosts have the new addresses of a file, asked partly beside the apply."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from ipaddress import ip_address

import pytest

from nodenet.core.kernel.neighbours import Neighbour
from nodenet.core.kernel.snapshot import Link
from nodenet.core.probes.report import PATH
from nodenet.core.probes.verdict import ProbeFailed
from probes_rig import GATEWAY, NEW, ONLINE, Rig, SlowNeighbours, probed, timed


@pytest.mark.parametrize(("late", "applied"), [(0.04, False), (0.06, True), (0.14, True)])
def test_a_host_that_defends_its_address_late_is_heard_before_the_commit(late: float, *, applied: bool) -> None:
    rig = Rig(neighbours=SlowNeighbours({GATEWAY, NEW}, late={NEW: late}))
    begun: list[bool] = []
    with pytest.raises(ProbeFailed) as failed:
        timed(probed(rig.around(), lambda: begun.append(True)))
    assert failed.value.cause == "the address 192.0.2.5 of eth0 is in use by another host"
    assert bool(begun) is applied
    assert json.loads(rig.files.content[str(PATH)])["kept"] is False


def test_an_address_that_is_defended_too_late_is_kept() -> None:
    rig = Rig(neighbours=SlowNeighbours({GATEWAY, NEW}, late={NEW: 0.16}))
    timed(probed(rig.around()))


async def test_a_router_that_answers_for_every_address_has_none_of_them() -> None:
    """Proxy ARP: the addresses beside the new one have the same MAC. Neighbours with MACs of their own are hosts."""
    beside = ip_address("192.0.2.15")
    rig = Rig(neighbours=SlowNeighbours({GATEWAY, NEW, beside, ip_address("192.0.2.0")}))
    rig.neighbours.on["eth0"] = (Neighbour(2, NEW, 2, b"router"), Neighbour(2, beside, 2, b"router"))
    await rig.around().begin()
    rig.neighbours.on["eth0"] = (Neighbour(2, NEW, 2, b"host-1"), Neighbour(2, beside, 2, b"host-2"))
    with pytest.raises(ProbeFailed):
        await rig.around().begin()


async def test_an_answer_with_a_mac_of_this_node_is_no_other_host() -> None:
    """A fabric that answers in the place of its hosts remembers where the address was before (RFC 5227, 2.1.1)."""
    rig = Rig(neighbours=SlowNeighbours({GATEWAY, NEW}))
    rig.kernel.now = replace(ONLINE, links=(Link(2, "eth0", mac="52:54:00:00:00:07"),))
    rig.neighbours.on["eth0"] = (Neighbour(2, NEW, 2, bytes.fromhex("525400000007")),)
    await rig.around().begin()
    rig.neighbours.on["eth0"] = (Neighbour(2, NEW, 2, bytes.fromhex("525400000008")),)
    with pytest.raises(ProbeFailed):
        await rig.around().begin()


def test_a_router_that_answers_for_every_address_may_take_its_time() -> None:
    """Linux waits for up to 0.8 s before it answers in the place of a host (arp(7), `proxy_delay`)."""
    beside = ip_address("192.0.2.15")
    rig = Rig(neighbours=SlowNeighbours({GATEWAY, NEW, beside}, late={beside: 0.8}))
    rig.neighbours.on["eth0"] = tuple(Neighbour(2, each, 2, b"router") for each in (NEW, beside))
    assert timed(rig.around().begin) > 0.8, "the answer is judged before anything is applied"


@pytest.mark.parametrize("late", [0.03, 0.08, 0.14])
def test_a_router_that_answers_during_the_apply_is_judged_behind_it(late: float) -> None:
    """The apply empties the table of neighbours, and the router answers for any address again afterwards."""
    beside = ip_address("192.0.2.15")
    rig = Rig(neighbours=SlowNeighbours({GATEWAY, NEW, beside}, late={NEW: late, beside: 0.3}))
    table = tuple(Neighbour(2, each, 2, b"router") for each in (NEW, beside))
    rig.neighbours.on["eth0"] = table

    async def story() -> None:
        probing = rig.around()
        await probing.begin()
        await asyncio.sleep(0.16)
        rig.neighbours.on["eth0"] = ()
        rig.neighbours.there.remove(beside)
        await asyncio.sleep(1.0)
        rig.neighbours.on["eth0"] = table[1:]
        rig.neighbours.there.add(beside)
        await probing.accept()

    timed(story)


@pytest.mark.parametrize("dark", [3.0, 20.0])
def test_a_router_is_judged_once_the_link_carries_packets_again(dark: float) -> None:
    """A switch port learns for half a minute, and the router that answered during the apply does not until then."""
    beside = ip_address("192.0.2.15")
    rig = Rig(neighbours=SlowNeighbours({GATEWAY, NEW, beside}, late={NEW: 0.08}))
    rig.neighbours.on["eth0"] = tuple(Neighbour(2, each, 2, b"router") for each in (NEW, beside))
    there = set(rig.neighbours.there)

    async def story() -> None:
        probing = rig.around()
        await probing.begin()
        await asyncio.sleep(0.1)
        rig.neighbours.there.clear()
        rig.kernel.now = replace(ONLINE, links=(replace(ONLINE.links[0], carrier_changes=2),))
        asyncio.get_running_loop().call_later(dark, rig.neighbours.there.update, there)
        await probing.accept()

    assert dark < timed(story) < dark + 4
