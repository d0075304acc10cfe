from __future__ import annotations

from dataclasses import replace

import pytest

from nodenet.core.persistent_ips.cni import CniError, Code
from nodenet.core.persistent_ips.effects import ReadPod, WriteStatus
from nodenet.core.persistent_ips.model import PodName
from persistent_ips_story import added, step_until, vm
from persistent_ips_world import World


def refused(world: World, pod: PodName, ifname: str = "net1") -> tuple[Code, str]:
    with pytest.raises(CniError) as caught:
        added(world, world.nodes[0], pod, ifname=ifname)
    return caught.value.code, caught.value.text


def test_a_pod_that_is_not_there_or_is_another_one() -> None:
    world = World(1)
    gone = PodName("vms", "gone", "u1")
    assert refused(world, gone) == (Code.TRY_AGAIN, "Pod vms/gone does not exist in the API (any more)")
    pod = vm(world)
    text = f"Pod vms/vm-1 has UID {pod.uid}; the sandbox is of an earlier one with UID old"
    assert refused(world, replace(pod, uid="old")) == (Code.TRY_AGAIN, text)


def test_a_static_pod_has_the_uid_of_its_file() -> None:
    world = World(1)
    pod = world.api.put_pod("static")
    world.api.pods["vms", "static"]["metadata"]["annotations"]["kubernetes.io/config.mirror"] = "hash"
    added(world, world.nodes[0], replace(pod, uid="hash"))


def test_a_runtime_that_names_no_uid() -> None:
    world = World(1)
    assert added(world, world.nodes[0], replace(vm(world), uid=""))


def test_a_claim_that_does_not_exist_yet() -> None:
    world = World(1)
    pod = world.api.put_pod("early-1", "early")
    text = "IPAMClaim vms/early, which pod vms/early-1 references, does not exist yet"
    assert refused(world, pod) == (Code.TRY_AGAIN, text)
    world.api.put_claim("early")
    assert added(world, world.nodes[0], pod)


def test_a_claim_that_is_being_deleted_or_of_another_network() -> None:
    world = World(1)
    assert refused(world, vm(world, deleting=True)) == (Code.TRY_AGAIN, "IPAMClaim vms/vm is being deleted")
    text = "IPAMClaim vms/red is for network red; interface net1 is on blue"
    assert refused(world, vm(world, "red", network="red")) == (Code.CONFIGURATION, text)
    assert world.api.leases == {}


def test_a_claim_is_not_shared_by_two_workloads() -> None:
    world = World(2)
    added(world, world.nodes[1], vm(world))
    for_another = world.api.put_pod("thief", "vm", machine="thief")
    text = "IPAMClaim vms/vm is used by pod vms/vm-1, which is not of the same virtual machine"
    assert refused(world, for_another) == (Code.TRY_AGAIN, text)
    world.api.pods["vms", "vm-1"]["status"]["phase"] = "Succeeded"
    assert added(world, world.nodes[0], for_another)


def test_a_claim_is_not_shared_on_one_node_either() -> None:
    world = World(1)
    added(world, world.nodes[0], vm(world), "c1")
    assert refused(world, world.api.put_pod("thief", "vm", machine="thief"))[0] is Code.TRY_AGAIN


def test_two_replicas_do_not_share_a_claim() -> None:
    """Without KubeVirt's labels nothing says that one is migrated to the other: the second waits for the first."""
    world = World(2)
    world.api.put_claim("c")
    first, second = (world.api.put_pod(f"replica-{number}", "c") for number in range(2))
    (address,) = added(world, world.nodes[1], first, "c1")
    text = "IPAMClaim vms/c is used by pod vms/replica-0, which is not of the same virtual machine"
    assert refused(world, second) == (Code.TRY_AGAIN, text)
    world.delete(world.nodes[1], ("c1", "net1"))
    world.finish(world.nodes[1])
    del world.api.pods["vms", "replica-0"]
    assert added(world, world.nodes[0], second) == (address,)


def test_without_owner_pods_the_leases_say_who_has_a_claim() -> None:
    """An earlier version of the cluster's kind of claims has no ownerPod: the API drops it."""
    world = World(2)
    added(world, world.nodes[1], vm(world))
    world.api.change_claim(world.api.claims["vms", "vm"], owner_pod="", conditions=())
    text = "IPAMClaim vms/vm is used by pod vms/vm-1, which is not of the same virtual machine"
    assert refused(world, world.api.put_pod("thief", "vm", machine="thief")) == (Code.TRY_AGAIN, text)


def test_a_claim_that_is_being_deleted_serves_the_machine_that_has_it() -> None:
    """A person has deleted it; its finalizer keeps it until the machine is deleted, which still migrates and starts."""
    world = World(2)
    here, other = world.nodes
    (address,) = added(world, here, vm(world), "c1")
    world.api.change_claim(world.api.claims["vms", "vm"], deleting=True)
    assert added(world, other, vm(world, number=2), "c2") == (address,)  # a migration
    for node, container in ((here, "c1"), (other, "c2")):
        world.delete(node, (container, "net1"))
        world.finish(node)
        world.do_chores(node)
    assert added(world, here, vm(world, number=3), "c3") == (address,)  # a start
    assert world.api.claims["vms", "vm"].owner_pod == "vm-3"


def test_a_machine_made_again_under_its_name_waits_for_the_claim_of_the_earlier_one() -> None:
    """The earlier machine was deleted, and its pod runs still."""
    world = World(1)
    added(world, world.nodes[0], vm(world), "c1")
    world.api.change_claim(world.api.claims["vms", "vm"], deleting=True)
    pod = vm(world, number=2)
    world.api.pods["vms", "vm-2"]["metadata"]["labels"]["kubevirt.io/created-by"] = "another instance"
    assert refused(world, pod)[0] is Code.TRY_AGAIN


def test_a_claim_that_is_being_deleted_serves_nothing_else() -> None:
    world = World(1)
    world.foreign = {"vm"}
    vm(world, deleting=True, ips=("192.0.2.3/29",))
    text = "IPAMClaim vms/vm is being deleted"
    assert refused(world, world.api.put_pod("other", "vm")) == (Code.TRY_AGAIN, text)
    assert world.api.leases == {}


def test_a_reference_that_has_changed_is_read_again() -> None:
    """The pod's sandbox is made again on its node, and its annotation names another claim by then."""
    world = World(1)
    node = world.nodes[0]
    pod = vm(world)
    world.api.put_claim("other")
    (before,) = added(world, node, pod, "c1")
    world.delete(node, ("c1", "net1"))
    world.finish(node)
    networks = '[{"name": "blue", "interface": "net1", "ipam-claim-reference": "other"}]'
    world.api.pods["vms", "vm-1"]["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"] = networks
    assert added(world, node, pod, "c2") != (before,)
    assert world.api.claims["vms", "other"].owner_pod == "vm-1"


def test_a_pod_that_was_refused_does_not_count_as_one_that_had_the_claim() -> None:
    """Two pods ask for a new claim at the same time; the one that was slower asks again, and the API is away."""
    world = World(2)
    first, second = world.nodes
    machine, thief = vm(world), world.api.put_pod("thief", "vm", machine="other")
    slower = world.add(second, thief, "c2")
    step_until(second, slower, 3)
    added(world, first, machine, "c1")
    world.finish(second)
    assert isinstance(slower.outcome, CniError)
    second.watch()
    again = world.add(second, thief, "c2")
    while again in second.runs:
        second.step(again, "away before" if isinstance(again.effect, ReadPod) else "")
    assert isinstance(again.outcome, CniError)


def test_a_pod_is_not_given_a_claim_while_the_api_does_not_say_who_has_it() -> None:
    """The API is away for one request only."""
    world = World(2)
    added(world, world.nodes[1], vm(world))
    thief = world.api.put_pod("thief", "vm", machine="other")
    node = world.nodes[0]
    node.watch()
    run = world.add(node, thief)
    reads = 0
    while run in node.runs:
        reads += isinstance(run.effect, ReadPod)
        node.step(run, "away before" if isinstance(run.effect, ReadPod) and reads == 2 else "")
    assert reads == 2
    assert isinstance(run.outcome, CniError)
    assert run.outcome.code == Code.TRY_AGAIN
    assert world.api.claims["vms", "vm"].owner_pod == "vm-1"


def test_two_interfaces_of_a_pod_do_not_share_a_claim() -> None:
    world = World(1)
    pod = vm(world)
    added(world, world.nodes[0], pod, "c1")
    networks = '[{"name": "blue", "interface": "net2", "ipam-claim-reference": "vm"}]'
    world.api.pods["vms", "vm-1"]["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"] = networks
    text = "Interface net1 of pod vms/vm-1 has IPAMClaim vm already"
    assert refused(world, pod, "net2") == (Code.CONFIGURATION, text)


def test_a_claim_of_another_namespace_cannot_be_named() -> None:
    world = World(1)
    pod = world.api.put_pod("vm-1", "other/vm")
    assert refused(world, pod)[0] is Code.CONFIGURATION


def test_a_claim_that_is_made_again_while_its_address_is_chosen() -> None:
    world = World(1)
    node = world.nodes[0]
    pod = vm(world)
    run = world.add(node, pod, "c1")
    while not isinstance(run.effect, WriteStatus):
        node.step(run)
    world.api.delete_claim(("vms", "vm"))
    world.api.put_claim("vm")
    world.finish(node)
    assert isinstance(run.outcome, CniError)
    assert run.outcome.text == "IPAMClaim vms/vm was deleted and made again"
    assert world.api.claims["vms", "vm"].ips == ()
    world.do_chores(node)
    assert world.api.leases == {}


def test_a_claim_that_was_made_again_under_its_name_waits_for_nothing_of_the_old_one() -> None:
    world = World(1)
    node = world.nodes[0]
    (before,) = added(world, node, vm(world), "c1")
    world.delete(node, ("c1", "net1"))
    world.finish(node)
    world.api.delete_claim(("vms", "vm"))
    pod = vm(world, number=2)
    node.watch()
    (address,) = added(world, node, pod)
    assert address != before  # the older claim's address is not free yet
    world.do_chores(node)
    assert [one.owner.uid for one in world.api.leases.values()] == [world.api.claims["vms", "vm"].uid]
