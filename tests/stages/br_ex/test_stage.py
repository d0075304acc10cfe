"""The configure-ovs stage: prove, make, carry, finish, keep, mend, remove; and what it says when it cannot."""

from __future__ import annotations

from dataclasses import dataclass, replace
from ipaddress import ip_address
from pathlib import PurePosixPath

import pytest
from structlog.testing import capture_logs

from br_ex_rig import FLAG, NODE_IP, Rig, interrupted
from fakes import BOOT_ID, FakeFiles, FakeKernel, FakeNmstate, FakeOvsdb, FakeSystemd
from nodenet.core.apply import intent
from nodenet.core.apply.intent import Intent, Phase
from nodenet.core.boot.outcome import Again, Done, Facts, Failed, Problem, Topic, Waiting
from nodenet.core.boot.stage_state import Request
from nodenet.core.br_ex.record import BridgeRecord
from nodenet.core.errors import NodenetError, PublishFailed, RollbackFailed, Unavailable
from nodenet.core.kernel.snapshot import Snapshot
from nodenet.core.messages import Message
from nodenet.core.network_manager.profiles import KEYFILES, Profile
from nodenet.core.network_manager.state import ManagerState
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.node_ip.rules import Rule as NodeIpRule
from nodenet.core.node_ip.select import Candidate, Selection, Verdict
from nodenet.stages.apply.records import BRIDGE, BRIDGE_INTENT
from nodenet.stages.br_ex.stage import PATIENCE_SECONDS


async def test_nothing_is_touched_before_open_vswitch_is_seen_to_work() -> None:
    """Waited for in words, not for ever, and tried again when it comes."""
    rig = Rig(ovsdb=FakeOvsdb(dead=Unavailable("ovs-vswitchd is gone", remedy="start it")))
    first = await rig.attempt()
    assert isinstance(first, Waiting)
    assert first.reason == "ovs-vswitchd is gone"
    rig.clock.now += PATIENCE_SECONDS
    late = await rig.attempt()
    assert isinstance(late, Failed)
    assert late.problem.remedy == "start it"
    assert late.again
    assert Topic.OVS in late.again.topics
    assert rig.nmstate.applied == []
    rig.ovsdb.dead = None
    assert isinstance(await rig.attempt(), Done)


@pytest.mark.parametrize(("link", "is_looked_at"), [("br-ex", True), ("eth0", False)])
async def test_a_bridge_that_has_the_node_ip_is_looked_at_again_in_time(link: str, *, is_looked_at: bool) -> None:
    """The watch asks over the bridge, which has no uplink: it never sees that the cable is back."""
    rig = Rig(ovsdb=FakeOvsdb(dead=Unavailable("ovs-vswitchd is gone", remedy="start it")))
    facts = Facts(selection=Selection(rig.node_ips, link))
    await rig.stage.attempt(facts, Request())
    rig.clock.now += PATIENCE_SECONDS
    late = await rig.stage.attempt(facts, Request())
    assert isinstance(late, Failed)
    assert late.again
    assert bool(late.again.seconds) is is_looked_at


async def test_a_silent_server_leaves_the_lease_carried_and_the_finish_owed() -> None:
    """It is finished when the server answers with the same address."""
    rig = Rig(server=None)
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert outcome.problem is None
    assert outcome.again
    assert outcome.again.seconds
    assert rig.record.finish
    assert rig.given_back == [{"ipv4": {"dns-data": ["10.88.0.1"]}}]
    assert len(rig.nmstate.applied) == 1
    assert "is static until the DHCP server confirms it" in outcome.detail
    rig.server = NODE_IP
    rig.place("br-ex")
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert "static" not in outcome.detail
    assert rig.given_back[1:] == [{"ipv4": {"address-data": [], "route-data": [], "dns-data": None}}]
    assert rig.record.finish is None


async def test_a_server_that_stays_silent_is_looked_for_ever_more_rarely_and_at_little_cost() -> None:
    """It may be silent for days: what costs more than a question to NetworkManager is not done each time."""
    rig = Rig(server=None)
    await rig.attempt()
    rig.ovsdb.dead = Unavailable("nobody asks")
    pauses = []
    for _ in range(5):
        outcome = await rig.attempt()
        assert isinstance(outcome, Done)
        assert outcome.again
        assert outcome.problem is None
        pauses.append(outcome.again.seconds)
    assert pauses == [4, 8, 15, 15, 15]


async def test_another_lease_changes_no_address_and_is_a_problem() -> None:
    """A rollback would get the other address too: the carried one is kept."""
    rig = Rig(server=ip_address("10.88.0.222"))
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert outcome.problem
    assert outcome.problem.message is Message.LEASE_LOST
    assert "10.88.0.222" in outcome.problem.cause
    assert (len(rig.nmstate.applied), rig.manager.rolled_back) == (1, [])


async def test_a_carried_lease_is_given_up_when_it_ends() -> None:
    """The server that is silent then may have given the address to somebody else."""
    rig = Rig(server=None)
    await rig.attempt()
    rig.nmstate.left = {}
    left = rig.record.leases["br-ex"].seconds
    assert left
    rig.clock.now += left
    rig.nmstate.during_apply = lambda: None
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert outcome.problem
    assert outcome.problem.message is Message.LEASE_LOST
    assert rig.record.finish is None


async def test_an_apply_that_fails_is_never_tried_again_by_a_timer() -> None:
    """Pods run by then, and each try costs the node its address for a while: an event or an order is waited for."""
    failure = NmstateFailure(FailureKind.VERIFICATION, "br-ex is not there")
    rig = Rig(nmstate=FakeNmstate({"interfaces": [{"name": "br-ex"}]}, fails=[failure]))
    began = rig.clock.boottime()
    outcome = await rig.attempt()
    assert isinstance(outcome, Failed)
    assert outcome.again is not None
    assert outcome.again == Again(frozenset({Topic.OVS, Topic.UPLINK}), since=outcome.again.since)
    assert outcome.again.since >= began > 0  # what came before the try is no reason for another one
    assert outcome.problem.remedy.endswith("; then run `nodenetctl bridge make`")


async def test_events_bring_about_a_bounded_number_of_tries() -> None:
    """A gateway that comes and goes would cut the node off again and again; an order starts the count again."""
    failures: list[NodenetError] = [NmstateFailure(FailureKind.VERIFICATION, "br-ex is not there") for _ in range(9)]
    rig = Rig(nmstate=FakeNmstate({"interfaces": [{"name": "br-ex"}]}, fails=failures))
    facts = Facts(selection=Selection(rig.node_ips, "eth0"))
    outcomes = [await rig.stage.attempt(facts, Request(1, retry_refused=True)) for _ in range(5)]
    assert [bool(each.again and each.again.topics) for each in outcomes if isinstance(each, Failed)] == [True] * 4 + [
        False
    ]
    assert isinstance(outcomes[-1], Failed)
    assert "in 5 tries" in outcomes[-1].problem.cause
    outcomes = [await rig.stage.attempt(facts, Request(2, retry_refused=True)) for _ in range(4)]
    assert all(isinstance(each, Failed) and each.again and each.again.topics for each in outcomes)
    assert isinstance(await rig.stage.attempt(facts, Request(2, retry_refused=True)), Done)
    assert rig.nmstate.fails == []


@pytest.mark.parametrize(
    ("kubelet", "request_", "tries"),
    [
        (True, Request(), 0),
        (True, Request(by_name=True), 1),
        (True, Request(retry_refused=True), 1),
        (False, Request(), 1),
    ],
    ids=["pods", "make", "reload", "no-pods"],
)
async def test_a_restart_of_nodenetd_is_no_reason_for_another_try(
    request_: Request, tries: int, *, kubelet: bool
) -> None:
    """An upgrade of the package, or a kill by the watchdog, on a node whose br-ex failed in this boot."""
    rig = Rig(nmstate=FakeNmstate({"interfaces": [{"name": "br-ex"}]}))
    rig.files.content[str(BRIDGE_INTENT)] = intent.render(Intent("d", Phase.ROLLED_BACK, BOOT_ID, 5.0, cause="why"))
    rig.systemd.running = {"kubelet.service"} if kubelet else set()
    outcome = await rig.stage.attempt(Facts(selection=Selection(rig.node_ips, "eth0")), request_)
    assert len(rig.nmstate.applied) == tries
    assert isinstance(outcome, Done if tries else Failed)


@pytest.mark.parametrize(("kubelet", "tries"), [(True, 0), (False, 1)], ids=["pods", "no-pods"])
async def test_the_end_of_a_rollback_is_no_reason_for_another_try(tries: int, *, kubelet: bool) -> None:
    """NetworkManager refused the rollback, and its own timer brought the network back later."""
    failure = RollbackFailed("NetworkManager could not roll back checkpoint 1", remedy="Look")
    rig = Rig(nmstate=FakeNmstate({"interfaces": [{"name": "br-ex"}]}, fails=[failure]))
    rig.nmstate.during_apply = lambda: None
    first = await rig.attempt()
    assert isinstance(first, Failed)
    assert first.problem.message is Message.ROLLBACK_FAILED
    tried = len(rig.nmstate.applied)
    rig.systemd.running = {"kubelet.service"} if kubelet else set()
    rig.nmstate.during_apply = lambda: rig.place("br-ex")
    outcome = await rig.attempt()
    assert len(rig.nmstate.applied) - tried == tries
    assert isinstance(outcome, Done if tries else Failed)
    assert isinstance(await rig.attempt(), Done), "an event that comes later is a reason"


async def test_an_apply_that_was_interrupted_has_not_failed() -> None:
    """Open vSwitch came back later: the first whole try of this boot is made, though kubelet runs."""
    rig = Rig(nmstate=FakeNmstate({"interfaces": [{"name": "br-ex"}]}))
    rig.files.content[str(BRIDGE_INTENT)] = intent.render(Intent("d", Phase.ROLLED_BACK, BOOT_ID, 5.0))
    rig.systemd.running = {"kubelet.service"}
    assert isinstance(await rig.stage.attempt(Facts(selection=Selection(rig.node_ips, "eth0")), Request()), Done)


async def test_a_missing_dependency_that_libnmstate_found_is_not_tried_again_on_events_of_networkmanager() -> None:
    """Its rollback raises them itself."""
    failure = NmstateFailure(FailureKind.DEPENDENCY, "something is missing")
    rig = Rig(nmstate=FakeNmstate({"interfaces": [{"name": "br-ex"}]}, fails=[failure]))
    outcome = await rig.attempt()
    assert isinstance(outcome, Failed)
    assert outcome.again is not None
    assert outcome.again.topics == {Topic.OVS, Topic.UPLINK}


@dataclass
class AwayKernel(FakeKernel):
    """A kernel without addresses for the next looks, *away* in number."""

    away: int = 0

    def snapshot(self) -> Snapshot:
        self.away -= 1
        return self.now if self.away < 0 else Snapshot()


async def test_after_a_rollback_the_node_ip_is_waited_for() -> None:
    """Otherwise READY found it missing: it comes back some time after NetworkManager's answer to the rollback."""
    failure = NmstateFailure(FailureKind.VERIFICATION, "br-ex is not there")
    kernel = AwayKernel()
    rig = Rig(nmstate=FakeNmstate({"interfaces": [{"name": "br-ex"}]}, fails=[failure]), kernel=kernel)

    def apply() -> None:
        kernel.away = 3

    rig.nmstate.during_apply = apply
    assert isinstance(await rig.attempt(), Failed)
    assert kernel.away == -1


async def test_an_uplink_that_cannot_be_is_refused_with_nothing_touched() -> None:
    """With the file's name and what to do."""
    rig = Rig("refused-unknown-link")
    rig.files.content["/etc/ovnk/default_bridge"] = b"enp9s0\n"
    outcome = await rig.attempt()
    assert isinstance(outcome, Failed)
    assert outcome.problem.message is Message.UPLINK_REFUSED
    assert "/etc/ovnk/default_bridge" in outcome.problem.cause
    assert outcome.problem.remedy
    assert rig.nmstate.applied == []


async def test_the_old_script_s_bridge_is_adopted_as_it_is() -> None:
    """Whatever the difference to a bridge of ours would be: nothing is applied."""
    rig = Rig("standing-old-script")
    rig.place("br-ex")
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert rig.nmstate.applied == []
    assert rig.record.adopted
    assert rig.ovsdb.marked == [("br-ex", "nodenet-adopted", "eth0")]


async def test_a_bridge_that_is_marked_as_adopted_is_not_marked_again() -> None:
    """The second run writes nothing."""
    rig = Rig("standing-old-script-adopted")
    rig.place("br-ex")
    await rig.attempt()
    rig.files.writes.clear()
    again = Rig("standing-old-script-adopted", files=rig.files)
    again.place("br-ex")
    assert isinstance(await again.attempt(), Done)
    assert (rig.ovsdb.marked, again.ovsdb.marked, rig.files.writes) == ([], [], [])


@pytest.mark.parametrize("case", ["standing-old-script-with-ports-of-others", "standing-ours-with-ports-of-others"])
async def test_ports_of_others_are_neither_the_uplink_nor_a_difference(case: str) -> None:
    """Neither taken for the uplink nor for a difference; said once a boot."""
    rig = Rig(case)
    rig.place("br-ex")
    rig.nmstate.left = {}
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert outcome.facts.uplink == "eth0"
    assert (rig.nmstate.applied, rig.ovsdb.removed) == ([], [])
    said = rig.files.content["/run/nodenet/ports-of-others"].decode().splitlines()
    assert [line.split()[5] for line in said] == ["aaa0", "tenant0"]


async def test_a_foreign_bridge_is_named_and_left_alone() -> None:
    """Neither made nor mended."""
    rig = Rig("stale-foreign-bridge")
    outcome = await rig.attempt()
    assert isinstance(outcome, Failed)
    assert outcome.problem.message is Message.BRIDGE_FOREIGN
    assert (rig.nmstate.applied, rig.ovsdb.removed, rig.profiles.done) == ([], [], [])


@pytest.mark.parametrize("case", ["stale-bridge-without-profile", "stale-port-without-link"])
async def test_what_is_dead_in_the_database_and_ours_is_taken_out(case: str) -> None:
    """Then the bridge is made."""
    rig = Rig(case)
    await rig.attempt()
    assert rig.ovsdb.removed


async def test_a_bridge_that_is_there_before_any_record_is_remembered() -> None:
    """The state directory was lost, the bridge was not."""
    rig = Rig("standing-ours", nmstate=FakeNmstate())
    rig.place("br-ex")
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert outcome.message is Message.NETWORK_UNCHANGED
    assert (rig.nmstate.applied, rig.record.uplinks) == ([], {"br-ex": "eth0"})


async def test_ovn_is_kept_from_an_old_database_once_a_boot() -> None:
    """Later it may have been told a new one."""
    rig = Rig()
    await rig.attempt()
    await Rig(files=rig.files, ovsdb=rig.ovsdb).attempt()
    assert rig.ovsdb.parked == 1


@pytest.mark.parametrize(
    "systemd",
    [FakeSystemd(running={"kubelet.service"}), FakeSystemd(running={"crio.service"}), FakeSystemd(silent=True)],
)
async def test_ovn_keeps_its_database_on_a_node_that_runs(systemd: FakeSystemd) -> None:
    """OVN-Kubernetes has set it in this boot, and sets it only when it starts: pods would have no network (R18)."""
    rig = Rig(systemd=systemd)
    assert isinstance(await rig.attempt(), Done)
    assert rig.ovsdb.parked == 0


async def test_a_full_run_directory_does_not_cut_ovn_off_later() -> None:
    """Kubelet is started without br-ex meanwhile, and with it OVN-Kubernetes."""
    rig = Rig(files=FakeFiles(broken=PublishFailed("No space left on device")))
    assert isinstance(await rig.attempt(), Failed)
    rig.systemd.running.add("kubelet.service")
    rig.files.broken = None
    assert isinstance(await rig.attempt(), Done)
    assert rig.ovsdb.parked == 1


async def test_a_node_that_has_its_address_is_not_mended() -> None:
    """configure-ovs sees to the rest."""
    rig = Rig()
    interrupted(rig)
    await rig.look(Facts(selection=Selection((NODE_IP,), "eth0")))
    assert rig.ovsdb.removed == []
    assert rig.phase is Phase.GOOD


async def test_a_bridge_that_is_found_good_after_an_interrupted_apply_survives_a_power_cut() -> None:
    """NetworkManager has not synced its keyfiles: with one of them lost the node would have no network for ever."""
    rig = Rig()
    interrupted(rig)
    await rig.look(Facts(selection=Selection((NODE_IP,), "eth0")))
    good = len(rig.files.writes) - 1 - rig.files.writes[::-1].index(str(BRIDGE_INTENT))
    assert f"sync {KEYFILES}" in rig.files.writes[:good]


async def test_a_bridge_whose_profiles_cannot_be_synced_is_not_said_to_be_good() -> None:
    rig = Rig()
    interrupted(rig)
    rig.files.bad[str(KEYFILES)] = PublishFailed("Input/output error")
    await rig.look(Facts(selection=Selection((NODE_IP,), "eth0")))
    assert rig.phase is Phase.APPLYING


def test_the_paths_are_where_other_software_looks() -> None:
    """They are a contract."""
    assert PurePosixPath(FLAG).parent == PurePosixPath("/run/nodeip-configuration")
    assert replace(BridgeRecord({}), finish={}).finished().finish is None


async def test_without_network_managers_plugin_nothing_is_touched() -> None:
    """An apply would find out in its middle, and its rollback costs the address for a moment."""
    rig = Rig()
    rig.profiles.found = replace(rig.profiles.found, ovs=False)
    outcome = await rig.attempt()
    assert isinstance(outcome, Failed)
    assert "plugin" in outcome.problem.cause
    assert rig.nmstate.applied == []
    assert outcome.again
    assert Topic.NETWORK_MANAGER in outcome.again.topics


async def test_nothing_is_made_of_a_link_whose_address_came_after_it_was_looked_at() -> None:
    """The cable was plugged in again: br-ex got the empty configuration of before, for ever."""
    rig = Rig()
    shown = rig.nmstate.shown
    bare = {"ipv4": {"enabled": False}, "ipv6": {"enabled": False}}
    items = [item | bare if item["name"] == "eth0" else item for item in shown["interfaces"]]
    rig.nmstate.shown = {**shown, "interfaces": items}
    outcome = await rig.attempt()
    assert isinstance(outcome, Waiting)
    assert outcome.reason == f"the node IP {NODE_IP} came to eth0 while br-ex was planned"
    assert rig.nmstate.applied == []
    rig.nmstate.shown = shown
    assert isinstance(await rig.attempt(), Done)


async def test_nothing_is_made_of_a_link_that_networkmanager_has_not_activated() -> None:
    """Its addresses are of an earlier activation, its routes are gone: br-ex lacked the default route."""
    rig = Rig()
    active = rig.devices
    rig.devices = tuple(replace(each, profile=None) if each.link == "eth0" else each for each in active)
    rig.known = tuple(replace(each, link="eth0") for each in rig.known)
    rig.place("eth0")
    outcome = await rig.attempt()
    assert isinstance(outcome, Waiting)
    assert outcome.reason.startswith("NetworkManager has not activated '")
    assert rig.nmstate.applied == []
    rig.devices = active
    rig.place("eth0")
    assert isinstance(await rig.attempt(), Done)


async def test_nothing_is_made_while_the_node_ip_is_away() -> None:
    """After a rollback it is on its way back: a plan without it would not keep it."""
    rig = Rig()
    rig.kernel.unbindable.add(NODE_IP)
    outcome = await rig.attempt()
    assert isinstance(outcome, Waiting)
    assert str(NODE_IP) in outcome.reason
    assert rig.nmstate.applied == []


def _with_profile_of_an_administrator(rig: Rig) -> None:
    """Let eth0 have a profile that was made after br-ex, with an address of its own."""
    new = Profile("u-of-the-administrator", "eth0-new-net", "802-3-ethernet", link="eth0")
    rig.node_ips, rig.known = (ip_address("10.99.0.5"),), (*rig.known, new)
    rig.place("eth0")


async def test_a_node_that_was_readdressed_after_a_failed_apply_is_left_alone() -> None:
    """The apply was rolled back: the next boot has nothing to repair (R1)."""
    failure = NmstateFailure(FailureKind.VERIFICATION, "br-ex is not there")
    rig = Rig(nmstate=FakeNmstate({"interfaces": [{"name": "br-ex"}]}, fails=[failure]))
    assert isinstance(await rig.attempt(), Failed)
    assert rig.phase is Phase.ROLLED_BACK
    later = Rig(files=rig.files)
    _with_profile_of_an_administrator(later)
    for _ in range(8):
        later.clock.now += 1
        await later.look(Facts(selection=Selection(later.node_ips, "eth0")))
    deleted = [order for order in later.profiles.done if order[0] in ("delete", "give_back", "activate")]
    assert deleted == []


async def test_an_apply_that_crashes_network_manager_is_not_tried_again_when_it_is_back() -> None:
    """Each is a failed try, whatever its exception: not one every few seconds (R8)."""
    rig = Rig()
    failure = NmstateFailure(FailureKind.INTERNAL, "NetworkManager vanished")
    for _ in range(4):
        rig.nmstate.fails = [failure]
        rig.nmstate.during_apply = rig.manager.crash
        outcome = await rig.attempt()
        assert isinstance(outcome, Failed)
        assert outcome.again
        assert Topic.NETWORK_MANAGER not in outcome.again.topics
        assert outcome.again.seconds is None
        rig.manager.crashed = False


@pytest.mark.parametrize("order", ["nothing", "make", "hint", "default-bridge"])
async def test_a_bridge_changes_its_uplink_on_an_order_only(order: str) -> None:
    """The node IP is on another link: its DHCP server was late, or its cable is out. br-ex stays where it is."""
    rig = Rig("stale-other-uplink", nmstate=FakeNmstate())
    rig.place("br-ex")
    first = await rig.attempt()
    assert isinstance(first, Done)
    assert first.facts.uplink == "eth0"
    rig.place("eth1")
    chosen = Candidate(rig.node_ips[0], 24, "eth1", Verdict.SELECTED, NodeIpRule.HINT, lambda: "a hint names it")
    selection = Selection(rig.node_ips, "eth1", selected=(chosen,) if order == "hint" else ())
    if order == "default-bridge":
        rig.files.content["/etc/ovnk/default_bridge"] = b"eth1\n"
    outcome = await rig.stage.attempt(replace(first.facts, selection=selection), Request(by_name=order == "make"))
    if order == "nothing":
        assert isinstance(outcome, Failed)
        assert outcome.problem.message is Message.UPLINK_REFUSED
        why = "br-ex is over eth0 and stays there, although eth1 would be chosen: the node IP 10.88.0.113 is on it"
        assert outcome.problem.cause == why
        assert rig.nmstate.applied == []
    else:
        assert isinstance(outcome, Waiting)
        assert outcome.reason == "making the bridge again: br-ex is over eth0 and should be over eth1"
        assert len(rig.nmstate.applied) == 1


async def test_a_bridge_whose_address_stayed_on_the_uplink_is_made_again() -> None:
    """NetworkManager ended in an apply: nothing differs from a plan of what is left, and no configuration has it."""
    rig = Rig("stale-address-below", nmstate=FakeNmstate())
    rig.place("eth0")
    rig.nmstate.during_apply = lambda: rig.place("eth0")
    again = await rig.attempt()
    assert isinstance(again, Waiting)
    why = "10.88.0.113 is on eth0, which is a port of br-ex: br-ex has no configuration for it"
    assert again.reason == f"making the bridge again: {why}"
    assert len(rig.nmstate.applied) == 1


async def test_a_bridge_that_was_removed_to_be_made_again_is_not_reported_as_done() -> None:
    """A retry finds another uplink; the attempt after it has no order left, and goes on with the making."""
    rig = Rig("stale-other-uplink", nmstate=FakeNmstate())
    rig.place("br-ex")
    assert isinstance(await rig.attempt(), Done)
    rig.files.content["/etc/ovnk/default_bridge"] = b"eth1\n"
    rig.nmstate.during_apply = lambda: rig.place("eth0")
    assert isinstance(await rig.attempt(run=1, retry_refused=True), Waiting)
    rig.nmstate.left = {"interfaces": [{"name": "br-ex"}]}
    assert not isinstance(await rig.attempt(run=1), Done)


async def test_a_vip_that_the_bridge_holds_is_no_difference() -> None:
    """An apply would take it from its holder: keepalived adds it once, when it becomes the master."""
    rig = Rig("standing-ours-static", nmstate=FakeNmstate(), vips=(ip_address("192.0.2.77"),))
    rig.place("br-ex")
    plain, held = rig.nmstate.shown, {"ip": "192.0.2.77", "prefix-length": 32}
    (bridge,) = (item for item in plain["interfaces"] if item["type"] == "ovs-interface")
    with_vip = {**bridge, "ipv4": {**bridge["ipv4"], "address": [*bridge["ipv4"]["address"], held]}}
    links = [with_vip if item is bridge else item for item in plain["interfaces"]]
    rig.nmstate.shown = {**plain, "interfaces": links}
    assert isinstance(await rig.attempt(), Done)
    assert (rig.nmstate.compared, rig.nmstate.applied) == (plain, [])


async def test_a_bridge_that_another_program_has_changed_since_an_earlier_boot_is_logged_and_made_again() -> None:
    """No silent revert; what this boot has made, and the first bridge of a node, have no such line."""
    first = Rig()
    with capture_logs() as made:
        await first.attempt()
    later = Rig(files=FakeFiles(first.files.content), boot_id="a later boot")
    with capture_logs() as changed:
        assert isinstance(await later.attempt(), Done)
    assert len(later.nmstate.applied) == 1
    lines = [line for line in (*made, *changed) if line.get("message") is Message.NETWORK_CHANGED]
    text = "The network was not as an earlier boot had made it; br-ex was applied again: br-ex"
    assert [line["event"] for line in lines] == [text]
    assert lines[0] in changed


async def test_a_bridge_is_looked_at_whole_in_each_new_run() -> None:
    """The file default_bridge may be another one; without a change nothing is applied."""
    rig = Rig("stale-other-uplink", nmstate=FakeNmstate())
    rig.place("br-ex")
    await rig.attempt()
    shown = await rig.attempt(run=1)
    assert isinstance(shown, Done)
    assert rig.nmstate.applied == []
    rig.files.content["/etc/ovnk/default_bridge"] = b"eth1\n"
    rig.nmstate.during_apply = lambda: rig.place("eth0")
    assert isinstance(await rig.attempt(run=1), Done)
    again = await rig.attempt(run=2)
    assert isinstance(again, Waiting)
    assert again.reason == "making the bridge again: br-ex is over eth0 and should be over eth1"


async def test_a_bridge_with_the_node_ip_is_kept_while_networkmanager_is_starting() -> None:
    """Its start may never end: a silent DHCP server on another link. Nothing is applied or removed meanwhile."""
    rig = Rig("stale-other-uplink", nmstate=FakeNmstate())
    rig.place("br-ex")
    await rig.attempt()
    rig.manager.status = ManagerState.STARTING
    on_bridge = Facts(selection=Selection(rig.node_ips, "br-ex"))
    kept = await rig.stage.attempt(on_bridge, Request(run=1))
    assert isinstance(kept, Done)
    assert kept.facts.bridge == "br-ex"
    rig.nmstate.left = {"interfaces": [{"name": "br-ex"}]}
    for run, wanted in ((2, b"eth0\n"), (3, b"eth1\n")):
        rig.files.content["/etc/ovnk/default_bridge"] = wanted
        later = await rig.stage.attempt(on_bridge, Request(run=run))
        assert isinstance(later, Done)
        assert later.again
        assert Topic.NETWORK_MANAGER in later.again.topics, "it is looked at again when the start is over"
    assert (rig.nmstate.applied, rig.ovsdb.removed) == ([], [])


@pytest.mark.parametrize("settled", [True, False])
async def test_br_ex_waits_for_its_uplink_and_for_no_other_link(*, settled: bool) -> None:
    """NetworkManager's start takes minutes on a node with a cabled NIC without a DHCP server."""
    rig = Rig(nmstate=FakeNmstate({"interfaces": [{"name": "br-ex"}]}))
    rig.manager.status = ManagerState.STARTING
    rig.settled = frozenset({"eth0"} if settled else {"eth1"})
    rig.place("eth0")
    outcome = await rig.attempt()
    assert isinstance(outcome, Done if settled else Waiting)
    assert len(rig.nmstate.applied) == settled


async def test_a_record_that_cannot_be_read_is_one_failure_with_its_remedy() -> None:
    """Without it nodenet does not know what the uplinks' profiles were: nothing is touched."""
    rig = Rig()
    rig.files.bad[str(BRIDGE)] = PublishFailed(f"{BRIDGE} cannot be read: Is a directory", remedy="Remove it")
    outcome = await rig.attempt()
    assert isinstance(outcome, Failed)
    assert outcome.problem == Problem(Message.PUBLISH_FAILED, f"{BRIDGE} cannot be read: Is a directory", "Remove it")
    assert (outcome.again and outcome.again.seconds, rig.nmstate.applied) == (None, [])
