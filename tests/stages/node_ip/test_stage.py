"""The nodeip stage: wait, settle, bind-test, publish; and that a second run writes nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from ipaddress import ip_address
from pathlib import PurePosixPath

import pytest

from fakes import FakeFiles, FakeKernel, FakeManager, FakeSystemd, stage_edges
from node_ip_rig import DEFAULT, DEFAULT6, ETH0, KUBELET, LINK_LOCAL, OTHER, PRIMARY, V4, V6, Rig, host
from nodenet.core.boot.facts import Facts
from nodenet.core.boot.outcome import Done, Topic, Waiting
from nodenet.core.boot.request import Request
from nodenet.core.errors import NotAFile, PublishFailed
from nodenet.core.ip import Family
from nodenet.core.kernel.snapshot import Address, AddressFlag, Link, NextHop, Snapshot
from nodenet.core.messages import Message
from nodenet.core.network_manager.availability import ManagerState, Service
from nodenet.core.node_ip.hints import parse_value
from nodenet.core.node_ip.last_published import SELECTION
from nodenet.core.node_ip.patience import (
    ANSWER_SECONDS,
    BEGUN_SECONDS,
    FAMILY_SECONDS,
    PATH_SECONDS,
    SETTLE_SECONDS,
)
from nodenet.core.node_ip.policy import Policy
from nodenet.core.node_ip.policy_from_settings import HINT_FILE, PolicyReading
from nodenet.core.settings.model import Settings
from nodenet.stages.node_ip.publish import RELOAD_OWED
from nodenet.stages.node_ip.stage import BACK_SECONDS
from nodenet.stages.node_ip.wiring import build


async def test_the_choice_is_published_and_systemd_reads_it() -> None:
    """Drop-ins, run files, record; one reload."""
    rig = Rig(FakeKernel(host(V4)))
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert outcome.facts.selection
    assert outcome.facts.selection.node_ips == (V4.address,)
    assert rig.files.content[PRIMARY] == b"192.0.2.5"
    assert b"KUBELET_NODE_IP=192.0.2.5" in rig.files.content[KUBELET]
    assert rig.systemd.reloads == 1
    assert str(RELOAD_OWED) not in rig.files.content


async def test_a_second_run_writes_nothing() -> None:
    """In the same boot by another daemon, and in the next boot on the disk."""
    rig = Rig(FakeKernel(host(V4)))
    await rig.attempt()
    rig.files.writes.clear()
    rig.restart()
    assert isinstance(await rig.attempt(), Done)
    assert rig.files.writes == []
    rig.reboot()
    await rig.attempt()
    assert all(path.startswith("/run/") for path in rig.files.writes)
    assert rig.systemd.reloads == 1


async def test_no_eligible_address_is_waited_for() -> None:
    """Nothing is written, the reason names the link."""
    rig = Rig(FakeKernel(host(LINK_LOCAL)))
    outcome = await rig.attempt()
    assert isinstance(outcome, Waiting)
    assert "eth0" in outcome.reason
    assert rig.files.writes == []


@pytest.mark.parametrize("state", [ManagerState.ABSENT, ManagerState.SILENT, ManagerState.NO_BUS])
async def test_where_nobody_can_bring_an_address_that_is_said_first(state: ManagerState) -> None:
    """With or without a publication of an earlier boot; once NetworkManager is there it goes without saying."""
    rig = Rig(FakeKernel(host(V4)))
    await rig.attempt()
    rig.reboot()
    rig.kernel.now = host(LINK_LOCAL)
    for reselect in (False, True):
        rig.manager.status = state
        outcome = await rig.stage.attempt(Facts(), Request(reselect=reselect))
        assert isinstance(outcome, Waiting)
        assert outcome.reason.startswith(f"{state}; eth0 ")
        assert Topic.NETWORK_MANAGER in outcome.topics
        rig.manager.status = ManagerState.READY
        outcome = await rig.stage.attempt(Facts(), Request(reselect=reselect))
        assert isinstance(outcome, Waiting)
        assert outcome.reason.startswith("eth0 ")


async def test_a_family_that_the_settings_name_is_waited_for_but_not_for_ever() -> None:
    """Then the node is degraded, and says which family is missing."""
    rig = Rig(FakeKernel(host(V4)), wishes=PolicyReading(Policy(families=(Family.IPV4, Family.IPV6))))
    assert isinstance(await rig.attempt(), Waiting)
    rig.clock.now += FAMILY_SECONDS - 1
    assert isinstance(await rig.attempt(), Waiting)
    rig.clock.now += 2
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert outcome.problem
    assert outcome.problem.message is Message.NODE_IP_INCOMPLETE
    assert "IPv6" in outcome.problem.cause


async def test_the_link_that_is_configured_first_is_not_chosen_for_that() -> None:
    """While NetworkManager starts, other links may get the better default route: waited for, and not for ever."""
    eth1 = Link(3, "eth1", mac="52:54:00:00:00:02")
    route = replace(DEFAULT, next_hops=(NextHop("eth1", ip_address("198.51.100.1")),))
    alone = Snapshot((ETH0, eth1), (Address(ip_address("198.51.100.5"), 24, "eth1"),), (route,))
    both = replace(alone, addresses=(V4, *alone.addresses), routes=(DEFAULT, *alone.routes))
    rig = Rig(FakeKernel(alone), manager=FakeManager(ManagerState.STARTING))
    outcome = await rig.attempt()
    assert isinstance(outcome, Waiting)
    assert "eth0 may still get" in outcome.reason
    assert Topic.NETWORK_MANAGER in outcome.topics
    # A static default route comes before its address, one of DHCP after it: neither alone means that eth0 is done.
    for half in (replace(both, addresses=alone.addresses), replace(both, routes=alone.routes)):
        rig.kernel.now = half
        assert isinstance(await rig.attempt(), Waiting)
    rig.kernel.now = both
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert outcome.facts.selection
    assert outcome.facts.selection.link == "eth0"
    for change in ("time", "NetworkManager"):
        rig = Rig(FakeKernel(alone), manager=FakeManager(ManagerState.STARTING))
        assert isinstance(await rig.attempt(), Waiting)
        if change == "time":
            rig.clock.now += SETTLE_SECONDS + 1
        else:
            rig.manager.status = ManagerState.READY
        assert isinstance(await rig.attempt(), Done), change


async def test_each_family_is_decided_for_itself() -> None:
    """A link's IPv6 says nothing of its IPv4, which may still be the better one; and it must not wait for itself."""
    eth1 = Link(3, "eth1", mac="52:54:00:00:00:02")
    of_eth1 = Address(ip_address("2001:db8::7"), 64, "eth1")
    by_router = replace(DEFAULT6, next_hops=(NextHop("eth1", ip_address("fe80::1")),))
    split = Snapshot((ETH0, eth1), (V4, of_eth1), (DEFAULT, by_router))
    rig = Rig(FakeKernel(split), manager=FakeManager(ManagerState.STARTING), wishes=PolicyReading(Policy()))
    outcome = await rig.attempt()
    assert isinstance(outcome, Waiting)
    assert "may still get a better address" in outcome.reason
    rig = Rig(FakeKernel(host(V4)), manager=FakeManager(ManagerState.STARTING))
    assert isinstance(await rig.attempt(), Done)


async def test_another_choice_than_the_last_is_no_matter_of_chance_either() -> None:
    """The address of the boot before is gone: other links are waited for as in a first boot."""
    rig = Rig(FakeKernel(host(OTHER)), manager=FakeManager(ManagerState.STARTING))
    assert isinstance(await rig.attempt(), Done)
    rig.reboot()
    rig.kernel.now = replace(host(V4), links=(ETH0, Link(3, "eth1", mac="52:54:00:00:00:02")))
    outcome = await rig.attempt()
    assert isinstance(outcome, Waiting)
    assert "eth1 may still get" in outcome.reason
    rig.kernel.now = replace(rig.kernel.now, addresses=(OTHER,))
    assert isinstance(await rig.attempt(), Done)


async def test_a_tentative_address_is_given_a_moment() -> None:
    """A bounded one, and none where nothing is pending. What began late, as after a late answer, gets its own."""
    tentative = Address(V6.address, 64, "eth0", flags=frozenset({AddressFlag.TENTATIVE}))
    rig = Rig(FakeKernel(host(V4, LINK_LOCAL, tentative)), wishes=PolicyReading(Policy()))
    assert isinstance(await rig.attempt(), Waiting)
    rig.kernel.now = host(V4, LINK_LOCAL, V6)
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert outcome.facts.selection
    assert outcome.facts.selection.node_ips == (V4.address, V6.address)
    rig = Rig(FakeKernel(host(V4, LINK_LOCAL)), wishes=PolicyReading(Policy()))
    await rig.attempt()
    rig.clock.now += SETTLE_SECONDS - 0.1
    rig.kernel.now = host(V4, LINK_LOCAL, tentative)
    assert isinstance(await rig.attempt(), Waiting)
    rig.clock.now += BEGUN_SECONDS
    assert isinstance(await rig.attempt(), Waiting)
    rig.clock.now += 0.2
    assert isinstance(await rig.attempt(), Done)


async def test_an_address_that_cannot_be_listened_on_makes_way_for_the_next() -> None:
    """Nothing unusable is published."""
    rig = Rig(FakeKernel(host(V4, OTHER), {V4.address}))
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert rig.files.content[PRIMARY] == b"192.0.2.6"


async def test_what_is_published_stays_while_it_is_on_the_node() -> None:
    """A reload with another hint does not change the node IP under a running kubelet; its loss does."""
    rig = Rig(FakeKernel(host(V4)))
    await rig.attempt()
    hints = parse_value("192.0.2.6", "test").hints
    rig.wishes = PolicyReading(Policy(families=(Family.IPV4,), hints=hints))
    rig.kernel.now = host(V4, OTHER)
    rig.restart()
    await rig.attempt()
    assert rig.files.content[PRIMARY] == b"192.0.2.5"
    rig.kernel.now = host(OTHER)
    await rig.attempt()
    assert rig.files.content[PRIMARY] == b"192.0.2.6"


async def test_a_daemon_killed_between_writing_and_reloading_reloads_later() -> None:
    """A file in /run remembers it."""
    rig = Rig(FakeKernel(host(V4)))
    rig.systemd.broken = PublishFailed("systemd does not answer")
    assert isinstance(await rig.attempt(), Waiting)
    assert str(RELOAD_OWED) in rig.files.content
    rig.systemd.broken = None
    rig.restart()
    await rig.attempt()
    assert rig.systemd.reloads == 1
    assert str(RELOAD_OWED) not in rig.files.content


async def test_kubelet_never_starts_with_the_drop_in_of_an_earlier_boot() -> None:
    """A drop-in that cannot be written holds it back; one that is right already does not matter."""
    rig = Rig(FakeKernel(host(V4)))
    await rig.attempt()
    rig.kernel.now = host(OTHER)
    rig.reboot()
    rig.files.broken = PublishFailed(f"{KUBELET}: Read-only file system", remedy="Mount it read-write")
    outcome = await rig.attempt()
    assert isinstance(outcome, Waiting)
    assert "Read-only file system" in outcome.reason


async def test_the_other_familys_file_goes_with_its_address() -> None:
    """Nothing stale is published."""
    rig = Rig(FakeKernel(host(V4, V6, LINK_LOCAL)), wishes=PolicyReading(Policy()))
    await rig.attempt()
    assert rig.files.content["/run/nodeip-configuration/ipv6"] == b"2001:db8::5"
    rig.kernel.now = host(V4)
    await rig.attempt()
    rig.clock.now += FAMILY_SECONDS + SETTLE_SECONDS
    await rig.attempt()
    assert "/run/nodeip-configuration/ipv6" not in rig.files.content


async def test_an_unreadable_hint_is_told_and_selection_goes_on() -> None:
    """Once, with file and line."""
    reading = parse_value("192.0.2.300", "/etc/default/nodeip-configuration, line 1")
    rig = Rig(FakeKernel(host(V4)), wishes=PolicyReading(Policy(families=(Family.IPV4,)), reading.problems))
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert outcome.facts.selection
    (note,) = outcome.facts.selection.notes
    assert note.startswith("/etc/default/nodeip-configuration, line 1: '192.0.2.300' is not a valid node IP hint")


def test_the_record_is_where_the_unit_lets_it_be() -> None:
    """ReadWritePaths= of the unit."""
    assert SELECTION.parent == PurePosixPath("/var/lib/nodenet")


async def test_a_reselection_forgets_what_is_published() -> None:
    """As a first boot would choose."""
    rig = Rig(FakeKernel(host(OTHER)))
    await rig.attempt()
    rig.kernel.now = host(V4, OTHER)
    assert isinstance(await rig.attempt(), Done)
    assert rig.files.content[PRIMARY] == b"192.0.2.6"
    assert rig.stage.explain(ignore_published=False).node_ips == (OTHER.address,)
    assert rig.stage.explain(ignore_published=True).node_ips == (V4.address,)
    outcome = await rig.stage.attempt(Facts(), Request(reselect=True))
    assert isinstance(outcome, Done)
    assert rig.files.content[PRIMARY] == b"192.0.2.5"


@pytest.mark.parametrize("after", ["a reload", "a restart"])
async def test_what_kubelet_runs_with_is_not_replaced_by_a_reload(after: str) -> None:
    """Nor by a restart of the daemon: the loss is told, and only a reselection publishes another address."""
    rig = Rig(FakeKernel(host(V4)))
    done = await rig.attempt()
    assert isinstance(done, Done)
    facts = done.facts
    if after == "a restart":
        rig.restart()
        facts = Facts()
    rig.kernel.now = host(OTHER)
    rig.systemd.running = {"crio.service"}
    rig.files.writes.clear()
    for there in (host(), host(OTHER)):
        rig.kernel.now = there
        outcome = await rig.stage.attempt(facts)
        assert isinstance(outcome, Waiting)
        assert outcome.reason == "192.0.2.5, which kubelet or CRI-O runs with, to be back"
    eth1 = Link(3, "eth1", mac="52:54:00:00:00:02")
    elsewhere = replace(DEFAULT, next_hops=(NextHop("eth1", None),))
    rig.kernel.now = Snapshot((ETH0, eth1), (replace(OTHER, link="eth1"),), (elsewhere,))
    rig.clock.now += BACK_SECONDS
    outcome = await rig.stage.attempt(facts)
    assert isinstance(outcome, Done)
    assert outcome.facts.selection
    assert (outcome.facts.selection.node_ips, outcome.facts.selection.link) == ((V4.address,), "eth0")
    assert rig.files.writes == []
    assert rig.stage.drift(outcome.facts)
    assert not outcome.problem
    outcome = await rig.stage.attempt(outcome.facts, Request(reselect=True))
    assert isinstance(outcome, Done)
    assert rig.files.content[PRIMARY] == b"192.0.2.6"


async def test_an_address_that_comes_back_during_a_look_has_not_been_refused() -> None:
    """The selection is of a moment before, while systemd is asked: a reload reported a problem of the node IP."""

    @dataclass
    class Meanwhile(FakeSystemd):
        async def any_runs(self, units: Sequence[str]) -> bool | None:
            rig.kernel.now = host(V4)
            return await super().any_runs(units)

    rig = Rig(FakeKernel(host(V4)), systemd=Meanwhile())
    facts = await rig.published()
    rig.systemd.running = {"kubelet.service"}
    rig.kernel.now = host(OTHER)
    outcome = await rig.stage.attempt(facts)
    assert isinstance(outcome, Waiting)
    assert outcome.reason == "192.0.2.5, which kubelet or CRI-O runs with, to be back"
    outcome = await rig.stage.attempt(facts)
    assert isinstance(outcome, Done)
    assert not outcome.problem


async def test_a_record_that_could_not_be_written_is_written_when_the_node_ip_is_kept() -> None:
    """Without it the next boot would not know the choice; the status does not forget that it is missing."""
    rig = Rig(FakeKernel(host(V4)))
    full = PublishFailed(f"{SELECTION} cannot be written: No space left on device", remedy="Look at `df -h`")
    rig.files.bad[str(SELECTION)] = full
    facts = await rig.published()
    rig.systemd.running = {"kubelet.service"}
    rig.kernel.now = host(OTHER)
    del rig.files.bad[str(SELECTION)]
    await rig.stage.attempt(facts)
    rig.clock.now += BACK_SECONDS
    kept = await rig.stage.attempt(facts)
    assert isinstance(kept, Done)
    assert kept.problem is None
    assert json.loads(rig.files.content[str(SELECTION)])["addresses"] == ["192.0.2.5"]


async def test_before_kubelet_runs_the_choice_may_change() -> None:
    """It has not seen the first one: the gate stands behind the last stage."""
    rig = Rig(FakeKernel(host(V4)))
    await rig.attempt()
    rig.kernel.now = host(OTHER)
    rig.systemd.running = {"sshd.service"}
    await rig.attempt()
    assert rig.files.content[PRIMARY] == b"192.0.2.6"


async def test_a_published_address_that_may_not_be_one_any_more_is_told() -> None:
    """It is on the node, so that it is not lost; it has turned out to be a VIP."""
    rig = Rig(FakeKernel(host(V4, OTHER)))
    await rig.attempt()
    rig.systemd.running = {"kubelet.service"}
    rig.wishes = PolicyReading(Policy(families=(Family.IPV4,), api_vips=(V4.address,)))
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert outcome.problem
    assert outcome.problem.cause == "192.0.2.5, published as node IP, would not be selected now"
    assert rig.files.content[PRIMARY] == b"192.0.2.5"


async def test_a_published_address_that_is_gone_is_drift() -> None:
    """Told with the remedy, never mended by another choice."""
    rig = Rig(FakeKernel(host(V4)))
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert rig.stage.drift(outcome.facts) is None
    rig.kernel.now = host()
    drift = rig.stage.drift(outcome.facts)
    assert drift
    assert drift.cause == "Node IP 192.0.2.5 is missing (eth0: no address)"


async def test_a_router_that_gives_no_address_is_given_the_time_once() -> None:
    """It advertises itself, and DHCPv6 is not there: later boots do not wait, until something else is on its way."""
    advertised = Snapshot((ETH0,), (V4, LINK_LOCAL), (DEFAULT, replace(DEFAULT6, protocol="ra")))
    rig = Rig(FakeKernel(advertised), wishes=PolicyReading(Policy()))
    assert isinstance(await rig.attempt(), Waiting)
    rig.clock.now += SETTLE_SECONDS + BEGUN_SECONDS + 1
    assert isinstance(await rig.attempt(), Done)
    record = rig.files.content[str(SELECTION)]
    for _ in range(2):
        rig.reboot()
        assert isinstance(await rig.attempt(), Done)
    assert rig.files.content[str(SELECTION)] == record
    rig.reboot()
    tentative = Address(V6.address, 64, "eth0", flags=frozenset({AddressFlag.TENTATIVE}))
    rig.kernel.now = replace(advertised, addresses=(*advertised.addresses, tentative))
    assert isinstance(await rig.attempt(), Waiting)


async def test_a_link_that_a_vip_points_to_is_given_its_time_once() -> None:
    """No fall-through to the default route in the first boot; a boot with the same result does not wait again."""
    eth1 = Link(3, "eth1", mac="52:54:00:00:00:02")
    snapshot = Snapshot((ETH0, eth1), (V4,), (DEFAULT,))
    wishes = PolicyReading(Policy(families=(Family.IPV4,), api_vips=(ip_address("198.51.100.1"),)))
    rig = Rig(FakeKernel(snapshot), wishes=wishes)
    assert isinstance(await rig.attempt(), Waiting)
    rig.clock.now += SETTLE_SECONDS + 1
    assert isinstance(await rig.attempt(), Waiting)
    rig.clock.now += PATH_SECONDS
    assert isinstance(await rig.attempt(), Done)
    rig.reboot()
    assert isinstance(await rig.attempt(), Done)


async def test_a_dhcp_server_is_given_the_time_to_answer_once() -> None:
    """A router that is faster than DHCP does not make the node speak IPv6 alone in all later boots."""
    rig = Rig(FakeKernel(host(LINK_LOCAL, V6)), wishes=PolicyReading(Policy()))
    outcome = await rig.attempt()
    assert isinstance(outcome, Waiting)
    assert outcome.reason == "no answer from a DHCP server on eth0 yet"
    rig.clock.now += SETTLE_SECONDS + 1
    assert isinstance(await rig.attempt(), Waiting)
    alone, rig.kernel.now = rig.kernel.now, host(V4, LINK_LOCAL, V6)
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert outcome.facts.selection
    assert outcome.facts.selection.node_ips == (V4.address, V6.address)
    tentative = Address(ip_address("2001:db8::4"), 64, "eth0", flags=frozenset({AddressFlag.TENTATIVE}))
    rig = Rig(FakeKernel(host(LINK_LOCAL, V6, tentative)), wishes=PolicyReading(Policy()))
    await rig.attempt()
    rig.clock.now += SETTLE_SECONDS + BEGUN_SECONDS + 1
    assert isinstance(await rig.attempt(), Waiting), "what else is waited for does not cut it short"
    rig = Rig(FakeKernel(alone), wishes=PolicyReading(Policy()))
    await rig.attempt()
    rig.clock.now += ANSWER_SECONDS[Family.IPV4] + 1
    assert isinstance(await rig.attempt(), Done)
    rig.reboot()
    assert isinstance(await rig.attempt(), Done)


async def test_a_router_on_the_first_link_is_given_the_time_though_another_one_has_ipv6() -> None:
    """Both families on one link are better, and which router is faster must not decide."""
    eth1 = Link(3, "eth1", mac="52:54:00:00:00:02")
    there = Address(ip_address("2001:db8::7"), 64, "eth1")
    by_router = replace(DEFAULT6, next_hops=(NextHop("eth1", ip_address("fe80::1")),))
    rig = Rig(
        FakeKernel(Snapshot((ETH0, eth1), (V4, LINK_LOCAL, there), (DEFAULT, by_router))),
        wishes=PolicyReading(Policy()),
    )
    outcome = await rig.attempt()
    assert isinstance(outcome, Waiting)
    assert outcome.reason == "no answer from an IPv6 router on eth0 yet"
    rig.clock.now += SETTLE_SECONDS + 1
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    rig.reboot()
    assert isinstance(await rig.attempt(), Done)


async def test_a_router_is_given_the_time_to_answer_once() -> None:
    """With `auto` the second family is not lost to a race; where no router answered, no later boot waits for it."""
    rig = Rig(FakeKernel(host(V4, LINK_LOCAL)), wishes=PolicyReading(Policy()))
    outcome = await rig.attempt()
    assert isinstance(outcome, Waiting)
    assert "router" in outcome.reason
    rig.kernel.now = host(V4, LINK_LOCAL, V6)
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert rig.files.content["/run/nodeip-configuration/ipv6"] == b"2001:db8::5"
    rig = Rig(FakeKernel(host(V4, LINK_LOCAL)), wishes=PolicyReading(Policy()))
    await rig.attempt()
    rig.clock.now += SETTLE_SECONDS + 1
    assert isinstance(await rig.attempt(), Done)
    rig.reboot()
    assert isinstance(await rig.attempt(), Done)


async def test_a_host_without_ipv6_waits_for_no_router() -> None:
    """Nothing was asked."""
    assert isinstance(await Rig(FakeKernel(host(V4)), wishes=PolicyReading(Policy())).attempt(), Done)


async def test_a_network_manager_that_will_not_come_is_told_with_the_way_out() -> None:
    """And looked at again soon: no event tells that somebody unmasked it."""
    rig = Rig(FakeKernel(host(LINK_LOCAL)), manager=FakeManager(ManagerState.ABSENT))
    rig.systemd.stands = Service("masked")
    outcome = await rig.attempt()
    assert isinstance(outcome, Waiting)
    assert outcome.reason.startswith("NetworkManager is masked (systemctl unmask NetworkManager; ")
    assert "eth0" in outcome.reason
    assert outcome.seconds <= 5.0


async def test_a_directory_in_the_place_of_the_hint_file_has_no_hint() -> None:
    """A container runtime makes one for a mount of a file that does not exist; kubelet starts all the same (R15)."""
    wrong = NotAFile(f"{HINT_FILE} cannot be read: Is a directory", remedy="Remove this directory")
    kernel, files = FakeKernel(host(V4)), FakeFiles(bad={HINT_FILE: wrong})
    stage = build(stage_edges(kernel=kernel, files=files), Settings(families=("ipv4",)))
    outcome = await stage.attempt(Facts())
    assert isinstance(outcome, Done), outcome
    assert outcome.facts.selection
    assert outcome.facts.selection.node_ips == (V4.address,)
    assert outcome.facts.selection.notes == (f"{wrong}",)


async def test_a_hint_file_that_cannot_be_read_is_waited_for() -> None:
    """It may ask for another node IP."""
    unread = PublishFailed(f"{HINT_FILE} cannot be read: Input/output error", remedy="The disk fails")
    kernel, files = FakeKernel(host(V4)), FakeFiles(bad={HINT_FILE: unread})
    with pytest.raises(PublishFailed):
        await build(stage_edges(kernel=kernel, files=files), Settings()).attempt(Facts())
