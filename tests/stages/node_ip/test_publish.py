"""Is what is published true: read by systemd, not overridden, and as other programs see it?"""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address
from pathlib import PurePosixPath

import pytest
from structlog.testing import capture_logs

from fakes import FakeFiles, FakeKernel, FakeSystemd
from node_ip_rig import KUBELET, OTHER, PRIMARY, V4, Rig, host
from nodenet.core.boot.outcome import Done, Facts, Failed, Outcome, Problem, Topic, Waiting
from nodenet.core.boot.stage_state import Request
from nodenet.core.errors import PublishFailed, Unavailable
from nodenet.core.ip import Family
from nodenet.core.messages import Message
from nodenet.core.node_ip import published_files
from nodenet.core.node_ip.last_published import SELECTION
from nodenet.core.node_ip.policy import Policy
from nodenet.core.node_ip.policy_from_settings import PolicyReading
from nodenet.core.node_ip.published_files import UnitEnvironment
from nodenet.stages.node_ip.publish import RELOAD_OWED
from nodenet.stages.node_ip.stage import BACK_SECONDS, RETRY_SECONDS

OVERRIDE = "/etc/systemd/system/kubelet.service.d/99-site.conf"
OLD = b'[Service]\nEnvironment="KUBELET_NODE_IP=192.0.2.99" "KUBELET_NODE_IPS=192.0.2.99"\n'


def problem_of(outcome: Outcome) -> Problem:
    """Return the problem with which the node IPs are published."""
    assert isinstance(outcome, Done)
    assert outcome.problem
    return outcome.problem


async def test_kubelet_waits_until_systemd_has_read_the_drop_ins() -> None:
    """With back-off and a visible count; then the boot goes on by itself (R14)."""
    rig = Rig(FakeKernel(host(V4)))
    rig.files.content[KUBELET] = OLD
    (await rig.give_up()).with_units()
    rig.systemd.broken = PublishFailed("systemd did not read the drop-ins again: no space in /run/systemd")
    for tries, seconds in enumerate((*RETRY_SECONDS, RETRY_SECONDS[-1]), 1):
        outcome = await rig.attempt()
        assert isinstance(outcome, Waiting)
        cause = "systemd did not read the drop-ins again: no space in /run/systemd"
        assert outcome.reason == f"{cause} (try {tries}, next in {seconds:.0f} s)"
        assert outcome.seconds == seconds
        assert outcome.topics == {Topic.BUS}
    rig.systemd.broken = None
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert outcome.problem is None
    assert rig.systemd.units["kubelet.service"].variables["KUBELET_NODE_IP"] == "192.0.2.5"
    assert str(RELOAD_OWED) not in rig.files.content


async def test_a_reload_of_systemd_that_reads_nothing_is_noticed() -> None:
    """The environment is read back: kubelet would start with the address of the last boot (R14)."""
    rig = Rig(FakeKernel(host(V4)))
    rig.files.content[KUBELET] = OLD
    (await rig.give_up()).with_units().systemd.deaf = True
    outcome = await rig.attempt()
    assert isinstance(outcome, Waiting)
    assert outcome.reason.startswith(
        "systemd has not read 20-nodenet.conf: "
        "kubelet.service starts with 192.0.2.99 instead of KUBELET_NODE_IP=192.0.2.5 (try 1"
    )
    assert str(RELOAD_OWED) in rig.files.content


async def test_drop_ins_that_an_earlier_daemon_wrote_are_read_too() -> None:
    """Nothing differs on the disk, and no reload is known to be owed (R14)."""
    rig = Rig(FakeKernel(host(V4)))
    rig.with_units()
    rig.systemd.deaf = True
    await rig.attempt()
    del rig.files.content[str(RELOAD_OWED)]
    rig.systemd.deaf = False
    reloads = rig.systemd.reloads
    assert isinstance(await rig.attempt(), Done)
    assert rig.systemd.reloads == reloads + 1


async def test_systemd_that_does_not_answer_holds_kubelet() -> None:
    """What cannot be verified is not taken for true (R14)."""
    rig = Rig(FakeKernel(host(V4))).with_units()
    rig.systemd.unanswered = Unavailable("systemctl show did not end within 10 s")
    outcome = await rig.attempt()
    assert isinstance(outcome, Waiting)
    assert outcome.reason == "systemctl show did not end within 10 s (try 1, next in 1 s)"


async def test_a_later_drop_in_that_wins_is_named() -> None:
    """Kubelet starts with its address; the node is degraded and the file is named (S2)."""
    rig = Rig(FakeKernel(host(V4)))
    rig.files.content[OVERRIDE] = b"[Service]\nEnvironment=KUBELET_NODE_IP=10.0.0.9\n"
    problem = problem_of(await rig.with_units().attempt())
    assert problem.message is Message.NODE_IP_NOT_IN_USE
    assert problem.cause == (
        f"kubelet.service starts with 10.0.0.9 instead of KUBELET_NODE_IP=192.0.2.5 ({OVERRIDE} sets it)"
    )
    assert problem.remedy.startswith(f"Take KUBELET_NODE_IP out of {OVERRIDE}, run `systemctl daemon-reload`")


async def test_a_drop_in_that_unsets_the_node_ip_is_named() -> None:
    """Kubelet would register with an address of its own choice."""
    rig = Rig(FakeKernel(host(V4)))
    rig.files.content[OVERRIDE] = b"[Service]\nUnsetEnvironment=KUBELET_NODE_IP\n"
    problem = problem_of(await rig.with_units().attempt())
    cause = f"kubelet.service starts without KUBELET_NODE_IP=192.0.2.5 ({OVERRIDE} unsets it)"
    assert (problem.message, problem.cause) == (Message.NODE_IP_NOT_IN_USE, cause)


@pytest.mark.parametrize("pattern", ["/etc/kubernetes/kubelet-env", "/etc/kubernetes/*-env"])
async def test_an_environment_file_that_wins_is_named(pattern: str) -> None:
    """EnvironmentFile= outranks every Environment=, whichever drop-in has it (S2)."""
    rig = Rig(FakeKernel(host(V4)))
    rig.files.content["/etc/kubernetes/kubelet-env"] = b'# site\nKUBELET_NODE_IP="10.0.0.9"\n'
    rig.with_units()
    kubelet = rig.systemd.units["kubelet.service"]
    rig.systemd.units["kubelet.service"] = replace(kubelet, files=(PurePosixPath(pattern),))
    assert problem_of(await rig.attempt()).cause == (
        "kubelet.service starts with 10.0.0.9 instead of KUBELET_NODE_IP=192.0.2.5 "
        "(/etc/kubernetes/kubelet-env sets it)"
    )


@pytest.mark.parametrize("variables", [{}, {"KUBELET_NODE_IP": "worker-0"}], ids=["reset", "specifier"])
async def test_an_override_whose_file_is_not_found_degrades_the_node(variables: dict[str, str]) -> None:
    """Systemd has read all drop-ins: kubelet is not held back, and READY comes."""

    class Other(FakeSystemd):
        async def environment(self, unit: str) -> UnitEnvironment | None:
            known = await super().environment(unit)
            return known and replace(known, variables={**variables, "CONTAINER_STREAM_ADDRESS": "192.0.2.5"})

    rig = Rig(FakeKernel(host(V4)), systemd=Other()).with_units()
    outcome = await rig.attempt()
    problem = problem_of(outcome)
    assert problem.message is Message.NODE_IP_NOT_IN_USE
    name = variables.get("KUBELET_NODE_IP")
    starts = f"starts with {name} instead of" if name else "starts without"
    assert problem.cause.startswith(f"kubelet.service {starts} KUBELET_NODE_IP=192.0.2.5 (another drop-in changes it)")
    assert "out of what `systemctl cat kubelet.service` shows, run" in problem.remedy
    assert outcome.facts
    assert await rig.stage.confirm(outcome.facts) is None


async def test_a_file_that_sets_the_same_value_is_no_override() -> None:
    rig = Rig(FakeKernel(host(V4)))
    rig.files.content[OVERRIDE] = b"[Service]\nEnvironment=KUBELET_NODE_IP=192.0.2.5\n"
    outcome = await rig.with_units().attempt()
    assert isinstance(outcome, Done)
    assert outcome.problem is None


class VarFull(FakeFiles):
    """A disk on which /var is full."""

    def write(self, path: PurePosixPath, content: bytes, mode: int = 0o644) -> bool:  # type: ignore[override]
        if str(path).startswith("/var/"):
            raise PublishFailed(f"{path} cannot be written: No space left on device", remedy="Free space")
        return super().write(path, content, mode)


async def test_a_record_that_cannot_be_read_does_not_hold_kubelet_back() -> None:
    """What is published is believed first, and the choice is as on a first boot; it is logged once (R15)."""
    unreadable = PublishFailed(f"{SELECTION} cannot be read: Input/output error")
    rig = Rig(FakeKernel(host(V4)), FakeFiles(bad={str(SELECTION): unreadable}))
    with capture_logs() as logs:
        for _ in range(2):
            outcome = await rig.attempt()
            assert isinstance(outcome, Done)
    assert rig.files.content[PRIMARY] == str(V4.address).encode()
    text = f"{SELECTION} cannot be read: Input/output error; the node IP is selected without that record"
    assert [entry["event"] for entry in logs].count(text) == 1


@pytest.mark.parametrize("stale", [None, "192.0.2.99"])
async def test_a_record_that_cannot_be_written_changes_no_node_ip(stale: str | None) -> None:
    """The files in /run say what kubelet runs with; a restart and a reload keep it (R15)."""
    files = VarFull()
    if stale:
        record = f'{{"version":1,"addresses":["{stale}"],"permanent_mac":null,"boot_id":"earlier"}}'
        files.content[str(SELECTION)] = record.encode()
    rig = Rig(FakeKernel(host(OTHER)), files)
    if stale:
        await rig.give_up()
    assert problem_of(await rig.attempt()).cause == f"{SELECTION} cannot be written: No space left on device"
    rig.systemd.running = {"kubelet.service"}
    rig.kernel.now = host(V4, OTHER)
    rig.restart()
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert files.content[PRIMARY] == b"192.0.2.6"
    assert b"192.0.2.6" in files.content[KUBELET]


async def test_what_the_disk_did_not_take_is_written_by_a_later_attempt() -> None:
    """Though kubelet runs with it, and the node has lost the address: once it was neither written nor reported."""
    ipv4 = str(published_files.IPV4)
    full = PublishFailed(f"{ipv4} cannot be written: No space left on device", remedy="Free space")
    rig = Rig(FakeKernel(host(V4)), FakeFiles(bad={ipv4: full}))
    assert problem_of(await rig.attempt()).cause == full.cause
    rig.systemd.running = {"kubelet.service"}
    rig.kernel.now = host(OTHER)
    assert isinstance(await rig.attempt(), Waiting)
    rig.clock.now += BACK_SECONDS
    assert problem_of(await rig.attempt()).cause == full.cause
    rig.files.bad.clear()
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert outcome.problem is None
    assert rig.files.content[ipv4] == b"192.0.2.5"


async def test_the_publication_of_the_replaced_tools_is_adopted() -> None:
    """Kubelet runs with it already: installing nodenet does not change the node IP (R18)."""
    rig = Rig(FakeKernel(host(V4, OTHER)))
    rig.files.content |= {PRIMARY: b"192.0.2.6", KUBELET: OLD.replace(b".99", b".6")}
    rig.systemd.running = {"kubelet.service"}
    facts = await rig.published()
    assert facts.selection
    assert facts.selection.node_ips == (OTHER.address,)
    assert rig.files.content[PRIMARY] == b"192.0.2.6"


async def test_a_drop_in_is_of_this_boot_where_kubelet_runs_with_it() -> None:
    """Without primary-ip; another selection is not published under a running kubelet (R18)."""
    hint = Policy(families=(Family.IPV4,), api_vips=(ip_address("198.51.100.1"),))
    rig = Rig(FakeKernel(host(V4)), wishes=PolicyReading(hint))
    rig.files.content[KUBELET] = OLD.replace(b".99", b".6")
    rig.systemd.running = {"kubelet.service"}
    outcome = await rig.attempt()
    assert isinstance(outcome, Waiting)
    assert outcome.reason == "192.0.2.6, which kubelet or CRI-O runs with, to be back"
    assert rig.files.content[KUBELET] == OLD.replace(b".99", b".6")


async def test_a_drop_in_of_an_earlier_boot_binds_nobody() -> None:
    """Kubelet does not run, or systemd does not answer: a dead address is not kept, but awaited for a minute (R18)."""
    for silent in (False, True):
        rig = Rig(FakeKernel(host(V4)))
        rig.files.content[KUBELET] = OLD
        rig.systemd.silent = silent
        await (await rig.give_up()).published()
        assert rig.files.content[PRIMARY] == b"192.0.2.5"


async def test_a_drop_in_of_an_earlier_boot_is_the_last_choice() -> None:
    """Of two addresses that are equally good, the one that the node had stays (R18)."""
    rig = Rig(FakeKernel(host(V4, OTHER)))
    rig.files.content[KUBELET] = OLD.replace(b".99", b".6")
    await rig.published()
    assert rig.files.content[PRIMARY] == b"192.0.2.6"


async def test_presence_is_read_from_the_kernels_list() -> None:
    """With ip_nonlocal_bind a server can listen on every address, also on one that is gone (R22)."""

    class Nonlocal(FakeKernel):
        def can_bind(self, address: object, link_index: int) -> bool:  # noqa: ARG002
            return True

    rig = Rig(Nonlocal(host(V4)))
    facts = await rig.published()
    assert rig.stage.drift(facts) is None
    rig.kernel.now = host(OTHER)
    drift = rig.stage.drift(facts)
    assert drift
    assert drift.cause == "Node IP 192.0.2.5 is missing (eth0: has 192.0.2.6)"


async def test_a_vip_that_is_the_nodes_own_address_fails_the_stage() -> None:
    """Nothing is published, and the setting is named (R25)."""
    rig = Rig(FakeKernel(host(V4)), wishes=PolicyReading(Policy(api_vips=(V4.address,))))
    outcome = await rig.attempt()
    assert isinstance(outcome, Failed)
    assert outcome.problem.message is Message.NODE_IP_CLAIMED
    assert outcome.problem.cause == "api_vips contains this node's own address 192.0.2.5 (eth0)"
    assert rig.files.writes == []


async def test_what_is_published_is_confirmed() -> None:
    """Nothing to say about what is true; nor where another program does the stage (R13)."""
    rig = Rig(FakeKernel(host(V4))).with_units()
    assert await rig.stage.confirm(await rig.published()) is None
    assert await rig.stage.confirm(Facts()) is None


async def test_where_a_unit_publishes_only_the_addresses_are_confirmed() -> None:
    """Its files have its own words: they are not compared, and READY is not held back by them (R13)."""
    rig = Rig(FakeKernel(host(V4))).with_units()
    facts = await rig.published()
    rig.files.content[KUBELET] = b'[Service]\nEnvironment="KUBELET_NODE_IP=192.0.2.5"\n# of another program\n'
    assert await rig.stage.confirm(facts) is not None
    assert await rig.stage.confirm_of_unit(facts) is None
    rig.kernel.now = host(OTHER)
    assert await rig.stage.confirm_of_unit(facts) == "Node IP 192.0.2.5 is missing (eth0: has 192.0.2.6)"


async def test_a_lease_that_changed_meanwhile_is_not_confirmed() -> None:
    """The address was published while another stage waited, and is gone before READY (R13)."""
    rig = Rig(FakeKernel(host(V4))).with_units()
    facts = await rig.published()
    rig.kernel.now = host(OTHER)
    assert await rig.stage.confirm(facts) == "Node IP 192.0.2.5 is missing (eth0: has 192.0.2.6)"
    facts = await rig.published()
    assert await rig.stage.confirm(facts) is None
    assert rig.files.content[PRIMARY] == b"192.0.2.6"


async def test_files_and_units_that_changed_meanwhile_are_not_confirmed() -> None:
    """Each of them is repaired by another attempt (R13, R14)."""
    rig = Rig(FakeKernel(host(V4))).with_units()
    facts = await rig.published()
    rig.files.content[PRIMARY] = b"192.0.2.9"
    assert await rig.stage.confirm(facts) == f"{PRIMARY} was changed by another program"
    rig.files.content[PRIMARY] = b"192.0.2.5"
    rig.systemd.units["kubelet.service"] = replace(rig.systemd.units["kubelet.service"], drop_ins=(), variables={})
    reason = "kubelet.service starts without KUBELET_NODE_IP=192.0.2.5"
    assert await rig.stage.confirm(facts) == reason
    rig.systemd.unanswered = Unavailable("systemd does not answer")
    assert await rig.stage.confirm(facts) == "systemd does not answer"
    rig.systemd.unanswered = None
    assert isinstance(await rig.stage.attempt(facts, Request(reselect=True)), Done)
    assert await rig.stage.confirm(facts) is None


async def test_each_kubelet_of_the_node_gets_what_it_reads() -> None:
    """Kubeadm's an argument, RKE2 a file; a second run writes nothing, and the file is read without a reload."""
    rig = Rig(FakeKernel(host(V4))).with_units()
    units = rig.systemd.units
    units["kubelet.service"] = UnitEnvironment({}, command=("/usr/bin/kubelet", "$KUBELET_EXTRA_ARGS"))
    units["rke2-agent.service"] = UnitEnvironment({}, command=("/usr/local/bin/rke2", "agent"))
    rig.systemd.read()
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert outcome.problem is None
    assert b'Environment="KUBELET_EXTRA_ARGS=--node-ip=192.0.2.5"\n' in rig.files.content[KUBELET]
    assert rig.files.content["/etc/rancher/rke2/config.yaml.d/90-nodenet.yaml"] == b'node-ip: "192.0.2.5"\n'
    assert "/etc/rancher/k3s/config.yaml.d/90-nodenet.yaml" not in rig.files.content
    before, reloads = dict(rig.files.content), rig.systemd.reloads
    assert isinstance(await rig.attempt(), Done)
    assert (rig.files.content, rig.systemd.reloads) == (before, reloads)
    assert await rig.stage.confirm(outcome.facts) is None
    rig.files.content["/etc/rancher/rke2/config.yaml.d/90-nodenet.yaml"] = b""
    assert "90-nodenet.yaml was changed" in (await rig.stage.confirm(outcome.facts) or "")
