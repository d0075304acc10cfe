"""Does the plugin do every verb of every version of the CNI specification, under cnitool and the real plugins?"""

from __future__ import annotations

import ipaddress
import json

import pytest

from harness import eventually, host
from harness import namespaces as ns
from ipam_node import IpamNode, NodeMaker, plugin
from ipam_site import PATIENCE, Pod, Site, Space, element, freed

VERSIONS = ("0.3.1", "0.4.0", "1.0.0", "1.1.0")


def on_link(pod: Pod, interface: str = "net1") -> list[str]:
    """Return the global addresses that the kernel has on a pod's interface."""
    shown = json.loads(host.call(["ip", "-n", pod.netns.rpartition("/")[2], "-j", "address", "show", "dev", interface]))
    return [f"{info['local']}/{info['prefixlen']}" for info in shown[0]["addr_info"] if info["scope"] == "global"]


@pytest.mark.parametrize("kind", ["bridge", "macvlan"])
@pytest.mark.parametrize("version", VERSIONS)
def test_a_pod_gets_and_leaves_its_address(site: Site, space: Space, node: NodeMaker, version: str, kind: str) -> None:
    """ADD, CHECK and DEL; both families; the kernel has exactly what the claim has."""
    network = site.network("10.61.0.0/24, fd61::/64", version=version, plugin=kind)
    space.claim("vm.blue", network)
    pod = space.pod("one", element(network, "vm.blue"), netns=True)
    worker = node()
    added = worker.cni("add", network, pod)
    assert added.ips == space.ips("vm.blue") == sorted(on_link(pod), key=lambda one: ":" in one)
    assert [ipaddress.ip_interface(one).network.prefixlen for one in added.ips] == [24, 64]
    if version != "0.3.1":
        assert worker.cni("check", network, pod).exit == 0
    assert worker.cni("add", network, space.pod("two", element(network), netns=True)).ips != added.ips
    for _ in range(2):
        assert worker.cni("del", network, pod).exit == 0
    assert space.ips("vm.blue") == added.ips
    assert worker.plug("CHECK", network.stdin(prevResult=added.document), pod).exit == 1


def test_an_add_that_is_repeated_answers_the_same(site: Site, space: Space, node: NodeMaker) -> None:
    """A runtime that lost the answer adds once more."""
    network = site.network()
    space.claim("vm.blue", network)
    pods = [space.pod("claimed", element(network, "vm.blue")), space.pod("plain", element(network))]
    worker = node()
    for pod in pods:
        first, second = (worker.plug("ADD", network.stdin(), pod) for _ in range(2))
        assert first.ips == second.ips
        assert len(site.leases(network)) == pods.index(pod) + 1


def test_version_needs_no_service(site: Site, node: NodeMaker) -> None:
    """Runtimes ask for versions before anything runs."""
    worker = node(start=False, wired=False)
    answer = worker.plug("VERSION", '{"cniVersion": "1.0.0"}')
    assert answer.document == {"cniVersion": "1.0.0", "supportedVersions": list(VERSIONS)}
    shown = (
        host.call(["file", "-b", plugin()]) if host.missing_packages({"file": "file"}) == [] else "statically linked"
    )
    assert "static" in shown
    pod = Pod("none", "none", "uid-none")
    network = site.network()
    for verb, exit_code, code in (("ADD", 1, 11), ("CHECK", 1, 11), ("STATUS", 1, 50), ("GC", 1, 11), ("DEL", 0, 0)):
        answer = worker.plug(verb, network.stdin(), pod)
        assert (answer.exit, answer.code) == (exit_code, code), verb


def test_status_is_true_to_the_pool(site: Site, space: Space, node: NodeMaker) -> None:
    """STATUS fails with code 50 when no address is left, and succeeds again once one is free."""
    network = site.network("10.62.0.0/30")
    worker = node()
    pods = [space.pod(f"pod-{number}", element(network)) for number in range(3)]
    assert worker.cni("status", network, pods[0]).exit == 0
    answers = [worker.plug("ADD", network.stdin(), pod) for pod in pods]
    free = [answer for answer in answers if answer.exit == 0]
    assert answers[-1].code == 11
    assert len(free) in (1, 2)
    assert worker.plug("STATUS", network.stdin()).code == 50
    assert worker.plug("DEL", network.stdin(), pods[0]).exit == 0
    eventually(lambda: worker.plug("STATUS", network.stdin()).exit == 0, "a free address", timeout=PATIENCE)


def test_gc_frees_what_no_sandbox_has_and_no_claim_holds(site: Site, space: Space, node: NodeMaker) -> None:
    """GC drops attachments that the runtime does not name; an address of a claim stays."""
    network = site.network()
    space.claim("vm.blue", network)
    claimed, leaked, kept = (
        space.pod(name, element(network, claim)) for name, claim in (("a", "vm.blue"), ("b", ""), ("c", ""))
    )
    worker = node()
    added = {pod.name: worker.plug("ADD", network.stdin(), pod).ips for pod in (claimed, leaked, kept)}
    valid = [{"containerID": kept.sandbox, "ifname": "net1"}]
    assert worker.plug("GC", network.stdin(**{"cni.dev/valid-attachments": valid})).exit == 0
    freed(site, network, left=2)
    assert space.ips("vm.blue") == added["a"]
    assert worker.plug("ADD", network.stdin(), kept).ips == added["c"]
    again = space.pod("again", element(network, "vm.blue"))
    space.remove_pod(claimed)
    assert worker.plug("ADD", network.stdin(), again).ips == added["a"]


def test_gc_and_status_by_cnitool(site: Site, space: Space, node: NodeMaker) -> None:
    """Cnitool's gc names no attachment: everything without a claim goes.

    libcni deletes each attachment in its cache that is not valid, then calls GC of the plugins in the list. The plugins
    bridge, macvlan and host-device have no GC and do not pass it on to their IPAM plugin: DEL arrives, GC does not.
    """
    network = site.network()
    space.claim("vm.blue", network)
    pods = [space.pod(name, element(network, claim), netns=True) for name, claim in (("a", "vm.blue"), ("b", ""))]
    worker = node()
    held, _ = (worker.cni("add", network, pod).ips for pod in pods)
    assert worker.cni("status", network, pods[0]).exit == 0
    assert worker.cni("gc", network, pods[0]).exit == 0
    freed(site, network, left=1)
    assert space.ips("vm.blue") == held
    eventually(lambda: counted(worker, "del") == len(pods), "both deletions to be counted", timeout=PATIENCE)
    assert (counted(worker, "gc"), counted(worker, "status")) == (0, 1)


def counted(worker: IpamNode, name: str) -> int:
    """Return a counter of the service's figures."""
    figures = worker.socket.with_name("ipam.prom").read_text()
    return int(next(line for line in figures.splitlines() if line.startswith(f"nodenet_ipam_{name}_total ")).split()[1])


def test_a_device_that_is_moved_into_the_pod(site: Site, space: Space, node: NodeMaker) -> None:
    """As SR-IOV plugins move a virtual function: host-device moves a link, here a macvlan, and asks for its address."""
    network = site.network("10.64.0.0/24", plugin="host-device", more={"device": "vf0"})
    space.claim("vm.blue", network)
    pod = space.pod("one", element(network, "vm.blue"), netns=True)
    worker = node()
    ns.ip(worker.netns, "link", "add", "vf0", "link", "eth0", "type", "macvlan")
    for _ in range(2):
        assert worker.cni("add", network, pod).ips == space.ips("vm.blue") == on_link(pod)
        assert worker.cni("check", network, pod).exit == 0
        assert worker.cni("del", network, pod).exit == 0
        ns.ip(worker.netns, "link", "show", "vf0")
    assert len(site.leases(network)) == 1


def test_pods_reach_each_other_across_nodes(site: Site, space: Space, node: NodeMaker) -> None:
    """Two nodes, one macvlan network, one pool: the second node's pod answers the first one's ping."""
    network = site.network("10.63.0.0/24", plugin="macvlan")
    space.claim("vm.blue", network)
    first, second = node(), node()
    here = space.pod("here", element(network, "vm.blue"), netns=True)
    there = space.pod("there", element(network), netns=True)
    assert first.cni("add", network, here).exit == 0
    address = second.cni("add", network, there).ips[0].partition("/")[0]
    ns.inside(here.netns.rpartition("/")[2], "ping", "-c1", "-W5", address)
