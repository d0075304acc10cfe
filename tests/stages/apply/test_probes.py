"""What is asked around an apply, how long, and what is asked again."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field, replace
from ipaddress import ip_address

import pytest
from structlog.testing import capture_logs

from fakes import FakeProbe, FakeTargets, stage_edges
from nodenet.core.errors import PublishFailed, Unavailable
from nodenet.core.kernel.snapshot import Link, NextHop, Snapshot
from nodenet.core.probes.questions import Answer, Scope
from nodenet.core.probes.verdict import ProbeFailed
from nodenet.core.settings.model import HostedSettings, ProbeTarget, Settings
from nodenet.stages.apply.probes import FORWARD_SECONDS, GATEWAY_SECONDS, HTTPS_SECONDS, Probes
from nodenet.stages.apply.probing import Probing
from probes_rig import DEFAULT, GATEWAY, OFFLINE, ONLINE, SECONDS, WISH, Rig, SlowNeighbours, file, probed, timed


def test_a_gateway_that_comes_back_late_is_waited_for() -> None:
    """The switch port forwards after five seconds; what has answered already is not asked again."""
    rig = Rig()

    async def story() -> None:
        probing = rig.around()
        await probing.begin()
        rig.neighbours.there.clear()
        asyncio.get_running_loop().call_later(5, rig.neighbours.there.add, GATEWAY)
        await probing.accept()

    assert 5 < timed(story) < 7
    assert (len(rig.targets.asked), len(rig.servers.asked)) == (2, 2)


def test_a_lease_that_comes_late_is_waited_for() -> None:
    """Its route is the way out."""
    rig = Rig()

    async def story() -> None:
        probing = rig.around()
        await probing.begin()
        rig.kernel.now = OFFLINE
        asyncio.get_running_loop().call_later(3, setattr, rig.kernel, "now", ONLINE)
        await probing.accept()

    assert 3 < timed(story) < 4


def test_a_gateway_that_stays_silent_fails_the_file_in_time() -> None:
    rig = Rig()
    causes: list[str] = []

    async def story() -> None:
        probing = rig.around()
        await probing.begin()
        rig.neighbours.there.clear()
        with pytest.raises(ProbeFailed) as failed:
            await probing.accept()
        causes.append(failed.value.cause)

    assert SECONDS < timed(story) < SECONDS + 3
    assert causes == ["the gateway 192.0.2.1 does not answer on eth0, and it answered before the apply"]


@pytest.mark.parametrize(("changes", "kept"), [(2, True), (0, False)])
def test_a_switch_port_that_learns_its_spanning_tree_is_waited_for(changes: int, *, kept: bool) -> None:
    """The link went down with the apply, and the port forwards half a minute later; no other silence takes so long."""
    rig = Rig()
    ended: list[bool] = []

    async def story() -> None:
        probing = rig.around()
        await probing.begin()
        rig.neighbours.there.clear()
        rig.kernel.now = replace(ONLINE, links=(Link(2, "eth0", carrier_changes=changes),))
        asyncio.get_running_loop().call_later(30, rig.neighbours.there.add, GATEWAY)
        try:
            await probing.accept()
        except ProbeFailed:
            ended.append(False)
        else:
            ended.append(True)

    took = timed(story)
    assert ended == [kept]
    assert (30 if kept else SECONDS) < took < (32 if kept else SECONDS + 3)


def test_a_file_that_the_node_worked_with_is_not_rolled_back_for_a_router_that_boots_late() -> None:
    """Its link was lost with the power, and another network of the node has a gateway meanwhile."""
    fallback = ip_address("198.51.100.1")
    silent: list[Answer] = []

    async def story(*, proven: bool) -> None:
        rig = Rig(neighbours=SlowNeighbours({fallback}))
        rig.kernel.now = replace(ONLINE, routes=(replace(DEFAULT, next_hops=(NextHop("eth1", fallback),)),))
        probing = rig.around(proven=proven)
        await probing.begin()
        rig.kernel.now = ONLINE
        await probing.accept()
        silent.append(Answer.NO)

    timed(lambda: story(proven=True))
    assert silent == [Answer.NO]
    with pytest.raises(ProbeFailed):
        timed(lambda: story(proven=False))


def test_what_answered_before_must_answer_with_such_a_file_too() -> None:
    rig = Rig()

    async def story() -> None:
        probing = rig.around(proven=True)
        await probing.begin()
        rig.neighbours.there.clear()
        await probing.accept()

    with pytest.raises(ProbeFailed):
        timed(story)


@pytest.mark.parametrize("comes", [True, False])
def test_after_an_interrupted_apply_the_gateway_is_waited_for_as_after_a_loss_of_the_carrier(*, comes: bool) -> None:
    """It did not answer before this apply either. After a power cut the switch port learns its spanning tree."""
    rig = Rig(neighbours=SlowNeighbours())
    kept: list[bool] = []

    async def story() -> None:
        probing = Probing(rig.probes, file("d"), WISH, proven=False, had_gateway=True)
        await probing.begin()
        assert probing.way_out
        if comes:
            asyncio.get_running_loop().call_later(30, rig.neighbours.there.add, GATEWAY)
        with contextlib.suppress(ProbeFailed):
            await probing.accept()
            kept.append(True)

    took = timed(story)
    assert kept == [True] * comes
    assert (30 if comes else FORWARD_SECONDS) < took < (35 if comes else FORWARD_SECONDS + 5)


def test_after_a_rollback_the_network_is_waited_for() -> None:
    """Its addresses and its gateway, ten seconds at most: the next stage would report a loss."""
    rig = Rig()
    probing = rig.around()
    timed(probing.begin)
    rig.kernel.now = Snapshot()

    async def story() -> None:
        asyncio.get_running_loop().call_later(3, setattr, rig.kernel, "now", ONLINE)
        await probing.restored()

    assert 2.9 < timed(story) < 4
    rig.kernel.now = Snapshot()
    assert timed(probing.restored) == pytest.approx(10, abs=0.2)


def test_what_cannot_fail_the_file_is_not_waited_for() -> None:
    """Everything is dead from the start: three seconds before, one after, and a line of the journal for each."""
    rig = Rig(neighbours=SlowNeighbours(), servers=FakeProbe(), targets=FakeTargets(Answer.NO))
    probing = rig.around()
    assert timed(probing.begin) == pytest.approx(GATEWAY_SECONDS)
    with capture_logs() as logs:
        assert timed(probing.accept) == pytest.approx(1)
    assert (len(rig.targets.asked), len(rig.servers.asked)) == (1, 2)  # a packet to a DNS server may be lost
    assert [line["event"] for line in logs] == [
        "After the apply the gateway 192.0.2.1 does not answer on eth0",
        "After the apply the DNS server 192.0.2.53 was not asked again: it did not answer before the apply",
        "After the apply 203.0.113.1 of `probe_targets` was not asked again: it did not answer before the apply",
    ]


def test_between_two_tries_what_answered_is_remembered() -> None:
    """The rollback of the first try is not over when the second begins; another file knows nothing of it."""
    rig = Rig()
    timed(rig.around().begin)
    rig.neighbours.there.clear()

    async def again(digest: str) -> None:
        probing = rig.around(digest)
        await probing.begin()
        await probing.accept()

    with pytest.raises(ProbeFailed):
        timed(lambda: again("d"))
    timed(lambda: again("another"))
    timed(lambda: again("d"))


def test_a_file_that_is_done_with_is_forgotten() -> None:
    rig = Rig()
    timed(rig.around().begin)
    rig.probes.forget()
    rig.neighbours.there.clear()
    timed(probed(rig.around()))


def test_a_file_is_applied_only_where_the_kernel_says_what_works() -> None:
    """A file that cuts the node off would pass otherwise; the disk is not needed for that."""
    rig = Rig()
    rig.files.bad = {"/etc/resolv.conf": PublishFailed("Input/output error")}
    rig.kernel.broken = Unavailable("no buffer space")
    with pytest.raises(Unavailable):
        timed(rig.around().begin)
    rig.kernel.broken = None
    probing = rig.around()
    timed(probed(probing))
    assert probing.answering == "; these answer: gateway 192.0.2.1, target 203.0.113.1"


def test_a_kernel_that_does_not_answer_after_the_apply_is_asked_again() -> None:
    """Until time is over; then it is no success."""
    rig = Rig()

    def breaks() -> None:
        rig.kernel.broken = Unavailable("no buffer space")

    async def refused() -> None:
        with pytest.raises(Unavailable):
            await probed(rig.around(), breaks)()

    assert SECONDS <= timed(refused) < SECONDS + 1


@dataclass
class SlowTargets(FakeTargets):
    """Targets that answer after *takes* seconds; *given* is how long each was waited for."""

    takes: float = 0.0
    given: list[float] = field(default_factory=list)

    async def answers(self, target: ProbeTarget, seconds: float) -> Answer:  # noqa: ARG002
        self.given.append(seconds)
        await asyncio.sleep(min(self.takes, seconds))
        return Answer.YES if self.takes <= seconds else Answer.NO


@pytest.mark.parametrize(
    ("path", "timeout", "given"), [("/readyz", 15.0, HTTPS_SECONDS), ("/readyz", 3.0, 3.0), ("", 15.0, 1.0)]
)
def test_an_https_request_has_the_time_that_a_process_and_a_handshake_need(
    path: str, timeout: float, given: float
) -> None:
    """A node that is busy with its boot needs seconds for them; the target was never known to answer."""
    targets = SlowTargets(takes=2.5)
    rig = Rig(targets=targets)
    rig.probes.scope = Scope((ProbeTarget(ip_address("192.0.2.1"), 6443, path),))
    rig.probes.seconds = timeout
    probing = rig.around()
    before: list[float] = []
    timed(probed(probing, lambda: before.extend(targets.given)))
    assert before == [given]
    assert ("target https" in probing.answering) is bool(path)


def test_https_targets_are_verified_with_the_ca_of_the_cluster() -> None:
    tcp, https = ProbeTarget(ip_address("192.0.2.1"), 6443), ProbeTarget(ip_address("192.0.2.1"), 6443, "/readyz")
    settings = Settings(probe_targets=(tcp, https), hosted=HostedSettings(ca_file="/etc/ca.crt"))
    assert Probes.of(stage_edges(), settings).scope.targets == (tcp, replace(https, ca_file="/etc/ca.crt"))
