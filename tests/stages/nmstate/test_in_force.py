"""Which node file made the network."""

from __future__ import annotations

from pathlib import PurePosixPath

from fakes import FakeFiles, stage_edges
from nodenet.core.apply.intent import Phase
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
