"""What is in force after a pass?"""

from __future__ import annotations

from nodenet.core.boot.facts import Facts
from nodenet.core.node_file.content import Desired
from nodenet.core.node_file.find import NodeFile
from nodenet.stages.nmstate.job import Job


def test_an_applied_file_is_in_force() -> None:
    before = Facts(hostname="worker-0", applied_digest="old", brings_bridge=True)
    after = Job(NodeFile("worker-0.yml", "", "new"), Desired(empty=False), before, 10.0, retry_refused=False).applied
    assert (after.hostname, after.applied_digest, after.brings_bridge) == ("worker-0", "new", False)
