"""The way back, and what is there after a kill at any of its steps."""

from __future__ import annotations

import pytest

from nodenet.core.persistent_ips.cni import CniError
from nodenet.core.persistent_ips.effects import CreateLease, DeleteLease, Save
from nodenet.core.persistent_ips.model import State
from nodenet.core.persistent_ips.release import MOST_EARLIER, detach, is_gone, release, take_over
from persistent_ips_story import added, length, step_until, vm
from persistent_ips_world import Node, Run, World, network


def held(case: str) -> tuple[World, Node]:
    world = World(2, network(subnets="192.0.2.0/29,2001:db8::/125"))
    node = world.nodes[0]
    added(world, node, vm(world) if case == "claim" else world.api.put_pod("plain"), "c1")
    return world, node


def begun(case: str) -> tuple[World, Node, Run]:
    """A claim that is deleted, or a pod's DEL with what follows."""
    world, node = held(case)
    attachment = node.book.attachment(("c1", "net1"))
    assert attachment is not None
    world.delete(node, attachment.key)
    if case == "claim":
        world.finish(node)
        world.api.delete_claim(("vms", "vm"))
        return world, node, node.begin("release", release(node.here(), attachment.owner))
    world.finish(node)
    return world, node, node.begin("release", release(node.here(), attachment.owner))


STEPS = [(case, number) for case in ("claim", "pod") for number in range(length(lambda case=case: begun(case)) + 1)]  # type: ignore[misc]


@pytest.mark.parametrize(("case", "number"), STEPS)
@pytest.mark.parametrize("fault", ["kill", "power cut", "away before", "away after", "disk full", "store lost"])
def test_a_fault_at_each_step(case: str, number: int, fault: str) -> None:
    """The address is not given twice, and is free in the end."""
    world, node, run = begun(case)
    step_until(node, run, number)
    if fault == "kill":
        node.kill()
    elif fault == "power cut":
        world.reboot(node)
    elif fault == "store lost":
        node.lose_store()
    elif run in node.runs:
        node.step(run, fault)
        world.finish(node)
    added(world, world.nodes[1], vm(world, "other"))
    world.check()
    for name in ("plain", "vm-1"):
        world.api.pods.pop(("vms", name), None)
    world.do_chores(node)
    world.do_chores(node)
    assert {one.owner.name for one in world.api.leases.values()} == {"other"}
    world.end()


def test_del_keeps_what_a_claim_has_and_frees_what_a_pod_had() -> None:
    for case, state in (("claim", State.REPORTED), ("pod", State.RELEASING)):
        world, node = held(case)
        world.delete(node, ("c1", "net1"))
        world.finish(node)
        assert {row.state for row in node.book.reservations()} == {state}
        assert len(world.api.leases) == 2
        world.do_chores(node)
        assert len(world.api.leases) == (2 if case == "claim" else 0)


def test_the_address_of_a_pod_stays_while_one_sandbox_has_it() -> None:
    world, node = held("pod")
    pod = next(iter(world.sandboxes.values()))
    again = added(world, node, pod, "c2")
    world.delete(node, ("c1", "net1"))
    world.finish(node)
    world.do_chores(node)
    assert again == tuple(str(row.address) for row in node.book.reservations())
    world.check()


def test_del_waits_for_the_add_of_another_sandbox() -> None:
    """Else the address would be freed between its choice and its record."""
    world, node = held("pod")
    pod = next(iter(world.sandboxes.values()))
    run = world.add(node, pod, "c2")
    while not isinstance(run.effect, Save):
        node.step(run)
    world.delete(node, ("c1", "net1"))
    (deletion,) = [one for one in node.runs if one is not run]
    assert not node.ready(deletion)
    world.finish(node)
    world.do_chores(node)
    assert ("node-0", "c2", "net1") in world.live
    world.check()


def test_a_release_does_nothing_while_a_sandbox_has_the_address() -> None:
    world, node = held("claim")
    (owner,) = node.book.claim_owners()
    run = node.begin("release", release(node.here(), owner))
    world.finish(node)
    assert run.outcome is False
    assert len(world.api.leases) == 2


def test_nothing_is_released_while_it_is_attached() -> None:
    world, node = held("claim")
    world.api.delete_claim(("vms", "vm"))
    world.do_chores(node)
    assert len(world.api.leases) == 2
    world.delete(node, ("c1", "net1"))
    world.finish(node)
    world.do_chores(node)
    assert world.api.leases == {}


def test_another_node_is_left_what_it_is_responsible_for() -> None:
    world = World(2)
    first, second = world.nodes
    added(world, first, vm(world), "c1")
    world.delete(first, ("c1", "net1"))
    world.finish(first)
    added(world, second, vm(world, number=2), "c2")
    world.api.delete_claim(("vms", "vm"))  # by force: a pod still has the address
    world.do_chores(first)
    assert list(first.book.reservations()) == []
    assert len(world.api.leases) == 1
    world.check()


def test_what_could_not_be_given_back_stays_while_a_pod_of_another_node_has_it() -> None:
    """The node moved the Lease to itself again, for an ADD that was killed before its record."""
    world = World(2, network(subnets="192.0.2.0/29,2001:db8::/125"))
    first, second = world.nodes
    run = world.add(first, vm(world), "c1")
    while run in first.runs:
        second_create = isinstance(run.effect, CreateLease) and bool(world.api.leases)
        first.step(run, "away before" if second_create or isinstance(run.effect, DeleteLease) else "")
    assert [row.state for row in first.book.reservations()] == [State.RELEASING]
    added(world, second, vm(world, number=2), "c2")
    run = world.add(first, vm(world, number=3), "c3")
    while first.name not in {lease.node for lease in world.api.leases.values()}:
        first.step(run)
    first.kill()
    world.do_chores(first)
    world.check()
    assert len(world.api.leases) == 2


def test_a_second_detach_does_nothing() -> None:
    world, node = held("pod")
    attachment = node.book.attachment(("c1", "net1"))
    assert attachment is not None
    for _ in range(2):
        node.begin("detach", detach(node.here(), attachment))
        world.live.clear()
        world.finish(node)
    assert node.book.attachment(("c1", "net1")) is None


def test_a_claim_of_the_same_name_is_another_one() -> None:
    world, node = held("claim")
    (owner,) = node.book.claim_owners()
    found: list[object] = []
    for gone in (False, True):
        run = node.begin("is gone", is_gone(owner), found.append)
        node.step(run)
        assert found[-1] is gone
        if not gone:
            world.live.clear()
            world.api.delete_claim(("vms", "vm"))
            world.api.put_claim("vm")


# Two sandboxes have the address of a claim, one after the other or at the same time; the Lease names both.


def test_the_lease_follows_a_machine_that_comes_back() -> None:
    world = World(2)
    first, second = world.nodes
    for number, node in enumerate((first, second, first)):
        added(world, node, vm(world, number=number), f"c{number}")
        world.do_chores(node)
    (lease,) = world.api.leases.values()
    assert lease.node == "node-0"
    (row,) = first.book.reservations()
    assert (row.lease_uid, row.lease_version) == (lease.uid, lease.version)


def test_a_lease_is_not_taken_back_for_a_sandbox_that_has_ended() -> None:
    """The API was away until the pod was detached; another node has the machine by now."""
    world = World(2)
    here, there = world.nodes
    added(world, here, vm(world), "c1")
    (attachment,) = here.book.attachments()
    world.delete(here, ("c1", "net1"))
    world.finish(here)
    added(world, there, vm(world, number=2), "c2")
    here.begin("take over", take_over(here.here(), attachment))
    world.finish(here)
    (lease,) = world.api.leases.values()
    assert (lease.node, lease.container_id) == (there.name, "c2")


def migrated(source: int, target: int, nodes: int = 3) -> tuple[World, Node, Node]:
    """A machine in its migration: vm-1 is the source, vm-2 the target, and both have the address."""
    world = World(nodes)
    first, second = world.nodes[source], world.nodes[target]
    added(world, first, vm(world), "c1")
    added(world, second, vm(world, number=2), "c2")
    world.do_chores(second)
    return world, first, second


def ended(world: World, node: Node, container: str, pod: str) -> None:
    world.delete(node, (container, "net1"))
    world.finish(node)
    del world.api.pods["vms", pod]
    world.do_chores(node)


@pytest.mark.parametrize("lost", ["", "source", "target", "both"])
@pytest.mark.parametrize("nodes", [(0, 0), (0, 1)], ids=["one node", "two nodes"])
def test_a_claim_deleted_by_force_frees_nothing_before_both_have_ended(nodes: tuple[int, int], lost: str) -> None:
    """The target ends first. Also when a store is lost in between."""
    world, source, target = migrated(*nodes)
    for name, node in (("source", source), ("target", target)):
        if lost in (name, "both"):
            node.lose_store()
            world.do_chores(node)
    ended(world, target, "c2", "vm-2")
    world.api.delete_claim(("vms", "vm"))
    for node in (target, source, target):
        world.do_chores(node)
        world.check()
    assert len(world.api.leases) == 1
    ended(world, source, "c1", "vm-1")
    for _ in range(2):
        world.do_chores(target)
    assert world.api.leases == {}
    world.end()


@pytest.mark.parametrize("lost", [True, False])
def test_a_claim_deleted_by_force_in_the_migration_frees_nothing_before_the_source_has_ended(*, lost: bool) -> None:
    """The target's node is responsible for the Lease, and cannot hand it over: the status is gone with the claim."""
    world, source, target = migrated(0, 1)
    world.api.delete_claim(("vms", "vm"))
    if lost:
        target.lose_store()
    ended(world, target, "c2", "vm-2")
    for node in (target, source, target):
        world.do_chores(node)
        world.check()
    ended(world, source, "c1", "vm-1")
    world.do_chores(target)
    assert world.api.leases == {}
    world.end()


@pytest.mark.parametrize("lost", [True, False])
def test_source_and_target_on_one_node_are_both_attached_after_a_lost_store(*, lost: bool) -> None:
    """The target ends, and a pod of another workload asks for the claim."""
    world, node, _ = migrated(0, 0)
    if lost:
        node.lose_store()
        world.do_chores(node)
    assert {one.key for one in node.book.attachments()} == {("c1", "net1"), ("c2", "net1")}
    ended(world, node, "c2", "vm-2")
    for third in (node, world.nodes[2]):
        with pytest.raises(CniError, match="is used by pod vms/vm-1"):
            added(world, third, world.api.put_pod("other", "vm", machine="other"))


@pytest.mark.parametrize("chores", [True, False])
def test_of_a_target_whose_node_died_no_other_workload_gets_the_claim(*, chores: bool) -> None:
    """The status names its pod, which the control plane has deleted; the source runs on, its service perhaps not."""
    world, source, _ = migrated(0, 1)
    del world.api.pods["vms", "vm-2"]
    if chores:
        world.do_chores(source)
    with pytest.raises(CniError, match="is used by pod vms/vm-1"):
        added(world, world.nodes[2], world.api.put_pod("other", "vm", machine="other"))
    added(world, world.nodes[2], vm(world, number=3), "c3")


def test_after_two_failed_migrations_the_status_names_the_source() -> None:
    """The second one began before the node of the first target had written to the status."""
    world = World(4)
    nodes = world.nodes
    for number in range(3):
        added(world, nodes[number], vm(world, number=number + 1), f"c{number + 1}")
    for number in (1, 2):
        world.delete(nodes[number], (f"c{number + 1}", "net1"))
        world.finish(nodes[number])
        del world.api.pods["vms", f"vm-{number + 1}"]
    world.do_chores(nodes[2])
    assert world.api.claims["vms", "vm"].owner_pod == "vm-1"


def test_after_a_failed_migration_the_lease_is_handed_over_to_the_source() -> None:
    """Its node had become responsible for it again in between, after a restart."""
    world, source, target = migrated(0, 1)
    (attachment,) = source.book.attachments()
    source.begin("take over", take_over(source.here(), attachment))
    world.finish(source)
    ended(world, target, "c2", "vm-2")
    assert world.api.claims["vms", "vm"].owner_pod == "vm-1"
    (lease,) = world.api.leases.values()
    assert (lease.node, [one.key for one in lease.sandboxes]) == (source.name, [("c1", "net1")])
    world.do_chores(source)
    assert [one.netns for one in source.book.attachments()] == ["/run/netns/c1"]


def test_many_failed_migrations_keep_the_source_and_no_pod_that_is_gone() -> None:
    world = World(9)
    source, *targets = world.nodes
    added(world, source, vm(world), "c1")
    for number, target in enumerate(targets, 2):
        added(world, target, vm(world, number=number), f"c{number}")
        ended(world, target, f"c{number}", f"vm-{number}")
        (lease,) = world.api.leases.values()
        assert "vm-1" in [one.pod.name for one in lease.sandboxes if one.pod]
        assert len(lease.sandboxes) <= MOST_EARLIER + 2


def test_two_nodes_whose_pods_have_both_ended_do_not_name_each_others_pod_for_ever() -> None:
    world, source, target = migrated(0, 1)
    for node, container in ((source, "c1"), (target, "c2")):
        world.delete(node, (container, "net1"))
        world.finish(node)
    for _ in range(2):
        world.do_chores(target)
        world.do_chores(source)
    assert world.api.claims["vms", "vm"].owner_pod == ""


def test_a_machine_that_is_started_again_and_again_has_no_earlier_sandboxes() -> None:
    world = World(1)
    (node,) = world.nodes
    for number in range(5):
        added(world, node, vm(world, number=number), f"c{number}")
        world.do_chores(node)
        (lease,) = world.api.leases.values()
        assert lease.earlier == ()
        ended(world, node, f"c{number}", f"vm-{number}")


@pytest.mark.parametrize("elsewhere", [True, False])
def test_a_lease_that_does_not_name_a_sandbox_names_it_after_a_restart(*, elsewhere: bool) -> None:
    """The service was killed after its answer, before it became responsible for the Lease."""
    world = World(2)
    node, other = world.nodes
    for number, one in enumerate((node, other if elsewhere else node, node)):
        added(world, one, vm(world, number=number), f"c{number}")
        if number < 2:
            ended(world, one, f"c{number}", f"vm-{number}")
    node.flush()
    node.kill()
    world.do_chores(node)
    (lease,) = world.api.leases.values()
    assert (lease.node, lease.container_id) == (node.name, "c2")


def test_a_restored_backup_of_the_store_frees_nothing_that_a_pod_has() -> None:
    """It is of a time before the machine was started again."""
    world = World(1)
    (node,) = world.nodes
    added(world, node, vm(world), "c1")
    backup = dict(node.store)
    ended(world, node, "c1", "vm-1")
    added(world, node, vm(world, number=2), "c2")
    world.do_chores(node)
    node.store = backup
    node.kill()
    world.do_chores(node)
    assert [one.key for one in node.book.attachments()] == [("c2", "net1")]
    world.api.delete_claim(("vms", "vm"))
    for _ in range(2):
        world.do_chores(node)
        world.check()
    ended(world, node, "c2", "vm-2")
    world.end()


def test_the_target_of_a_migration_is_named_before_it_has_the_address() -> None:
    """Its node has had the claim before, so that it does not need the API to know the address."""
    world = World(2)
    before, now = world.nodes
    for number, node in enumerate((before, now)):
        added(world, node, vm(world, number=number), f"c{number}")
        if node is before:
            ended(world, node, "c0", "vm-0")
    target = vm(world, number=2)
    added(world, before, target, "c2")
    assert world.is_named((before.name, "c2", "net1"))
    assert world.is_named((now.name, "c1", "net1"))
