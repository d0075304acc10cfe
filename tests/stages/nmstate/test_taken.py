"""When a file is tried again whose address another host had."""

from __future__ import annotations

from fakes import FakeSystemd
from nodenet.core.boot.facts import Facts
from nodenet.core.boot.outcome import Failed, Problem
from nodenet.core.messages import Message
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.node_ip.kubelets import KUBELET
from nodenet.stages.nmstate.taken import Taken

REFUSED = Failed(Problem(Message.PROBE_FAILED, "in use", "Find the other host"), Facts())
IN_USE, CUT_OFF = NmstateFailure(FailureKind.TAKEN, "in use"), NmstateFailure(FailureKind.PROBE, "no gateway")


async def pauses(taken: Taken, failure: NmstateFailure, times: int) -> list[float | None]:
    found = [await taken.again("d", failure, REFUSED) for _ in range(times)]
    return [each.again.seconds if each.again else None for each in found]


async def test_the_pause_grows_to_a_minute() -> None:
    taken = Taken(FakeSystemd())
    assert await pauses(taken, IN_USE, 6) == [5, 10, 20, 40, 60, 60]
    assert (taken.waits("d"), taken.waits("other")) == (True, False)


async def test_another_failure_is_not_tried_again() -> None:
    taken = Taken(FakeSystemd())
    assert await pauses(taken, IN_USE, 1) == [5]
    assert await pauses(taken, CUT_OFF, 1) == [None]
    assert not taken.waits("d")


async def test_a_node_that_works_is_not_changed_without_an_order() -> None:
    taken = Taken(FakeSystemd(running={KUBELET}))
    assert await pauses(taken, IN_USE, 1) == [None]
    assert not taken.waits("d")
