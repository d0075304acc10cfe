"""Has a unit done a stage, and what must be there as evidence?"""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from nodenet.core.boot.outcome import Facts, Problem, Waiting
from nodenet.core.kernel.snapshot import Address, Link, Snapshot
from nodenet.core.node_ip.published_files import BRIDGE_UP, PRIMARY, RUN
from nodenet.core.node_ip.select import Selection
from nodenet.core.resolver import DONE
from nodenet.core.stage_name import StageName
from nodenet.core.unit_stage import PROOFS, Applied, Evidence, Move, Unit, plan, proof_of, unit_of


def unit(active_state: str = "inactive", *, ran: bool = False, job: int | None = None, **other: object) -> Unit:
    values = {"name": "ovs-configuration.service", "id": "ovs-configuration.service", **other}
    return Unit(active_state=active_state, ran=ran, job=job, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "move"),
    [
        (unit(), Move.START),
        (unit(ran=True), Move.OVER),
        (unit(ran=True, oneshot=False), Move.START),
        (unit("active"), Move.OVER),
        (unit("reloading"), Move.OVER),
        (unit("failed", ran=True), Move.START),
    ],
    ids=["never-ran", "oneshot-that-ran", "service-that-was-stopped", "active", "reloading", "failed-by-itself"],
)
def test_a_unit_is_started_once_and_not_when_it_did_its_work(found: Unit, move: Move) -> None:
    """Whoever started it."""
    assert plan(found, None, tried=False) is move


@pytest.mark.parametrize("found", [unit(job=7), unit("activating", job=7), unit("activating"), unit("deactivating")])
@pytest.mark.parametrize("tried", [True, False])
def test_a_unit_on_its_way_is_waited_for_by_name_and_job(found: Unit, tried: bool) -> None:  # noqa: FBT001
    """A unit that hangs is seen."""
    wait = plan(found, None, tried=tried)
    assert isinstance(wait, Waiting)
    assert "ovs-configuration.service" in wait.reason
    assert ("job 7" in wait.reason) == (found.job == 7)


@pytest.mark.parametrize("tried", [True, False])
def test_a_job_that_waits_for_nodenetd_is_a_problem_and_no_wait(tried: bool) -> None:  # noqa: FBT001
    """The boot would wait for ever; without the unit nodenetd gets ready, and the job begins (R62)."""
    found = unit(job=7, behind=("kdump.service", "network-online.target", "nodenetd.service"))
    problem = plan(found, None, tried=tried)
    assert isinstance(problem, Problem)
    assert problem.cause == (
        "ovs-configuration.service waits for kdump.service, which waits for network-online.target, "
        "which waits for nodenetd.service, which waits for this stage"
    )
    assert problem.remedy == (
        "Take kdump.service out of After= in ovs-configuration.service, or name another provider in the settings"
    )


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        ("failed", "failed (exit-code)"),
        ("timeout", "was not started in time"),
        ("canceled", "was cancelled"),
        ("dependency", "requires failed"),
    ],
)
def test_a_start_that_ended_badly_is_a_problem_that_names_the_unit(ended: str, words: str) -> None:
    """One cause line, and where to look."""
    problem = plan(unit(result="exit-code"), ended, tried=True)
    assert isinstance(problem, Problem)
    assert words in problem.cause
    assert "ovs-configuration.service" in problem.cause
    assert "journalctl -u ovs-configuration.service" in problem.remedy


@pytest.mark.parametrize(
    ("found", "ended", "move"),
    [
        (unit(ran=True), "done", Move.OVER),
        (unit(ran=True), "skipped", Move.OVER),
        (unit(ran=True, oneshot=False), "done", Move.OVER),
        (unit(condition=False), "done", Move.UNMET),
        (unit("active"), "failed", Move.OVER),
        (unit(ran=True), None, Move.OVER),
    ],
    ids=["done", "skipped", "short-service", "condition", "started-again-by-hand", "signal-lost"],
)
def test_a_start_that_ended_well_is_over(found: Unit, ended: str | None, move: Move) -> None:
    """By its job, or by its state where the signal was lost with the bus."""
    assert plan(found, ended, tried=True) is move


def test_a_unit_that_failed_without_a_word_is_a_problem() -> None:
    """The signal was lost."""
    assert isinstance(plan(unit("failed", ran=True), None, tried=True), Problem)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (unit(load_state="not-found"), "there is no ovs-configuration.service"),
        (unit(load_state="masked"), "masked"),
        (unit(load_state="bad-setting"), "cannot be loaded (bad-setting)"),
        (unit(id="nodenet-compat-ovs-configuration.service"), "itself waits for this stage"),
        (unit(after=frozenset({"nodenetd.service"})), "ordered after nodenetd.service"),
    ],
    ids=["not-found", "masked", "bad", "stand-in", "circle"],
)
def test_a_unit_that_can_never_be_started_is_not_started(found: Unit, words: str) -> None:
    """Nor waited for: its remedy is told."""
    problem = plan(found, None, tried=False)
    assert isinstance(problem, Problem)
    assert words in problem.cause
    assert problem.remedy


HERE = Snapshot(
    links=(Link(3, "br-ex"),),
    addresses=tuple(
        Address(ip_address(ip), length, "br-ex") for ip, length in (("192.0.2.5", 24), ("2001:db8::5", 64))
    ),
)
V4, V6 = {PRIMARY: b"192.0.2.5"}, {PRIMARY: b"2001:db8::5\n"}


@pytest.mark.parametrize(
    ("stage", "lacks", "has"),
    [
        (StageName.HOSTNAME, Evidence("localhost"), Evidence("worker-0")),
        (StageName.NMSTATE, Evidence(listing=("cluster.yml",)), Evidence(listing=("cluster.yml",), applied=Applied())),
        (StageName.NMSTATE, Evidence(listing=("cluster.yaml",)), Evidence()),
        (StageName.RESOLV_PREPENDER, Evidence(), Evidence(files={DONE: b""})),
        (StageName.NODEIP, Evidence(snapshot=HERE), Evidence(files=V4, snapshot=HERE)),
        (StageName.NODEIP, Evidence(files=V4), Evidence(files=V6, snapshot=HERE)),
        (StageName.NODEIP, Evidence(files={PRIMARY: b"x"}, snapshot=HERE), Evidence(files=V4, snapshot=HERE)),
        (StageName.CONFIGURE_OVS, Evidence(), Evidence(files={BRIDGE_UP: b""})),
        (StageName.CONFIGURE_OVS, Evidence(), Evidence(snapshot=HERE)),
    ],
)  # fmt: skip
def test_a_unit_is_believed_when_its_publication_is_there(stage: StageName, lacks: Evidence, has: Evidence) -> None:
    """And what is missing is named."""
    assert proof_of(stage).missing(lacks)
    assert proof_of(stage).missing(has) is None


def test_every_stage_has_a_proof() -> None:
    """Whatever may be a unit."""
    assert all(proof_of(stage).learnt(Evidence(), Facts()) == Facts() for stage in set(StageName) - set(PROOFS))
    assert StageName.HOSTED_SERVICES not in PROOFS


def test_the_boot_learns_what_the_unit_published() -> None:
    """Node IPs in the order of the files, the link, the bridge, and what the applied file brings."""
    published = {
        PRIMARY: b"2001:db8::5",
        RUN / "ipv4": b"192.0.2.5",
        RUN / "ipv6": b"2001:db8::5",
        RUN / "remote-worker": b"",
    }
    found = Evidence("Worker-0.", applied=Applied("c0ffee", brings_bridge=True), files=published, snapshot=HERE)
    facts = Facts()
    for stage in StageName:
        facts = proof_of(stage).learnt(found, facts)
    assert facts.hostname == "worker-0"
    assert facts.selection is not None
    assert [str(ip) for ip in facts.selection.node_ips] == ["2001:db8::5", "192.0.2.5"]
    assert (facts.selection.link, facts.selection.remote_worker) == ("br-ex", True)
    assert (facts.bridge, facts.brings_bridge) == ("br-ex", True)
    assert facts.applied_digest == "c0ffee"


@pytest.mark.parametrize(
    ("ipv4", "ipv6", "published"),
    [
        (b"192.0.2.9", b"", ["192.0.2.5"]),
        (b"192.0.2.5", b"2001:db8::5", ["192.0.2.5", "2001:db8::5"]),
        (b"192.0.2.9", b"2001:db8::5", ["192.0.2.5", "2001:db8::5"]),
        (b"192.0.2.5", b"none", ["192.0.2.5"]),
    ],
)
def test_the_primary_address_decides_over_what_an_earlier_run_left(
    ipv4: bytes, ipv6: bytes, published: list[str]
) -> None:
    """As where nodenetd reads them back: an address that is gone would hold kubelet back for ever (R13)."""
    files = {PRIMARY: b"192.0.2.5", RUN / "ipv4": ipv4, RUN / "ipv6": ipv6}
    found = Evidence(files=files, snapshot=HERE)
    proof = proof_of(StageName.NODEIP)
    assert proof.missing(found) is None
    selection = proof.learnt(found, Facts()).selection
    assert selection
    assert [str(ip) for ip in selection.node_ips] == published


def test_an_empty_primary_file_is_half_a_publication() -> None:
    """The address of the other family does not take its place."""
    found = Evidence(files={PRIMARY: b"", RUN / "ipv4": b"192.0.2.5"}, snapshot=HERE)
    assert proof_of(StageName.NODEIP).missing(found) == f"{PRIMARY} contains something that is not an address"


def test_the_node_ip_is_on_the_bridge_that_a_unit_made() -> None:
    """Status, forwarding and look-ups follow it there."""
    before = Facts(selection=Selection((ip_address("192.0.2.5"),), "eth0"))
    facts = proof_of(StageName.CONFIGURE_OVS).learnt(Evidence(snapshot=HERE), before)
    assert (facts.bridge, facts.selection) == ("br-ex", Selection((ip_address("192.0.2.5"),), "br-ex"))


def test_a_provider_names_its_unit() -> None:
    """Or none."""
    assert unit_of("unit:a.service") == "a.service"
    assert unit_of("builtin") is None
