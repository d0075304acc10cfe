"""Is an apply only committed when the node is in reach?"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

import pytest

from br_ex_rig import FLAG, NODE_IP, Rig
from fakes import (
    FakeKernel,
    FakeNeighbours,
    FakeProfiles,
)
from nodenet.core.boot.outcome import Done, Failed
from nodenet.core.br_ex.plan import Expectation
from nodenet.core.errors import Unavailable
from nodenet.core.kernel.snapshot import Address, Link, Snapshot
from nodenet.core.messages import Message
from nodenet.core.nmstate.failure import NmstateFailure
from nodenet.stages.br_ex.verify import BACK_SECONDS, Verifier
from virtual_time import VirtualLoop


async def test_node_ips_that_do_not_come_to_the_bridge_roll_it_back() -> None:
    """Not what libnmstate returned is success."""
    rig = Rig()
    rig.nmstate.during_apply = lambda: None
    outcome = await rig.attempt()
    assert isinstance(outcome, Failed)
    assert outcome.problem.message is Message.BRIDGE_FAILED
    assert "10.88.0.113 did not appear on br-ex" in outcome.problem.cause
    assert (rig.nmstate.committed, FLAG in rig.files.content) == ([], False)


async def test_a_gateway_that_fell_silent_rolls_it_back_one_that_never_spoke_does_not() -> None:
    """What answered before must answer after."""
    mute = Rig(neighbours=FakeNeighbours())
    assert isinstance(await mute.attempt(), Done)
    rig = Rig()

    def lose() -> None:
        rig.place("br-ex")
        rig.neighbours.there.clear()

    rig.nmstate.during_apply = lose
    outcome = await rig.attempt()
    assert isinstance(outcome, Failed)
    assert "10.88.0.1 answered before" in outcome.problem.cause
    assert rig.nmstate.committed == []


async def test_an_address_that_comes_with_the_deadline_ends_in_a_success_or_a_failure() -> None:
    """Between the last look and the deadline nothing is asked again: no IndexError ends the daemon (R6)."""
    rig = Rig()
    looks = 0
    missing = rig.kernel.now

    class Late(FakeKernel):
        def snapshot(self) -> Snapshot:
            nonlocal looks
            looks += 1
            time.sleep(0.06)  # past the deadline of 0.05 s: the next question would find the address
            return missing if looks == 1 else Snapshot(addresses=(Address(NODE_IP, 24, "br-ex"),))

    verifier = Verifier(Late(), rig.profiles, rig.neighbours, 0.05, 0.05)
    with pytest.raises(NmstateFailure, match=r"10\.88\.0\.113 did not appear on br-ex within 0\.05 s"):
        await verifier.addressed([Expectation("br-ex", (NODE_IP,), ())])


def test_settings_that_the_kernel_does_not_take_are_a_failure() -> None:
    """On virtual time: they are tried for ten seconds."""
    rig = Rig()
    rig.sysctls.broken = Unavailable("read-only")
    with (
        asyncio.Runner(loop_factory=VirtualLoop) as runner,
        pytest.raises(NmstateFailure, match="the kernel does not take the settings of br-ex"),
    ):
        runner.run(rig.verifier.until_set(rig.sysctls, {"br-ex": {"net/ipv4/conf/forwarding": "1"}}))


def test_a_link_without_a_carrier_is_no_uplink() -> None:
    """What it is configured with is not active: a plan would lack its routes."""
    kernel = FakeKernel(Snapshot(links=(Link(2, "eth0", carrier=False), Link(3, "eth1"))))
    verifier = Verifier(kernel, FakeProfiles(), FakeNeighbours())
    verifier.has_carrier("eth1")
    with pytest.raises(Unavailable, match="eth0 has no carrier"):
        verifier.has_carrier("eth0")


@dataclass
class LosingKernel(FakeKernel):
    """A kernel that has an address until the third look."""

    looks: int = 0

    def snapshot(self) -> Snapshot:
        self.looks += 1
        return Snapshot(addresses=(Address(NODE_IP, 24, "br-ex"),) if self.looks < 3 else ())


async def test_an_address_that_leaves_is_waited_for_and_one_that_stays_is_not_for_ever() -> None:
    """NetworkManager removes it some time after its answer; another program may have configured it too."""
    kernel = LosingKernel()
    await Verifier(kernel, FakeProfiles(), FakeNeighbours()).left({str(NODE_IP)})
    assert kernel.looks == 3
    stays = FakeKernel(Snapshot(addresses=(Address(NODE_IP, 24, "br-ex"),)))
    await Verifier(stays, FakeProfiles(), FakeNeighbours(), address_seconds=0.01).left({str(NODE_IP)})


@dataclass
class RestoredKernel(FakeKernel):
    """A kernel that has an address from the third look on."""

    looks: int = 0

    def snapshot(self) -> Snapshot:
        self.looks += 1
        return Snapshot(addresses=(Address(NODE_IP, 24, "eth0"),) if self.looks > 2 else ())


async def test_an_address_that_a_rollback_restores_is_waited_for() -> None:
    """NetworkManager answers the rollback before it has activated the profile again."""
    kernel = RestoredKernel()
    await Verifier(kernel, FakeProfiles(), FakeNeighbours()).back([NODE_IP])
    assert kernel.looks == 3


def test_an_address_that_does_not_come_back_is_waited_for_ten_seconds() -> None:
    """READY waits for it then, and reports it as missing."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:

        async def waited() -> float:
            began = asyncio.get_running_loop().time()
            await Verifier(FakeKernel(Snapshot()), FakeProfiles(), FakeNeighbours()).back([NODE_IP])
            return asyncio.get_running_loop().time() - began

        assert runner.run(waited()) == pytest.approx(BACK_SECONDS)


async def test_a_kernel_that_does_not_answer_once_does_not_hide_why_br_ex_was_rolled_back() -> None:
    """The wait for the node IP goes on: its error would take the place of the failure, and of its retries (R7)."""

    class Busy(FakeKernel):
        """Answers from the third question on."""

        asked = 0

        def snapshot(self) -> Snapshot:
            self.asked += 1
            if self.asked < 3:
                raise Unavailable("The kernel's links, addresses and routes cannot be read")
            return super().snapshot()

    kernel = Busy(Snapshot(addresses=(Address(NODE_IP, 24, "eth0"),)))
    await Verifier(kernel, FakeProfiles(), FakeNeighbours()).back([NODE_IP])
    assert kernel.asked == 3
