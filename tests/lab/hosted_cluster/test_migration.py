"""The API moves to an external load balancer and back, while a client of each node asks ``/readyz`` all the time."""

from __future__ import annotations

import signal
from pathlib import Path

from harness import Lab, Lan
from harness.kube import Cluster
from hosted_cluster_objects import RESOURCE
from migration_rig import BALANCER, Migrating, Story, drains, follows, migrating
from vip_rig import API, Rig, until


def test_there_and_back_without_a_failed_request_and_back_where_the_load_balancer_dies(
    lab: Lab, lan: Lan, product: Path
) -> None:
    """Two control-plane nodes; the companion of one is killed in the middle."""
    with migrating(lab, lan, product, drain_seconds=2) as cluster:
        there(cluster.story, cluster.rig)
        a_record_that_is_lost(cluster)
        back(cluster.story, cluster.rig)
        cluster.operators.end("second", signal.SIGTERM)
        drains(cluster.operators, "third", 120)
        to_a_load_balancer_that_dies(cluster)
        until(lambda: states(cluster.story.cluster) == ("True", "True"), "the conditions")


def there(story: Story, rig: Rig) -> None:
    dry = rig.nodes["master-1"].run(f"nodenetctl hosted migrate --dry-run --to {BALANCER}", check=False)
    assert "passed    on this node" in dry.stdout, dry

    story.edit(BALANCER)
    until(lambda: story.migration.get("phase") not in (None, "SelfHosted"), "the first phase, or a later one")
    rig.nodes["master-1"].run("systemctl kill --signal=SIGKILL nodenet-hosted")
    story.until("external", phase="External", outcome="Completed")
    for node in rig.nodes.values():
        until(lambda: follows(node, BALANCER, haproxy=False), "the node to follow")  # noqa: B023
    assert story.failed("to external") == []


def a_record_that_is_lost(cluster: Migrating) -> None:
    """While no operator runs; the next one begins where the nodes report that they have ``api-int``."""
    cluster.operators.end("first", signal.SIGTERM)
    cluster.story.cluster.admin.patch(f"{RESOURCE}/status", {"status": {"migration": None}})
    drains(cluster.operators, "second", 2)
    cluster.story.until("the record again", phase="External", to=[BALANCER], attempt=0, outcome="")


def back(story: Story, rig: Rig) -> None:
    story.edit(None)
    story.until("self-hosted again", phase="SelfHosted", outcome="Completed")
    for node in rig.nodes.values():
        until(lambda: follows(node, API, haproxy=True), "the node to follow")  # noqa: B023
    assert story.failed("to self-hosted") == []


def to_a_load_balancer_that_dies(cluster: Migrating) -> None:
    """One node loses its power in the drain, before the load balancer dies, and boots after it was left.

    Longer than any pause of the machine, the drain waits for what the test does.
    """
    story, rig = cluster.story, cluster.rig
    story.edit(BALANCER)
    story.until("the drain", phase="DrainHaproxy")
    until(lambda: phase_of(rig, "master-1") == "DrainHaproxy", "the phase on the disk of master-1")
    cluster.alive.remove("master-1")
    rig.nodes["master-1"].power_cut()
    cluster.balancer.stop()
    story.until("the way back", phase="SelfHosted", outcome="RolledBack")
    assert "master-0: the API does not answer" in story.migration["message"]
    until(lambda: follows(rig.nodes["master-0"], API, haproxy=True), "the node that is on to follow")
    print(len(story.failed("rolled back")))  # noqa: T201  (requests to a dead load balancer fail until nodes see it)
    cluster.alive.append("master-1")
    rig.boot("master-1")
    until(lambda: follows(rig.nodes["master-1"], API, haproxy=True), "the node that is back to follow")
    until(lambda: phase_of(rig, "master-1") == "SelfHosted", "the node that is back to say so")


def phase_of(rig: Rig, name: str) -> str:
    """Return the phase that a node shows."""
    return str((rig.document(name).get("migration") or {}).get("phase"))


def states(cluster: Cluster) -> tuple[str, str]:
    """Return VerifyFailed and Available."""
    found = {one["type"]: one["status"] for one in cluster.admin.get(RESOURCE)["status"]["conditions"]}
    return found["VerifyFailed"], found["Available"]
