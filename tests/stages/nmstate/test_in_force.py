"""Which node file made the network."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from fakes import FakeFiles, FakeKernel, FakeNmstate, FakeProfiles, stage_edges
from nodenet.core.apply.intent import Phase
from nodenet.core.kernel.snapshot import Link, Snapshot
from nodenet.core.network_manager.objects import Inventory
from nodenet.core.network_manager.profiles import Profile
from nodenet.core.node_file.content import parse
from nodenet.core.node_file.find import NodeFile, read
from nodenet.core.settings.model import Settings
from nodenet.stages.apply.pipeline import Pipeline
from nodenet.stages.nmstate.in_force import InForce

DIRECTORY = PurePosixPath("/etc/nmstate/openshift")
APPLIED = str(DIRECTORY / "applied")


def file(text: str) -> NodeFile:
    return read("worker-0.yml", text.encode())


def rig() -> tuple[InForce, Pipeline, FakeFiles]:
    edges = stage_edges(files=FakeFiles())
    pipeline = Pipeline(edges, Settings())
    assert isinstance(edges.files, FakeFiles)
    return InForce(edges.store, pipeline, DIRECTORY), pipeline, edges.files


def test_without_a_record_the_marker_counts() -> None:
    """Another program has applied the file; with a record only that one counts."""
    in_force, pipeline, files = rig()
    assert not in_force.knows(file("a: 1"))
    in_force.mark(file("a: 1"))
    assert files.content[APPLIED] == b"a: 1"
    assert in_force.is_only_compared(file("a: 1"))
    pipeline.save(pipeline.intent("d", Phase.GOOD, in_force="d", brings_bridge=False))
    assert not in_force.knows(file("a: 1"))


def test_an_interrupted_apply_is_applied_and_not_only_compared() -> None:
    in_force, pipeline, _ = rig()
    this = file("a: 1")
    pipeline.save(pipeline.intent(this.digest, Phase.APPLYING, in_force=this.digest, brings_bridge=False))
    assert in_force.knows(this)
    assert not in_force.is_only_compared(this)


def profile(name: str, kind: str, link: str, controller: str = "", port_type: str = "") -> Profile:
    return Profile(name, name, kind, link, settings={"connection": {"controller": controller, "port-type": port_type}})


BRIDGE = (
    profile("br-ex-br", "ovs-bridge", "br-ex"),
    profile("port", "ovs-port", "eth0", "br-ex", "ovs-bridge"),
    profile("br-port", "ovs-port", "br-ex", "br-ex", "ovs-bridge"),
    profile("br-ex-if", "ovs-interface", "br-ex", "br-port", "ovs-port"),
    profile("uplink", "802-3-ethernet", "eth0", "port", "ovs-port"),
)


@pytest.mark.parametrize("carrier", [True, False])
async def test_a_nic_without_a_carrier_is_below_its_bridge(*, carrier: bool) -> None:
    """NetworkManager attaches it with its carrier; until then the file is not applied to the NIC itself."""
    this = file("interfaces:\n- name: eth0\n  ipv4: {enabled: true, dhcp: true}\n")
    edges = stage_edges(kernel=FakeKernel(Snapshot(links=(Link(2, "eth0", carrier=carrier), Link(3, "br-ex")))))
    assert isinstance(edges.profiles, FakeProfiles)
    edges.profiles.found = Inventory(profiles=BRIDGE)
    pipeline = Pipeline(edges, Settings())
    pipeline.save(pipeline.intent(this.digest, Phase.GOOD, in_force=this.digest, brings_bridge=False))
    nmstate = FakeNmstate()
    nmstate.left = {"interfaces": [{"name": "eth0", "type": "ethernet", "ipv4": {"enabled": True}}]}
    async with nmstate.transaction() as transaction:
        left = await InForce(edges.store, pipeline, DIRECTORY).difference(this, parse(this), transaction)
    assert bool(left) is carrier
