"""The way back, and what is there after a kill at any of its steps."""

from __future__ import annotations

import pytest

from nodenet.core.persistent_ips.effects import CreateLease, DeleteLease, Save
from nodenet.core.persistent_ips.model import State
from nodenet.core.persistent_ips.release import detach, is_gone, release
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
