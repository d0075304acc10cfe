"""By what a unit is believed, stage by stage."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from nodenet.core.boot.outcome import Facts
from nodenet.core.kernel.snapshot import Address, Link, Snapshot
from nodenet.core.node_ip.published_files import BRIDGE_UP, PRIMARY, RUN
from nodenet.core.node_ip.select import Selection
from nodenet.core.resolver import DONE
from nodenet.core.stage_name import StageName
from nodenet.core.unit_stage import PROOFS, Applied, Evidence, proof_of, unit_of

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
