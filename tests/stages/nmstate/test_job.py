"""What one pass works on."""

from __future__ import annotations

from nodenet.core.boot.outcome import Facts
from nodenet.core.node_file.content import Desired
from nodenet.core.node_file.find import read
from nodenet.stages.nmstate.job import Job


def test_the_facts_of_a_file_in_force() -> None:
    file = read("worker-0.yml", b"interfaces: []")
    before = Facts(hostname="worker-0", digest=file.digest, applied_digest="old")
    job = Job(file, Desired(empty=False, bridges=frozenset({"br-ex"})), before, 1.0, retry_refused=False, who="boot")
    after = Facts(hostname="worker-0", digest=file.digest, applied_digest=file.digest, brings_bridge=True)
    assert job.applied == after
