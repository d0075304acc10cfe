"""When a file is tried again that was refused for another host."""

from __future__ import annotations

from fakes import FakeFiles, FakeSystemd
from nodenet.core.boot.outcome import Facts, Failed, Problem
from nodenet.core.messages import Message
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.node_ip.published_files import KUBELET, PRIMARY, RUN
from nodenet.core.probes.verdict import ProbeFailed
from nodenet.stages.nmstate.in_force import LaterTries

REFUSED = Failed(Problem(Message.PROBE_FAILED, "in use", "Find the other host"), Facts())
IN_USE, CUT_OFF = ProbeFailed(FailureKind.TAKEN, "in use"), ProbeFailed(FailureKind.PROBE, "no gateway")
LEFT = NmstateFailure(FailureKind.PROBE, "no gateway, and it could not be rolled back")


async def pauses(tries: LaterTries, failure: NmstateFailure, times: int) -> list[float | None]:
    found = [await tries.again("d", failure, REFUSED) for _ in range(times)]
    return [each.again.seconds if each.again else None for each in found]


async def test_the_pause_grows_to_a_minute() -> None:
    tries = LaterTries(FakeSystemd(), FakeFiles())
    assert await pauses(tries, IN_USE, 6) == [5, 10, 20, 40, 60, 60]
    assert (await tries.is_due("d"), await tries.is_due("other")) == (True, False)


async def test_a_silent_gateway_does_not_refuse_a_file_for_good() -> None:
    """Each try takes the node from its network for a while, so the pauses are longer."""
    tries = LaterTries(FakeSystemd(), FakeFiles())
    assert await pauses(tries, CUT_OFF, 6) == [60, 120, 240, 480, 900, 900]


async def test_another_failure_is_not_tried_again() -> None:
    tries = LaterTries(FakeSystemd(), FakeFiles())
    assert await pauses(tries, IN_USE, 1) == [5]
    assert await pauses(tries, LEFT, 1) == [None]
    assert not await tries.is_due("d")


async def test_a_node_that_works_is_not_changed_without_an_order() -> None:
    tries = LaterTries(FakeSystemd(running={KUBELET}), FakeFiles())
    assert await pauses(tries, IN_USE, 1) == [None]
    assert not await tries.is_due("d")


async def test_kubelet_that_has_started_meanwhile_ends_the_tries() -> None:
    """It runs with the node IPs of the last boot: the file is not applied under it."""
    systemd = FakeSystemd()
    tries = LaterTries(systemd, FakeFiles())
    assert await pauses(tries, CUT_OFF, 1) == [60]
    systemd.running.add(KUBELET)
    assert not await tries.is_due("d")
    assert await tries.not_now() == REFUSED


async def test_kubelet_that_may_be_starting_ends_the_tries() -> None:
    """Behind READY systemd may still wait for another unit: then kubelet does not run, and starts at any moment."""
    files = FakeFiles()
    tries = LaterTries(FakeSystemd(), files)
    assert await pauses(tries, CUT_OFF, 1) == [60]
    assert await tries.not_now() is None
    files.write(RUN / PRIMARY.name, b"KUBELET_NODE_IP=192.0.2.7", 0o644)
    assert await tries.not_now() == REFUSED
    assert not await tries.is_due("d")
    assert await tries.later("d", REFUSED) == REFUSED


async def test_a_systemd_that_does_not_answer_refuses_no_file_for_good() -> None:
    """It may be busy with a reload of its units: nothing is applied meanwhile, and the next try comes."""
    systemd = FakeSystemd(silent=True)
    tries = LaterTries(systemd, FakeFiles())
    assert await pauses(tries, CUT_OFF, 2) == [60, 120]
    assert not await tries.is_due("d")
    stands = await tries.not_now()
    assert stands
    assert stands.again
    systemd.silent = False
    assert await tries.not_now() is None
    assert await tries.is_due("d")
