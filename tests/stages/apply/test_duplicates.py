"""Whether other hosts have the new addresses of a file, asked before the apply."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from ipaddress import ip_address

import pytest

from nodenet.core.ip import IPAddress
from nodenet.core.kernel.neighbours import Neighbour
from nodenet.core.kernel.snapshot import Link
from nodenet.core.nmstate.failure import FailureKind
from nodenet.core.probes.verdict import PATH, ProbeFailed
from nodenet.stages.apply.probes import AGAIN_SECONDS, TIMES, UNIQUE_SECONDS
from probes_rig import GATEWAY, NEW, ONLINE, Rig, SlowNeighbours, timed

OTHER = bytes.fromhex("525400000008")
BESIDE = ip_address("192.0.2.15")


def test_an_address_of_another_host_is_refused_with_its_mac() -> None:
    rig = Rig(neighbours=SlowNeighbours({GATEWAY, NEW}, late={NEW: 0.14}))
    rig.neighbours.on["eth0"] = (Neighbour(2, NEW, 2, OTHER),)
    with pytest.raises(ProbeFailed) as failed:
        timed(rig.around().begin)
    assert failed.value.cause == "the address 192.0.2.5 of eth0 is in use by another host, 52:54:00:00:00:08"
    assert failed.value.kind is FailureKind.TAKEN
    assert "probe_timeout" not in failed.value.remedy, "NetworkManager asks as well"
    assert json.loads(rig.files.content[str(PATH)])["kept"] is False


@dataclass
class Stray(SlowNeighbours):
    """The first *answers_left* questions for the new address are answered, and no other."""

    answers_left: int = 1
    questions: list[float] = field(default_factory=list)

    async def answers(self, address: IPAddress, link: str, seconds: float) -> bool:
        if address == NEW:
            self.questions.append(seconds)
            self.there.discard(NEW)
            if len(self.questions) <= self.answers_left:
                self.there.add(NEW)
        return await super().answers(address, link, seconds)


def test_one_stray_packet_refuses_nothing() -> None:
    """Whoever sends one more is another host."""
    neighbours = Stray({GATEWAY})
    assert 1.9 < timed(Rig(neighbours=neighbours).around().begin) < 2.5
    assert neighbours.questions == [UNIQUE_SECONDS, *[AGAIN_SECONDS] * TIMES]
    with pytest.raises(ProbeFailed):
        timed(Rig(neighbours=Stray({GATEWAY}, answers_left=2)).around().begin)


def test_no_answer_costs_the_time_of_one_question() -> None:
    assert timed(Rig().around().begin) == pytest.approx(UNIQUE_SECONDS)


async def test_a_router_that_answers_for_every_address_has_none_of_them() -> None:
    """Proxy ARP: the addresses beside the new one have the same MAC. Neighbours with MACs of their own are hosts."""
    rig = Rig(neighbours=SlowNeighbours({GATEWAY, NEW, BESIDE, ip_address("192.0.2.0")}))
    rig.neighbours.on["eth0"] = (Neighbour(2, NEW, 2, b"router"), Neighbour(2, BESIDE, 2, b"router"))
    await rig.around().begin()
    rig.neighbours.on["eth0"] = (Neighbour(2, NEW, 2, b"host-1"), Neighbour(2, BESIDE, 2, b"host-2"))
    with pytest.raises(ProbeFailed):
        await rig.around().begin()


async def test_an_answer_with_a_mac_of_this_node_is_no_other_host() -> None:
    """A fabric that answers in the place of its hosts remembers where the address was before (RFC 5227, 2.1.1)."""
    rig = Rig(neighbours=SlowNeighbours({GATEWAY, NEW}))
    rig.kernel.now = replace(ONLINE, links=(Link(2, "eth0", mac="52:54:00:00:00:07"),))
    rig.neighbours.on["eth0"] = (Neighbour(2, NEW, 2, bytes.fromhex("525400000007")),)
    await rig.around().begin()
    rig.neighbours.on["eth0"] = (Neighbour(2, NEW, 2, OTHER),)
    with pytest.raises(ProbeFailed):
        await rig.around().begin()


def test_a_router_that_answers_for_every_address_may_take_its_time() -> None:
    """Linux waits for up to 0.8 s before it answers in the place of a host (arp(7), `proxy_delay`)."""
    rig = Rig(neighbours=SlowNeighbours({GATEWAY, NEW, BESIDE}, late={BESIDE: 0.8}))
    rig.neighbours.on["eth0"] = tuple(Neighbour(2, each, 2, b"router") for each in (NEW, BESIDE))
    assert timed(rig.around().begin) > 0.8, "the answer is judged before anything is applied"
