"""Does every address that the real whereabouts has given stay with its pod, and is none given a second time?"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

from harness import eventually
from harness.cni_programs import cni_programs
from harness.kube_client import custom_resource
from ipam_node import ROOT, Answer, IpamNode, NodeMaker
from ipam_site import PATIENCE, Network, Pod, Site, Space, claim_document, element, freed
from nodenet.cni.follower import QUIET_SECONDS

GROUP = "whereabouts.cni.cncf.io"
PODS, MACHINES = 200, 2
DEFINITIONS = "/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions"
AT_ONCE = 4


def whereabouts(worker: IpamNode, verb: str, config: dict[str, Any], pod: Pod) -> Answer:
    """Ask whereabouts itself, as a plugin does."""
    env = {"CNI_COMMAND": verb, "CNI_CONTAINERID": pod.sandbox, "CNI_NETNS": "/run/netns/none", "CNI_IFNAME": "net1"}
    env |= {"CNI_ARGS": pod.args, "CNI_PATH": str(cni_programs())}
    inside = ["ip", "netns", "exec", worker.netns, str(cni_programs() / "whereabouts")]
    done = subprocess.run(inside, input=json.dumps(config), capture_output=True, text=True, env=env, check=False)
    return Answer(done.returncode, json.loads(done.stdout) if done.stdout.strip() else {}, done.stderr)


def imported(worker: IpamNode, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the verb as an administrator does."""
    config = worker.directory / "admin.kubeconfig"
    config.touch(0o600)
    config.write_text(worker.site.cluster.admin.kubeconfig())
    verb = [sys.executable, "-m", "nodenet.cli.main", "claims", "import", "--kubeconfig", str(config), *words]
    inside = ["ip", "netns", "exec", worker.netns, *verb]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "daemon")}
    return subprocess.run(inside, capture_output=True, text=True, env=env, timeout=120, check=False)


def test_running_pods_and_machines_keep_their_addresses(site: Site, space: Space, node: NodeMaker) -> None:
    """Two hundred attachments on two nodes; those of machines belong to their claims afterwards."""
    kinds = ("IPPool", "OverlappingRangeIPReservation")
    site.admin.apply(*(custom_resource(GROUP, "v1alpha1", kind) for kind in kinds))
    eventually(lambda: site.admin.find(f"/apis/{GROUP}/v1alpha1/ippools"), "the kinds of whereabouts", timeout=PATIENCE)
    workers = [node(), node()]
    for worker in workers:
        info = {"status": {"nodeInfo": {"bootID": worker._boot.read_text().strip()}}}
        site.admin.patch(f"/api/v1/nodes/{worker.node_name}/status", info)
    network = replace(site.network(), persistent=True)
    former = definition(workers[0], network)
    pods = [made(space, network, number, workers[number % 2].node_name) for number in range(PODS)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = list(pool.map(lambda one: whereabouts(workers[one[0] % 2], "ADD", former, one[1]), enumerate(pods)))
    given = {pod.name: answer.ips for pod, answer in zip(pods, answers, strict=True)}
    assert len({one for listed in given.values() for one in listed}) == PODS
    for number in range(MACHINES):
        owner = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": f"pod-{number}", "uid": f"u{number}"}
        site.admin.create(space.claim_path(), claim_document(f"vm-{number}", network, ownerReferences=[owner]))
        pod = pods[number]  # as Multus writes it
        bare = [one.partition("/")[0] for one in given[pod.name]]
        status = json.dumps([{"name": network.name, "interface": "net1", "ips": bare}])
        site.admin.patch(pod.path, {"metadata": {"annotations": {"k8s.v1.cni.cncf.io/network-status": status}}})

    first = imported(workers[0], "--dry-run")
    assert (first.returncode, len(site.leases(network))) == (0, 0), first.stderr
    done = imported(workers[0], "--settle", "3")
    assert done.returncode == 0, done.stderr
    assert f"{PODS} addresses of 1 definitions are taken over" in done.stdout
    assert len(site.leases(network)) == PODS
    config = json.loads(site.admin.get(f"{DEFINITIONS}/{network.name}")["spec"]["config"])
    assert (config["subnets"], config["ipam"]) == (network.subnets, {"type": "nodenet-ipam"})
    assert [space.ips(f"vm-{number}") for number in range(MACHINES)] == [given[f"pod-{number}"] for number in range(2)]

    left = pods[: PODS // 2]
    for pod in pods[PODS // 2 :]:
        space.remove_pod(pod)
    for worker in workers:  # or within ten minutes
        worker.stop()
        worker.start()
    freed(site, network, left=len(left))
    for number, worker in enumerate(workers):
        fresh = space.pod(f"new-{number}", element(network))
        wait = QUIET_SECONDS + PATIENCE
        addresses = eventually(partial(served, worker, network, fresh), "an address", timeout=wait)
        assert not {*addresses} & {one for pod in left for one in given[pod.name]}
    second = space.pod("vm-0-again", element(network, "vm-0"), labels={"vm.kubevirt.io/name": "pod-0"})
    space.remove_pod(pods[0])
    assert served(workers[1], network, second) == given["pod-0"]
    assert imported(workers[0], "--settle", "0").stdout.startswith("No NetworkAttachmentDefinition asks whereabouts")


def served(worker: IpamNode, network: Network, pod: Pod) -> list[str] | None:
    answer = worker.ask("ADD", network, pod)
    return answer.ips if answer.exit == 0 else None


def made(space: Space, network: Network, number: int, node: str) -> Pod:
    """Return a pod of a node; the first ones are of machines."""
    labels = {"vm.kubevirt.io/name": f"pod-{number}"} if number < MACHINES else {}
    return space.pod(f"pod-{number}", element(network), node=node, labels=labels)


def definition(worker: IpamNode, network: Network) -> dict[str, Any]:
    """Make the definition that whereabouts serves; return its configuration."""
    config = worker.directory / "whereabouts.kubeconfig"
    config.write_text(worker.site.cluster.admin.kubeconfig())
    flat = worker.directory / "whereabouts.conf"
    flat.write_text(json.dumps({"kubernetes": {"kubeconfig": str(config)}}))
    ipam = {"type": "whereabouts", "range": network.subnets, "configuration_path": str(flat)}
    plugin = {"type": "bridge", "bridge": network.link, "allowPersistentIPs": True, "ipam": ipam}
    found: dict[str, Any] = {"cniVersion": "1.0.0", "name": network.name, **plugin}
    spec = {"config": json.dumps(found)}
    metadata = {"name": network.name, "namespace": "default"}
    kind_of = {"apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition"}
    worker.site.admin.apply({**kind_of, "metadata": metadata, "spec": spec})
    return found
