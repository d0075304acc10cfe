"""Is a link set up that another program has set down, and no other?"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from fakes import FakeClock, FakeFiles, FakeKernel, FakeProfiles
from nodenet.core.boot.outcome import Done, Facts, Outcome, Topic, Waiting, detail_of
from nodenet.core.boot.stage_state import NOTHING, Request
from nodenet.core.errors import NodeFileInvalid, Unavailable
from nodenet.core.kernel.snapshot import Link, Snapshot
from nodenet.core.messages import Message
from nodenet.core.network_manager.objects import Inventory
from nodenet.core.network_manager.profiles import Profile
from nodenet.core.node_ip.policy import Policy
from nodenet.core.node_ip.published_files import PRIMARY, RUN
from nodenet.stages.node_ip.raise_links import TIMES, RaiseLinks

WAITS = Waiting("eth0 is down", frozenset({Topic.NETWORK_MANAGER}), 30.0)
ETH0 = Link(2, "eth0", up=False, carrier=False)


@dataclass
class AStage:
    """A stage that waits."""

    outcome: Outcome = field(default_factory=lambda: WAITS)

    async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:  # noqa: ARG002
        return self.outcome


class Rig:
    """The wrapper around a stage that waits, with links and NetworkManager's states of them."""

    def __init__(self, *links: Link, states: dict[str, str] | None = None) -> None:
        self.stage, self.clock, self.profiles = AStage(), FakeClock(), FakeProfiles()
        self.kernel = FakeKernel(Snapshot(links=links or (ETH0,)))
        known = {"eth0": "unavailable (carrier changed)"} if states is None else states
        self.profiles.found = Inventory(states=known)
        self.files = FakeFiles()
        edges = (self.kernel, self.profiles, self.files, self.clock)
        self.wrapped = RaiseLinks(self.stage, Policy(deny_links=("storage*",)), *edges)

    async def after(self, seconds: float) -> Outcome:
        self.clock.now += seconds
        return await self.wrapped.attempt(Facts())


async def test_a_link_that_stays_down_is_set_up_after_a_while() -> None:
    rig = Rig()
    first = await rig.after(0.0)
    assert isinstance(first, Waiting)
    assert (first.reason, first.seconds, first.topics) == (WAITS.reason, 5.0, WAITS.topics | {Topic.KERNEL})
    assert rig.kernel.raised == []
    second = await rig.after(5.0)
    assert isinstance(second, Waiting)
    assert (second.reason, second.topics) == (WAITS.reason, WAITS.topics)
    assert rig.kernel.raised == ["eth0"]


async def test_it_is_said_each_time_and_ends() -> None:
    rig = Rig()
    with capture_logs() as logged:
        for _ in range(2 * TIMES + 4):
            await rig.after(5.0)
    assert rig.kernel.raised == ["eth0"] * TIMES
    said = [line["event"] for line in logged if line.get("message") is Message.NOTE]
    assert said == ["Set eth0 up: another program had set it down, and the node has no address yet"] * TIMES


@pytest.mark.parametrize(
    ("link", "states"),
    [
        (ETH0, {"eth0": "unmanaged"}),
        (ETH0, {}),
        (Link(2, "eth0", carrier=False), None),
        (Link(1, "lo", up=False, loopback=True), {"lo": "unavailable"}),
        (Link(2, "ovs-system", up=False), {"ovs-system": "unavailable"}),
        (Link(2, "storage0", up=False, carrier=False), {"storage0": "unavailable"}),
    ],
    ids=["unmanaged", "unknown", "up", "loopback", "of-others", "denied-by-the-settings"],
)
async def test_no_other_link_is(link: Link, states: dict[str, str] | None) -> None:
    rig = Rig(link, states=states)
    for _ in range(3):
        assert isinstance(await rig.after(5.0), Waiting)
    assert rig.kernel.raised == []


async def test_nothing_is_done_once_there_is_an_address() -> None:
    rig = Rig()
    await rig.after(0.0)
    rig.stage.outcome = Done("Selected", Facts(), Message.NODE_IP_SELECTED)
    assert await rig.after(5.0) == rig.stage.outcome
    rig.stage.outcome = WAITS
    await rig.after(5.0)
    assert rig.kernel.raised == []


async def test_nothing_is_done_where_a_node_ip_was_published_in_this_boot() -> None:
    """An administrator may have set the link down; the status says how it is set up."""
    rig = Rig()
    rig.files.content[str(PRIMARY)] = b"192.0.2.5"
    for _ in range(3):
        assert await rig.after(5.0) == WAITS
    assert rig.kernel.raised == []


async def test_a_directory_that_cannot_be_listed_fails_nothing() -> None:
    """Nothing was published in it, and the stage that publishes says what is wrong with it."""
    rig = Rig()
    rig.files.bad[str(RUN)] = NodeFileInvalid(f"{RUN} cannot be listed: Not a directory")
    for _ in range(2):
        assert isinstance(await rig.after(5.0), Waiting)
    assert rig.kernel.raised == ["eth0"]


async def test_the_wait_goes_on_where_the_kernel_refuses() -> None:
    rig = Rig()
    await rig.after(0.0)
    rig.kernel.broken = Unavailable("eth0 cannot be set up: Operation not permitted")
    assert await rig.after(5.0) == WAITS


def given_up() -> Rig:
    """Return a node whose only link has a carrier, and is activated no more."""
    rig = Rig(Link(2, "eth0"), states={"eth0": "disconnected"})
    profile = Profile("u", "eth0", "802-3-ethernet", "eth0")
    rig.profiles.found = replace(rig.profiles.found, profiles=(profile,))
    return rig


async def test_a_link_that_networkmanager_has_given_up_is_activated_again_and_again() -> None:
    """With growing pauses; another host may answer its duplicate address detection for a while. It is said once."""
    rig = given_up()
    tries: list[int] = []
    pauses: list[float] = []
    with capture_logs() as logged:
        for _ in range(6):
            outcome = await rig.after(pauses[-1] if pauses else 0.0)
            assert isinstance(outcome, Waiting)
            pauses.append(outcome.seconds)
            tries.append(len(rig.profiles.done))
    assert (tries, pauses) == ([0, 1, 2, 3, 4, 5], [5, 5, 10, 20, 30, 30])
    assert rig.profiles.done == [("connect", "eth0")] * 5
    assert detail_of(outcome).startswith("NetworkManager could not activate eth0 and has given up")
    assert len([line for line in logged if line.get("message") is Message.NOTE]) == 1
    rig.profiles.found = replace(rig.profiles.found, states={"eth0": "activated"})
    assert [detail_of(await rig.after(30.0)) for _ in range(2)] == [WAITS.reason] * 2


@pytest.mark.parametrize(
    "change",
    [
        {"states": {"eth0": "disconnected (it was asked for)"}},
        {"states": {"eth0": "getting its IP configuration"}},
        {"profiles": (Profile("u", "p", "x", "eth0", settings={"connection": {"autoconnect": False}}),)},
        {"profiles": ()},
    ],
    ids=["an-administrator", "under-way", "by-hand-only", "no-profile"],
)
async def test_what_networkmanager_has_not_given_up_is_left_to_it(change: dict[str, Any]) -> None:
    rig = given_up()
    rig.profiles.found = replace(rig.profiles.found, **change)
    for _ in range(4):
        await rig.after(5.0)
    assert rig.profiles.done == []
