"""What begins when around one apply, and what is reported."""

from __future__ import annotations

import asyncio
import contextlib
import json
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from fakes import FakeKernel, FakeNeighbours, stage_edges
from nodenet.core.errors import PublishFailed, StageFailed
from nodenet.core.kernel.snapshot import Link
from nodenet.core.messages import Message
from nodenet.core.node_file.links import Links
from nodenet.core.node_file.secret import Secrets
from nodenet.core.probes.verdict import PATH, ProbeFailed
from nodenet.core.settings.model import Settings
from nodenet.stages.apply.probes import FORWARD_SECONDS, UNIQUE_SECONDS, Probes
from nodenet.stages.apply.probing import UNDECIDED, Probing, probing_around
from probes_rig import GATEWAY, NEW, OFFLINE, ONLINE, SECONDS, WISH, Rig, SlowNeighbours, file, probed, timed


def test_a_network_that_works_costs_no_time_after_the_apply() -> None:
    """Only the new address takes its time before it: no answer is the good one."""
    rig = Rig()
    probing = rig.around()
    waits: list[float] = []

    async def story() -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        for each in (probing.begin, probing.accept):
            await each()
            waits.append(loop.time() - began)

    timed(story)
    assert waits == pytest.approx([UNIQUE_SECONDS, UNIQUE_SECONDS])
    assert probing.answering == "; these answer: gateway 192.0.2.1, DNS server 192.0.2.53, target 203.0.113.1"
    assert rig.neighbours.asked == [(GATEWAY, "eth0"), (NEW, "eth0"), (GATEWAY, "eth0")]


async def test_an_address_of_another_host_is_refused_before_the_apply() -> None:
    rig = Rig(neighbours=SlowNeighbours({GATEWAY, NEW}))
    with pytest.raises(ProbeFailed) as failed:
        await rig.around().begin()
    assert failed.value.cause == "the address 192.0.2.5 of eth0 is in use by another host"


async def test_probes_that_begin_at_once_run_beside_other_work() -> None:
    """And end with it, where nothing is applied."""
    rig = Rig()
    async with probing_around(rig.probes, file("d"), WISH, proven=False) as probing:
        for _ in range(20):
            await asyncio.sleep(0)
        assert rig.neighbours.asked == [(GATEWAY, "eth0"), (NEW, "eth0")]
        await probing.begin()
    async with probing_around(rig.probes, file("d"), WISH, proven=True):
        await asyncio.sleep(0)
    assert len(rig.neighbours.asked) == 2


async def test_with_a_time_out_of_zero_nothing_is_asked() -> None:
    kernel, neighbours = FakeKernel(ONLINE), FakeNeighbours()
    probes = Probes.of(stage_edges(kernel=kernel, neighbours=neighbours), Settings(probe_timeout=0))
    async with probing_around(probes, file("d"), WISH, proven=False) as probing:
        await probing.begin()
        await probing.accept()
    assert (neighbours.asked, probing.answering) == ([], "")


def test_the_report_names_every_probe_before_and_after() -> None:
    """For `nodenetctl explain nmstate`; a /run that is full loses it, and nothing else."""
    rig = Rig()
    probing = rig.around()
    timed(probed(probing))
    probing.ended()
    document = json.loads(rig.files.content[str(PATH)])
    assert (document["node_file"], document["kept"], document["failed"]) == ("worker-0.yml", True, [])
    rows = [(row["when"], row["what"], row["name"], row["answer"]) for row in document["probes"]]
    expected = [
        ("gateway", "192.0.2.1"),
        ("DNS server", "192.0.2.53"),
        ("target", "203.0.113.1"),
        ("carrier", "eth0"),
    ]
    assert rows == [(when, *each, "answers") for when in ("before", "after") for each in expected]
    rig.files.bad = {str(PATH): PublishFailed("No space left on device")}
    timed(probed(rig.around()))


def waited(rig: Rig, *, late: float = 0.0) -> float:
    """Return how long the probes before an apply of a new file take where a gateway answers after *late* seconds."""

    async def story() -> None:
        if late:
            asyncio.get_running_loop().call_later(late, rig.neighbours.there.add, GATEWAY)
        async with probing_around(rig.probes, file("d"), WISH, proven=False, patience=FORWARD_SECONDS) as probing:
            await probing.begin()

    return timed(story)


def test_a_switch_port_that_learns_does_not_hide_that_the_node_had_a_gateway() -> None:
    """In the first half minute after the link came up; a file that then cuts the node off would be kept."""
    rig = Rig(neighbours=SlowNeighbours())
    assert 30 < waited(rig, late=30.0) < 32
    assert rig.probes.has_begun("d")
    rig.neighbours.there.clear()
    with pytest.raises(ProbeFailed, match=r"^the gateway 192\.0\.2\.1 does not answer on eth0"):
        timed(probed(rig.around()))


def test_a_silent_gateway_is_waited_for_once_and_only_where_it_may_answer() -> None:
    rig = Rig(neighbours=SlowNeighbours())
    with capture_logs() as logs:
        assert FORWARD_SECONDS <= waited(rig) < FORWARD_SECONDS + 4
    assert [(line["event"], line["message"]) for line in logs] == [
        ("No gateway answers yet: a new node file waits for one for up to 35 s", Message.PROBE_SILENT)
    ]
    with capture_logs() as logs:
        assert waited(rig) < 4, "the second try of the file"
        unplugged = replace(ONLINE, links=(replace(ONLINE.links[0], carrier=False),))
        assert waited(Rig(neighbours=SlowNeighbours(), kernel=FakeKernel(unplugged))) < 4
        assert waited(Rig(neighbours=SlowNeighbours(), kernel=FakeKernel(OFFLINE))) < 2
        assert waited(Rig()) < 1
    assert logs == []


DARK = replace(
    ONLINE,
    links=(Link(2, "eth0", kind="openvswitch"), Link(3, "eth1", carrier=False)),
)
BELOW = replace(WISH, addresses=(), links=Links(frozenset({"eth1"}), below={"eth0": frozenset({"eth1"})}))
"""A file for the bridge with the way out, over another NIC."""


def carried(rig: Rig, after: float | None) -> float:
    """Return how long the probes before an apply take where the NIC has a carrier *after* so many seconds."""

    def plugged() -> None:
        rig.kernel.now = replace(DARK, links=(DARK.links[0], replace(DARK.links[1], carrier=True)))

    async def story() -> None:
        if after is not None:
            asyncio.get_running_loop().call_later(after, plugged)
        async with probing_around(rig.probes, file("d"), BELOW, proven=False) as probing:
            await probing.begin()

    return timed(story)


def test_a_nic_below_the_bridge_may_negotiate_for_as_long_as_probes_may_take() -> None:
    """Several seconds at a boot; the file is not tried again once a node IP is published."""
    with capture_logs() as logs:
        assert 7.5 <= carried(Rig(kernel=FakeKernel(DARK)), after=7.5) < 9
    words = "eth1, which is to be below eth0, has no carrier"
    assert [line["event"] for line in logs] == [f"{words}: the file waits for that for up to 15 s"]


def test_a_nic_that_gets_no_carrier_refuses_the_file_after_probe_timeout() -> None:
    rig = Rig(kernel=FakeKernel(DARK))
    waits: list[float] = []

    async def story() -> None:
        began = asyncio.get_running_loop().time()
        with pytest.raises(ProbeFailed, match=r"^eth1, which is to be below eth0, has no carrier after 15 s\."):
            await Probing(rig.probes, file("d"), BELOW, proven=False).begin()
        waits.append(asyncio.get_running_loop().time() - began)

    timed(story)
    assert waits == [pytest.approx(SECONDS)]
    assert json.loads(rig.files.content[str(PATH)])["kept"] is False


@pytest.mark.parametrize(
    ("end", "kept", "failed"),
    [
        (None, True, []),
        (StageFailed("the commit failed"), False, ["the commit failed"]),
        (StageFailed("the password hunter2-rack is wrong"), False, ["the password <hidden> is wrong"]),
        (asyncio.CancelledError(), False, ["nodenetd was stopped before the file was committed"]),
    ],
    ids=["committed", "failed", "secret", "stopped"],
)
async def test_whether_the_file_was_kept_is_reported_at_the_end(
    end: BaseException | None, failed: list[str], *, kept: bool
) -> None:
    """Not before: a trial holds a file whose probes hold, and what is killed meanwhile keeps nothing."""
    rig = Rig()
    wish = replace(WISH, secrets=Secrets(frozenset({"hunter2-rack"})))
    with contextlib.suppress(StageFailed, asyncio.CancelledError):
        async with probing_around(rig.probes, file("d"), wish, proven=False) as probing:
            await probing.begin()
            await probing.accept()
            before_the_end = json.loads(rig.files.content[str(PATH)])
            if end:
                raise end
    assert (before_the_end["kept"], before_the_end["failed"]) == (False, [UNDECIDED])
    document = json.loads(rig.files.content[str(PATH)])
    assert (document["kept"], document["failed"], len(document["probes"])) == (kept, failed, 8)


async def test_a_file_that_was_committed_stays_kept_whatever_comes_after() -> None:
    """A disk that refuses the record."""
    rig = Rig()
    probing = rig.around()
    await probing.begin()
    await probing.accept()
    probing.ended()
    probing.ended(PublishFailed("no space is left"))
    assert json.loads(rig.files.content[str(PATH)])["kept"] is True
