"""Does a virtual machine keep its addresses through its whole life, and nobody else gets them?

The controller that makes claims and references is played from its documented behaviour; kube-apiserver, the garbage
collector, cnitool and the plugins are the real ones.
"""

from __future__ import annotations

import pytest

import kubevirt_double
from harness import eventually
from ipam_node import NodeMaker
from ipam_site import PATIENCE, Network, Site, Space, element, freed
from kubevirt_double import ForeignOwner, Machine


@pytest.fixture(scope="module", autouse=True)
def machines(site: Site) -> None:
    """Let the cluster know machines, with a real garbage collector."""
    kubevirt_double.install(site)


@pytest.mark.parametrize("kind", ["bridge", "macvlan"])
def test_stop_start_migrate_delete(site: Site, space: Space, node: NodeMaker, kind: str) -> None:
    """One address from the first start to the deletion, on two nodes, over a restart of both services."""
    network = site.network(plugin=kind)
    first, second = node(), node()
    vm = Machine(space, "vm", {"net1": network})
    claim = vm.claim_name(network)
    source = vm.pod("source")
    address = first.cni("add", network, source).ips
    assert space.status(claim)["ownerPod"] == {"name": "source"}

    assert first.cni("del", network, source).exit == 0  # stop
    vm.pod_gone(source)
    vm.instance_gone()
    assert vm.finalize() == []
    others = [space.pod(f"other-{number}", element(network), netns=True) for number in range(3)]
    assert all(first.cni("add", network, other).ips != address for other in others)

    first.kill()
    first.start()
    again = vm.pod("again")  # start, on the other node
    assert second.cni("add", network, again).ips == address
    target = vm.pod("target")  # migrate back
    assert first.cni("add", network, target).ips == address
    assert second.cni("del", network, again).exit == 0
    vm.pod_gone(again)
    eventually(lambda: space.status(claim)["ownerPod"] == {"name": "target"}, "ownerPod", timeout=PATIENCE)
    assert space.ips(claim) == address

    vm.delete()
    assert vm.finalize() == []  # the instance still runs
    assert first.cni("del", network, target).exit == 0
    vm.pod_gone(target)
    assert site.leases(network)
    vm.instance_gone()
    eventually(lambda: (vm.finalize(), _gone(vm))[1], "the claim to go", timeout=PATIENCE)
    freed(site, network, left=3)


def _gone(vm: Machine) -> bool:
    return vm.admin.find(vm.space.claim_path(vm.claim_name(next(iter(vm.networks.values()))))) is None


def test_delete_in_the_foreground(site: Site, space: Space, node: NodeMaker) -> None:
    """The claim is marked before its pod ends; its address stays until the finalizer is off."""
    network = site.network()
    worker = node()
    vm = Machine(space, "vm", {"net1": network})
    pod = vm.pod("one")
    address = worker.ask("ADD", network, pod).ips
    vm.delete("Foreground")
    path = space.claim_path(vm.claim_name(network))
    eventually(lambda: "deletionTimestamp" in space.admin.get(path)["metadata"], "the mark", timeout=PATIENCE)
    assert vm.finalize() == []
    assert worker.ask("ADD", network, pod).ips == address, "the same sandbox may repeat its ADD"
    other = space.pod("other", element(network))
    assert worker.ask("ADD", network, other).ips != address
    worker.ask("DEL", network, pod)
    vm.pod_gone(pod)
    vm.instance_gone()
    eventually(lambda: (vm.finalize(), _gone(vm))[1], "the claim to go", timeout=PATIENCE)
    freed(site, network, left=1)


def test_an_instance_without_a_machine(site: Site, space: Space, node: NodeMaker) -> None:
    """The instance owns the claim: both go together."""
    network = site.network()
    worker = node()
    vm = Machine(space, "vmi", {"net1": network}, alone=True)
    pod = vm.pod("one")
    address = worker.ask("ADD", network, pod).ips
    target = vm.pod("target")
    assert worker.ask("ADD", network, target).ips == address
    vm.delete()
    assert vm.finalize() == []
    for one in (pod, target):
        worker.ask("DEL", network, one)
        vm.pod_gone(one)
    assert vm.finalize() == [vm.claim_name(network)]
    vm.instance_gone()
    freed(site, network)


def test_plug_and_unplug(site: Site, space: Space, node: NodeMaker) -> None:
    """A second network comes with a migration and goes with one; only its own claim decides about its address."""
    networks = [site.network(), site.network()]
    worker = node()
    vm = Machine(space, "vm", {"net1": networks[0]})
    first = vm.pod("first")
    kept = worker.ask("ADD", networks[0], first).ips
    vm.networks["net2"] = networks[1]
    vm.reconcile()
    second = vm.pod("second")
    assert worker.ask("ADD", networks[0], second).ips == kept
    plugged = worker.ask("ADD", networks[1], second, "net2").ips
    assert plugged == space.ips(vm.claim_name(networks[1]))
    del vm.networks["net2"]
    third = vm.pod("third")
    assert worker.ask("ADD", networks[0], third).ips == kept
    worker.ask("DEL", networks[0], second)
    worker.ask("DEL", networks[1], second, "net2")
    assert len(site.leases(networks[1])) == 1
    path = space.claim_path(vm.claim_name(networks[1]))
    space.admin.delete(path)
    space.admin.patch(path, {"metadata": {"finalizers": None}})
    freed(site, networks[1])
    assert space.ips(vm.claim_name(networks[0])) == kept


def test_a_machine_made_again_under_its_name(site: Site, space: Space, node: NodeMaker) -> None:
    """The old claim is busy until it is gone; the new one never gets into its way."""
    network = site.network()
    worker = node()
    old = Machine(space, "vm", {"net1": network})
    pod = old.pod("old")
    assert worker.ask("ADD", network, pod).exit == 0
    old.delete()
    with pytest.raises(ForeignOwner):
        eventually(lambda: _recreated(space, network), "a foreign owner", timeout=PATIENCE)
    path = space.claim_path(old.claim_name(network))
    eventually(lambda: "deletionTimestamp" in space.admin.get(path)["metadata"], "the mark", timeout=PATIENCE)
    labels = {"vm.kubevirt.io/name": "vm", "kubevirt.io/created-by": "another"}
    early = space.pod("early", element(network, old.claim_name(network)), labels=labels)
    assert worker.ask("ADD", network, early).code == 11
    worker.ask("DEL", network, pod)
    old.pod_gone(pod)
    old.instance_gone()
    space.admin.patch(path, {"metadata": {"finalizers": None}})
    eventually(lambda: space.admin.find(path) is None, "the old claim to go", timeout=PATIENCE)
    new = eventually(lambda: _recreated(space, network), "the new machine", timeout=PATIENCE)
    fresh = worker.ask("ADD", network, new.pod("new")).ips
    assert space.ips(new.claim_name(network)) == fresh
    freed(site, network, left=1)


def _recreated(space: Space, network: Network) -> Machine | None:
    path = f"{kubevirt_double.API}/namespaces/{space.name}/virtualmachines/vm"
    if space.admin.find(path) is not None:
        return None
    try:
        return Machine(space, "vm", {"net1": network})
    except ForeignOwner:
        space.admin.delete(path)
        raise
