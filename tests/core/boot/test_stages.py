"""Where is the boot, what comes next, and may kubelet start?"""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from nodenet.core.boot.outcome import Again, Done, Facts, Failed, Outcome, Problem, Skipped, Topic, Waiting
from nodenet.core.boot.stage_state import Status
from nodenet.core.boot.stages import Boot, Health, new_boot, reason_to_skip, standing
from nodenet.core.messages import Message
from nodenet.core.stage_name import StageName

FACTS = Facts()
DONE = Done("done", FACTS, Message.STARTED)
SKIPPED = Skipped("nothing to do", FACTS)
WAITING = Waiting("something")
FAILED = Failed(Problem(Message.APPLY_FAILED, "cause", "remedy"), FACTS)
LOST = Done("done", FACTS, Message.STARTED, FAILED.problem)


def after(boot: Boot, name: StageName, outcome: Outcome) -> Boot:
    return boot.begun(name, 1.0).after(name, outcome, 2.0)


def ended(*, degrade: bool = True, **outcomes: Outcome) -> Boot:
    """Return a boot in which every stage is done, except those named."""
    boot = new_boot({}, degrade=degrade)
    for name in StageName:
        boot = after(boot, name, outcomes.get(name.name.lower(), DONE))
    return boot


def test_the_order_is_the_one_administrators_know() -> None:
    """resolv-prepender → nodeip → configure-ovs, behind hostname and nmstate."""
    boot, order = new_boot({}, degrade=True), []
    while (name := boot.next()) is not None:
        order.append(name.value)
        boot = after(boot, name, DONE)
    assert order == [name.value for name in StageName]


def test_a_failed_stage_is_no_failed_node_while_the_last_stage_runs() -> None:
    """`nodenetctl status --wait` would return before READY."""
    boot = new_boot({}, degrade=True)
    *others, last = StageName
    for name in others:
        boot = after(boot, name, FAILED if name is StageName.NMSTATE else DONE)
        assert boot.health is Health.WAITING
    boot = boot.begun(last, 3.0)
    assert boot.health is Health.WAITING
    assert boot.after(last, DONE, 4.0).health is Health.DEGRADED


def test_a_stage_that_waits_stays_due() -> None:
    """Nobody overtakes it; it keeps the time it first began."""
    boot = after(new_boot({}, degrade=True), StageName.HOSTNAME, WAITING)
    assert boot.next() is StageName.HOSTNAME
    again = boot.begun(StageName.HOSTNAME, 9.0)
    assert again[StageName.HOSTNAME].started == 1.0
    assert again.current is StageName.HOSTNAME


def test_a_stage_that_waits_aside_keeps_only_ready_back() -> None:
    """The stages behind it go on; when they are over, it is what the boot waits for (R32)."""
    aside = Waiting("a valid host name", frozenset({Topic.HOSTNAME}), 5.0, aside=True)
    boot = after(new_boot({}, degrade=True), StageName.HOSTNAME, aside)
    assert (boot.next(), boot.due(3.0), boot.current) == (StageName.NMSTATE, StageName.NMSTATE, StageName.NMSTATE)
    assert boot.due(7.0) is StageName.HOSTNAME
    for name in list(StageName)[1:]:
        boot = after(boot, name, DONE)
    assert (boot.next(), boot.due(3.0), boot.current) == (StageName.HOSTNAME, None, StageName.HOSTNAME)
    assert (boot.ready, boot.health) == (False, Health.WAITING)
    named = after(boot.woken({Topic.HOSTNAME: 3.0}, 3.0), StageName.HOSTNAME, DONE)
    assert (named.next(), named.ready) == (None, True)


@pytest.mark.parametrize("outcome", [SKIPPED, FAILED])
def test_without_published_node_ips_a_boot_is_never_ready(outcome: Outcome) -> None:
    """Whatever else is settled: kubelet would start with an empty or old address."""
    assert not ended(nodeip=outcome).ready


@pytest.mark.parametrize("outcome", [DONE, SKIPPED])
def test_settled_stages_make_a_boot_ready(outcome: Outcome) -> None:
    """Done or skipped."""
    assert ended(nmstate=outcome).ready
    assert ended(nmstate=outcome).health is Health.OK


def test_a_failed_stage_degrades_or_blocks_as_the_settings_say() -> None:
    """`on_failure`."""
    assert ended(nmstate=FAILED).ready
    assert ended(nmstate=FAILED).health is Health.DEGRADED
    blocked = after(after(new_boot({}, degrade=False), StageName.HOSTNAME, DONE), StageName.NMSTATE, FAILED)
    assert not blocked.ready
    assert blocked.next() is None
    assert blocked.health is Health.FAILED


def test_something_lost_on_the_way_degrades_and_does_not_fail() -> None:
    """The stage is done, the problem is shown."""
    boot = ended(nodeip=LOST)
    assert (boot.ready, boot.health, boot.failed_since(StageName.HOSTNAME)) == (True, Health.DEGRADED, None)
    assert boot.problem == (StageName.NODEIP, FAILED.problem)


def test_again_from_a_stage_keeps_what_is_before_it() -> None:
    """And forgets what is behind it."""
    boot = ended(nmstate=FAILED).again_from(StageName.NODEIP)
    assert boot[StageName.NMSTATE].status is Status.FAILED
    assert {stage.status for stage in boot.stages[3:]} == {Status.PENDING}
    assert boot.health is Health.WAITING


def test_a_second_look_comes_before_the_next_stage() -> None:
    """It is due by time or by event, and what must wait for it leaves the stage as it is."""
    look = Again(frozenset({Topic.DNS}), 10.0)
    boot = after(new_boot({}, degrade=True), StageName.HOSTNAME, replace(DONE, again=look))
    assert boot.due(3.0) is StageName.NMSTATE
    assert boot.seconds_left(3.0) == 9.0
    assert boot.due(12.0) is StageName.HOSTNAME
    woken = boot.woken({Topic.DNS: 3.0, Topic.OVS: 3.0}, 3.0)
    assert woken.due(3.0) is StageName.HOSTNAME
    held = woken.after(StageName.HOSTNAME, Waiting("the bus", frozenset({Topic.BUS}), 5.0), 3.0)
    assert held[StageName.HOSTNAME].status is Status.DONE
    assert held[StageName.HOSTNAME].detail == "done"
    assert held.topics == {Topic.BUS}
    assert held.due(3.0) is StageName.NMSTATE
    assert woken.after(StageName.HOSTNAME, DONE, 3.0).topics == frozenset()


def test_a_waiting_stage_is_due_by_its_time_or_its_event_only() -> None:
    """And nobody overtakes it."""
    boot = after(new_boot({}, degrade=True), StageName.HOSTNAME, Waiting("a name", frozenset({Topic.HOSTNAME}), 5.0))
    assert boot.due(3.0) is None
    assert boot.due(7.0) is StageName.HOSTNAME
    assert boot.woken({Topic.KERNEL: 3.0}, 3.0).due(3.0) is None
    assert boot.woken({Topic.HOSTNAME: 3.0}, 3.0).due(3.0) is StageName.HOSTNAME


def test_a_look_that_is_always_due_does_not_keep_the_next_stage_from_its_turn() -> None:
    """Events come faster than a look takes: they alternate (R9)."""
    look = replace(DONE, again=Again(frozenset({Topic.DNS}), 10.0))
    boot, order = after(new_boot({}, degrade=True), StageName.HOSTNAME, look), []
    for _ in range(6):
        boot = boot.woken({Topic.DNS: 2.0}, 2.0)
        name = boot.due(2.0)
        assert name is not None
        order.append(name.value)
        boot = (boot if boot[name].over else boot.begun(name, 2.0)).after(name, look if "h" in name[0] else DONE, 2.0)
    assert order == ["hostname", "nmstate", "hostname", "resolv-prepender", "hostname", "nodeip"]


def test_looks_take_turns_too() -> None:
    """Where no stage is left, the one that is due longest comes first (R9)."""
    boot = ended(hostname=replace(DONE, again=Again(frozenset({Topic.DNS}))),
                 nmstate=replace(DONE, again=Again(frozenset({Topic.BUS}))))  # fmt: skip
    boot = replace(boot, looked=frozenset(StageName)).woken({Topic.BUS: 3.0}, 3.0).woken({Topic.DNS: 4.0}, 4.0)
    assert boot.due(5.0) is StageName.NMSTATE


def test_a_stage_that_failed_is_not_woken_at_once_by_what_it_did() -> None:
    """Its own timer stands; events count again after the back-off, when its rollback is long over (R7)."""
    again = Again(frozenset({Topic.NETWORK_MANAGER}), 30.0)
    boot = after(new_boot({}, degrade=True), StageName.HOSTNAME, replace(FAILED, again=again))
    woken = boot.woken({Topic.NETWORK_MANAGER: 2.1}, 2.1)
    assert woken[StageName.HOSTNAME].due == 32.0
    assert woken.woken({Topic.NETWORK_MANAGER: 12.5}, 12.5)[StageName.HOSTNAME].due == 12.5
    twice = woken.after(StageName.HOSTNAME, replace(FAILED, again=again), 13.0).woken(
        {Topic.NETWORK_MANAGER: 32.9}, 32.9
    )
    assert twice[StageName.HOSTNAME].due == 43.0
    assert twice[StageName.HOSTNAME].pace.failures == 2


def test_an_event_from_before_the_try_that_failed_is_no_reason_for_another_one() -> None:
    """It came while the try was prepared, and is looked at when the try is over; a later one counts."""
    boot = after(
        new_boot({}, degrade=True), StageName.HOSTNAME, replace(FAILED, again=Again(frozenset({Topic.OVS}), since=1.5))
    )
    assert boot.woken({Topic.OVS: 1.4}, 2.0)[StageName.HOSTNAME].due is None
    assert boot.woken({Topic.OVS: 1.6}, 2.0)[StageName.HOSTNAME].due is not None


def test_a_unit_that_ran_again_soon_after_its_failure_is_noticed_after_the_back_off() -> None:
    """It rolled nothing back: somebody repaired it, and nothing else will wake the stage for a minute."""
    again = Again(frozenset({Topic.UNIT}), 60.0)
    boot = after(new_boot({}, degrade=True), StageName.HOSTNAME, replace(FAILED, again=again))
    assert boot.woken({Topic.UNIT: 5.0}, 5.0)[StageName.HOSTNAME].due == 12.0


def test_the_time_that_is_left_counts_only_stages_that_can_be_due() -> None:
    """With ``on_failure = "wait"`` a failed stage blocks those behind it; their timers must not wake the loop (R9)."""
    boot = new_boot({}, degrade=False)
    boot = boot.begun(StageName.NODEIP, 1.0).after(StageName.NODEIP, Waiting("an address", seconds=5.0), 2.0)
    boot = after(boot, StageName.HOSTNAME, FAILED)
    assert boot.due(100.0) is None
    assert boot.seconds_left(100.0) == math.inf


@pytest.mark.parametrize(
    ("facts", "network_type", "reason"),
    [
        (Facts(node_file="w.yml", brings_bridge=True), "OVNKubernetes", "w.yml defines br-ex itself"),
        (FACTS, "Calico", "the network type is Calico"),
        (FACTS, "", 'network_type is not set: br-ex is made where it is "OVNKubernetes"'),
        (FACTS, "OVNKubernetes", None),
    ],
)
def test_configure_ovs_is_skipped_for_the_first_reason_that_holds(
    facts: Facts, network_type: str, reason: str | None
) -> None:
    """An administrator reads why."""
    stage = new_boot({}, degrade=True)[StageName.CONFIGURE_OVS]
    assert reason_to_skip(stage, facts, network_type) == reason


def test_a_unit_that_was_named_for_configure_ovs_is_asked_without_a_network_type() -> None:
    """Only the built-in stage is skipped for a key that is not set (R67)."""
    stage = new_boot({"configure-ovs": "unit:ovs-configuration.service"}, degrade=True)[StageName.CONFIGURE_OVS]
    assert reason_to_skip(stage, FACTS, "") is None
    assert reason_to_skip(stage, FACTS, "Calico") == "the network type is Calico"


def test_a_stage_that_is_switched_off_says_so() -> None:
    """Provider `skip`."""
    stage = new_boot({"nmstate": "skip"}, degrade=True)[StageName.NMSTATE]
    assert reason_to_skip(stage, FACTS, "OVNKubernetes") == "switched off in the settings"


def failed(name: StageName, cause: str, message: Message = Message.BRIDGE_FAILED) -> Boot:
    boot = new_boot({}, degrade=True).begun(name, 1.0)
    return boot.after(name, Failed(Problem(message, cause, "Mend it"), Facts()), 2.0)


@pytest.mark.parametrize(
    ("cause", "later"),
    [
        ("no plugin", "no plugin (try 2)"),
        ("br-ex could not be made: no plugin", "br-ex could not be made in 5 tries: no plugin"),
        ("the disk is full", "the disk is full (5 tries)"),
        (
            "no answer after 12.5 s, since 2026-11-28 17:20:01 UTC",
            "no answer after 15 s, since 2026-11-28 17:21:40 UTC",
        ),
    ],
)
def test_a_failure_of_the_same_kind_stands(cause: str, later: str) -> None:
    """Whatever is counted in its cause."""
    before, after = failed(StageName.CONFIGURE_OVS, cause), failed(StageName.CONFIGURE_OVS, later)
    assert standing(after, before, same_input=False) == {StageName.CONFIGURE_OVS}


def test_a_new_failure_does_not_stand() -> None:
    assert standing(failed(StageName.CONFIGURE_OVS, "x"), new_boot({}, degrade=True), same_input=True) == frozenset()
    other = failed(StageName.CONFIGURE_OVS, "x", Message.LEASE_LOST)
    assert standing(other, failed(StageName.CONFIGURE_OVS, "x"), same_input=False) == frozenset()
    before, after = "192.0.2.5 of eth0 did not come", "192.0.2.6 of eth0 did not come"
    name = StageName.CONFIGURE_OVS
    assert standing(failed(name, after), failed(name, before), same_input=False) == frozenset(), "one event, two causes"


@pytest.mark.parametrize("same_input", [True, False])
def test_a_node_file_that_failed_stands_only_while_it_is_the_same(same_input: bool) -> None:  # noqa: FBT001
    boot = failed(StageName.NMSTATE, "mtu", Message.APPLY_FAILED)
    assert standing(boot, boot, same_input=same_input) == ({StageName.NMSTATE} if same_input else frozenset())
