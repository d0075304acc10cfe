"""Is an address given twice after etcd was restored from a backup, which lacks the Leases of running pods?"""

from __future__ import annotations

import shutil
from pathlib import Path

from harness import eventually
from ipam_node import IpamNode, NodeMaker
from ipam_site import PATIENCE, Network, Pod, Site, Space, element
from nodenet.cni.follower import QUIET, QUIET_SECONDS

RESTORED_SECONDS = 30.0
"""From the API's first answer until every Lease is there again."""


def served(worker: IpamNode, network: Network, pod: Pod, seconds: float) -> list[str]:
    """Return the addresses of an ADD that is repeated, as kubelet does it."""

    def asked() -> list[str] | None:
        answer = worker.ask("ADD", network, pod)
        return answer.ips if answer.exit == 0 else None

    return eventually(asked, f"an address for {pod.name}", timeout=seconds, pause=0.5)


def test_running_pods_keep_their_addresses(site: Site, space: Space, node: NodeMaker, tmp_path: Path) -> None:
    """A claim and pods of one node are younger than the backup; the other node gives the rest of the subnet."""
    network = site.network("10.79.0.0/28")
    first, second = node(wired=False), node(wired=False)
    running = served(first, network, space.pod("old", element(network)), PATIENCE)
    with site.cluster.stopped() as data:
        shutil.copytree(data, tmp_path / "etcd")
    eventually(lambda: space.admin.find(space.claim_path("none")) is None, "the API", timeout=PATIENCE)
    space.claim("vm", network)
    running += served(second, network, space.pod("vm", element(network, "vm")), QUIET_SECONDS + PATIENCE)
    for number in range(5):
        running += served(second, network, space.pod(f"young-{number}", element(network)), PATIENCE)
    with site.cluster.stopped() as data:
        shutil.rmtree(data)
        shutil.copytree(tmp_path / "etcd", data)
    late = [space.pod(f"late-{number}", element(network)) for number in range(8)]
    assert first.ask("ADD", network, late[0]).code == 11
    eventually(lambda: len(site.leases(network)) == 7, "the Leases", timeout=RESTORED_SECONDS)
    assert QUIET in first.ask("ADD", network, late[0]).text
    new = [one for pod in late[:7] for one in served(first, network, pod, QUIET_SECONDS + PATIENCE)]
    assert len({*running, *new}) == len(running) + len(new) == 14
    assert first.ask("ADD", network, late[7]).code == 11
