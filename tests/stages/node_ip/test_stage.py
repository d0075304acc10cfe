"""The nodeip stage: wait, settle, bind-test, publish; and that a second run writes nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from ipaddress import ip_address
from pathlib import PurePosixPath

import pytest

from fakes import FakeFiles, FakeKernel, FakeManager, FakeProfiles, FakeSystemd, stage_edges
from node_ip_rig import DEFAULT, ETH0, KUBELET, LINK_LOCAL, OTHER, PRIMARY, V4, V6, Rig, host
from nodenet.core.boot.outcome import Done, Facts, Topic, Waiting
from nodenet.core.boot.stage_state import Request
from nodenet.core.errors import NotAFile, PublishFailed, Unavailable
from nodenet.core.ip import Family
from nodenet.core.kernel.snapshot import Address, Link, NextHop, Snapshot
from nodenet.core.messages import Message
from nodenet.core.network_manager.objects import Inventory
from nodenet.core.network_manager.state import ManagerState, Service
from nodenet.core.node_ip.last_published import SELECTION
from nodenet.core.node_ip.patience import ANSWER_SECONDS, MOST_SECONDS
from nodenet.core.node_ip.policy import Policy, parse_value
from nodenet.core.node_ip.policy_from_settings import HINT_FILE, PolicyReading
from nodenet.core.settings.model import OnFailure, Settings
from nodenet.stages.node_ip.publish import RELOAD_OWED
from nodenet.stages.node_ip.stage import BACK_SECONDS, build


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
    rig.clock.now += MOST_SECONDS - 1
    assert isinstance(await rig.attempt(), Waiting)
    rig.clock.now += 2
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert outcome.problem
    assert outcome.problem.message is Message.NODE_IP_INCOMPLETE
    assert "IPv6" in outcome.problem.cause


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
    rig.clock.now += MOST_SECONDS + 1
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


# -- what is waited for, and what comes of it

ETH1 = Link(3, "eth1", mac="52:54:00:00:00:02")
ELSEWHERE = Address(ip_address("198.51.100.5"), 24, "eth1")
BY_ETH1 = replace(DEFAULT, next_hops=(NextHop("eth1", ip_address("198.51.100.1")),), metric=101)
ALONE = Snapshot((ETH0, ETH1), (ELSEWHERE,), (BY_ETH1,))
BOTH = Snapshot((ETH0, ETH1), (V4, ELSEWHERE), (DEFAULT, BY_ETH1))
GETTING = Inventory(activating=frozenset({"eth0"}), states={"eth0": "getting its IP configuration"})


def wished(*families: str) -> PolicyReading:
    return PolicyReading(Policy(families=tuple(map(Family, families)) or "auto"))


@pytest.mark.parametrize("end", ["it has its address", "its activation failed", "a minute is over"])
async def test_the_first_boot_chooses_once_network_manager_has_settled_the_links(end: str) -> None:
    """A DHCP answer that comes 20 s later than another one does not decide for all later boots."""
    rig = Rig(FakeKernel(ALONE), manager=FakeManager(ManagerState.STARTING), profiles=FakeProfiles(GETTING))
    for _ in range(2):
        outcome = await rig.attempt()
        assert isinstance(outcome, Waiting)
        state = "NetworkManager: getting its IP configuration"
        assert outcome.reason == f"eth0 may still get a better address ({state})"
        rig.clock.now += 20
    match end:
        case "it has its address":
            rig.kernel.now = BOTH
        case "its activation failed":
            rig.profiles.found = Inventory(settled=frozenset({"eth0", "eth1"}))
        case _:
            rig.clock.now += 21
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert outcome.facts.selection
    assert outcome.facts.selection.link == ("eth0" if end == "it has its address" else "eth1")


async def test_a_later_boot_waits_for_the_last_node_ip_and_no_other_takes_its_place() -> None:
    """For an hour: another NIC has an address all the time, and NetworkManager has ended its start."""
    rig = Rig(FakeKernel(BOTH))
    await rig.published()
    rig.reboot()
    rig.kernel.now = replace(ALONE, links=(replace(ETH0, carrier=False), ETH1))
    for _ in range(60):
        outcome = await rig.attempt()
        assert isinstance(outcome, Waiting)
        assert outcome.reason.startswith("192.0.2.5, the last node IP, to be back on eth0: eth0 has no carrier")
        assert outcome.seconds
        rig.clock.now += 60
    rig.kernel.now = BOTH
    assert (await rig.published()).selection.node_ips == (V4.address,)  # type: ignore[union-attr]


async def test_a_reselection_ends_the_wait() -> None:
    """The words of the wait say so."""
    rig = Rig(FakeKernel(BOTH))
    await rig.published()
    rig.reboot()
    rig.kernel.now = ALONE
    outcome = await rig.attempt()
    assert isinstance(outcome, Waiting)
    assert "`nodenetctl reselect`" in outcome.reason
    outcome = await rig.stage.attempt(Facts(), Request(reselect=True))
    assert isinstance(outcome, Done)
    assert not outcome.problem
    rig.reboot()
    rig.kernel.now = BOTH
    assert (await rig.published()).selection.node_ips == (ELSEWHERE.address,)  # type: ignore[union-attr]


async def test_a_setting_ends_the_wait_and_the_next_boot_has_learnt_nothing() -> None:
    """The node is degraded with a cause, also after a restart of the daemon; the next boot waits as this one did."""
    rig = Rig(FakeKernel(BOTH), node_ip_wait=100)
    await rig.published()
    for _ in range(2):
        rig.reboot()
        rig.kernel.now = ALONE
        assert isinstance(await rig.attempt(), Waiting)
        rig.clock.now += 99
        assert isinstance(await rig.attempt(), Waiting)
        rig.clock.now += 2
        for _ in range(2):
            outcome = await rig.attempt()
            assert isinstance(outcome, Done)
            assert rig.files.content[PRIMARY] == b"198.51.100.5"
            assert outcome.problem
            assert outcome.problem.message is Message.NODE_IP_INCOMPLETE
            assert outcome.problem.cause.startswith("192.0.2.5, the last node IP, did not come back")
            rig.restart()
    rig.reboot()
    rig.kernel.now = BOTH
    assert (await rig.published()).selection.node_ips == (V4.address,)  # type: ignore[union-attr]


async def test_a_second_family_that_nothing_names_has_a_moment_in_the_first_boot() -> None:
    """A router of a later boot adds none; a reselection takes it, and from then on each boot waits for it."""
    rig = Rig(FakeKernel(host(V4, LINK_LOCAL)), wishes=wished())
    outcome = await rig.attempt()
    assert isinstance(outcome, Waiting)
    assert outcome.reason == "no answer from an IPv6 router on eth0 yet"
    rig.clock.now += ANSWER_SECONDS[Family.IPV6] + 0.1
    await rig.published()
    rig.reboot()
    await rig.published()
    rig.reboot()
    rig.kernel.now = host(V4, V6, LINK_LOCAL)
    assert (await rig.published()).selection.node_ips == (V4.address,)  # type: ignore[union-attr]
    await rig.published(request=Request(reselect=True))
    for _ in range(2):
        rig.reboot()
        rig.kernel.now = host(V4, LINK_LOCAL)
        outcome = await rig.attempt()
        assert isinstance(outcome, Waiting)
        assert outcome.reason.startswith("2001:db8::5, the last node IP, to be back")
        rig.clock.now += MOST_SECONDS + 1
        assert (await rig.published()).selection.node_ips == (V4.address,)  # type: ignore[union-attr]


@pytest.mark.parametrize("failure", ["", "worker-0.yml is not valid"])
async def test_a_family_that_the_node_file_names_is_a_node_ips_and_no_other_one(failure: str) -> None:
    """Unless the file failed: it then says nothing of the network that is there."""
    rig = Rig(FakeKernel(host(V4, V6, LINK_LOCAL)), wishes=wished())
    facts = Facts(file_families=frozenset({Family.IPV4}), file_failure=failure)
    expected = (V4.address, V6.address) if failure else (V4.address,)
    assert (await rig.published(facts, Request(reselect=True))).selection.node_ips == expected  # type: ignore[union-attr]


async def test_a_network_manager_that_does_not_answer_holds_no_boot() -> None:
    """What the kernel shows is enough where nothing is better."""
    rig = Rig(FakeKernel(host(V4)), profiles=FakeProfiles(broken=Unavailable("no answer")))
    await rig.published()


# -- a node file that failed

FAILED = Facts(file_failure="worker-0.yml: line 4: Unknown key prefix-lenght")


async def test_a_first_file_that_fails_holds_kubelet() -> None:
    """DHCP gave an address that nobody asked for; the words name the cause, and an edit ends the wait."""
    rig = Rig(FakeKernel(host(V4)))
    outcome = await rig.stage.attempt(FAILED)
    assert isinstance(outcome, Waiting)
    held = "kubelet does not start with 192.0.2.5, which the node did not have in its last boot"
    assert outcome.reason == f"{FAILED.file_failure}; {held}; an edit of the file is taken by itself"
    assert rig.files.writes == []
    rig.kernel.now = host(OTHER)
    assert (await rig.published()).selection.node_ips == (OTHER.address,)  # type: ignore[union-attr]


async def test_a_file_that_fails_later_does_not_keep_the_node_from_its_own_address() -> None:
    """But from each other one: also a second family that a router gives in this boot alone."""
    rig = Rig(FakeKernel(host(V4)), wishes=wished())
    await rig.published()
    rig.reboot()
    rig.kernel.now = host(V4, V6, LINK_LOCAL)
    outcome = await rig.stage.attempt(FAILED)
    assert isinstance(outcome, Done)
    assert outcome.facts.selection
    assert outcome.facts.selection.node_ips == (V4.address,)
    rig.reboot()
    rig.kernel.now = host(OTHER)
    assert isinstance(await rig.stage.attempt(FAILED), Waiting)
    outcome = await rig.stage.attempt(FAILED, Request(reselect=True))
    assert isinstance(outcome, Done)
    assert isinstance(await rig.stage.attempt(FAILED), Done)


async def test_where_the_settings_say_so_kubelet_starts_with_any_address() -> None:
    for settings, outcome in ((Settings(), Waiting), (Settings(on_failure=OnFailure.DEGRADE), Done)):
        stage = build(stage_edges(kernel=FakeKernel(host(V4))), settings)
        assert isinstance(await stage.attempt(FAILED), outcome)
