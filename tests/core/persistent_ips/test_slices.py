"""Addresses of a node's slice: only while the API is away, only where no claim can be meant, and never twice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nodenet.core.persistent_ips import repair
from nodenet.core.persistent_ips.cni import CniError, Code
from nodenet.core.persistent_ips.model import PodName
from nodenet.core.persistent_ips.slices import serves_alone
from persistent_ips_story import added
from persistent_ips_world import Node, World, network

SLICES = {"nodeSlices": {"node-0": "192.0.2.8/30", "node-1": "192.0.2.12/30"}}
PLAIN = network(subnets="192.0.2.0/28", ipam=SLICES, allowPersistentIPs=False)


def given(world: World, node: Node, pod: PodName, container: str) -> list[str]:
    """Return the addresses of an ADD while the API is away. Raises its CniError."""
    run = world.add(node, pod, container)
    while run in node.runs:
        node.step(run, "away before")
    world.check()
    if isinstance(run.outcome, CniError):
        raise run.outcome
    return [str(one) for one in run.outcome]


def test_each_node_gives_its_own_slice_and_nothing_else() -> None:
    world = World(2, PLAIN)
    first, second = world.nodes
    for number, address in enumerate(("8", "9", "10", "11")):
        pod = world.api.put_pod(f"pod-{number}")
        assert given(world, first, pod, f"c{number}") == [f"192.0.2.{address}/28"]
    assert given(world, second, world.api.put_pod("other"), "d") == ["192.0.2.12/28"]
    assert not serves_alone(first.here(), PLAIN)
    assert serves_alone(second.here(), PLAIN)
    with pytest.raises(CniError) as caught:
        given(world, first, world.api.put_pod("late"), "late")
    assert caught.value.code is Code.TRY_AGAIN


def test_with_the_api_no_address_comes_from_a_slice() -> None:
    world = World(1, PLAIN)
    for number in range(7):
        (address,) = added(world, world.nodes[0], world.api.put_pod(f"pod-{number}"))
        assert int(address.split(".")[3].partition("/")[0]) < 8
    with pytest.raises(CniError, match=r"no free address in 192\.0\.2\.0/28"):
        added(world, world.nodes[0], world.api.put_pod("late"))


def test_its_lease_is_made_when_the_api_answers_and_deleted_with_the_pod() -> None:
    world = World(1, PLAIN)
    node = world.nodes[0]
    given(world, node, world.api.put_pod("pod"), "c1")
    assert world.api.leases == {}
    world.do_chores(node)
    assert [str(one.address) for one in world.api.leases.values()] == ["192.0.2.8/28"]
    (row,) = node.book.reservations()
    assert row.lease_uid
    world.delete(node, ("c1", "net1"))
    world.finish(node)
    world.do_chores(node)
    assert (world.api.leases, list(node.book.reservations())) == ({}, [])


def test_a_pod_that_ends_before_leaves_nothing() -> None:
    world = World(1, PLAIN)
    node = world.nodes[0]
    given(world, node, world.api.put_pod("pod"), "c1")
    world.delete(node, ("c1", "net1"))
    world.finish(node)
    world.api.requests.clear()
    run = node.begin("free", next(steps for what, steps in node.chores() if what.startswith("pending")))
    world.finish(node)
    assert run.outcome is None
    assert (world.api.requests, list(node.book.reservations())) == ([], [])


def test_a_pod_that_may_have_a_claim_waits() -> None:
    world = World(1, network(subnets="192.0.2.0/28", ipam=SLICES))
    node = world.nodes[0]
    pod = world.api.put_pod("pod")
    with pytest.raises(CniError) as caught:
        given(world, node, pod, "c1")
    assert caught.value.code is Code.TRY_AGAIN
    assert not serves_alone(node.here(), world.network)
    added(world, node, pod, "c2")  # from now on it is known that it has none
    world.delete(node, ("c2", "net1"))
    world.finish(node)
    world.do_chores(node)
    assert given(world, node, pod, "c3") == ["192.0.2.8/28"]


def test_a_node_without_a_slice_waits() -> None:
    world = World(3, PLAIN)
    with pytest.raises(CniError):
        given(world, world.nodes[2], world.api.put_pod("pod"), "c1")


def test_every_subnet_needs_a_slice() -> None:
    both = network(subnets="192.0.2.0/28,2001:db8::/64", ipam=SLICES, allowPersistentIPs=False)
    world = World(1, both)
    with pytest.raises(CniError):
        given(world, world.nodes[0], world.api.put_pod("pod"), "c1")
    slices = {"nodeSlices": {"node-0": "192.0.2.8/30,2001:db8::ffff:0/112"}}
    world = World(1, network(subnets="192.0.2.0/28,2001:db8::/64", ipam=slices, allowPersistentIPs=False))
    pod = world.api.put_pod("pod")
    assert given(world, world.nodes[0], pod, "c1") == ["192.0.2.8/28", "2001:db8::ffff:0/64"]


def test_after_a_lost_store_no_slice_is_used_in_this_boot() -> None:
    world = World(1, PLAIN)
    node = world.nodes[0]
    given(world, node, world.api.put_pod("pod"), "c1")
    node.lose_store()
    with pytest.raises(CniError):
        given(world, node, world.api.put_pod("other"), "c2")
    world.reboot(node)
    assert given(world, node, world.api.put_pod("later"), "c3") == ["192.0.2.8/28"]


def test_two_adds_at_once_get_two_addresses() -> None:
    world = World(1, PLAIN)
    node = world.nodes[0]
    runs = [world.add(node, world.api.put_pod(f"pod-{number}"), f"c{number}") for number in range(2)]
    while node.runs:
        for run in runs:
            if run in node.runs and node.ready(run):
                node.step(run, "away before")
    world.check()
    assert len({run.outcome for run in runs}) == 2


def test_a_lease_whose_answer_was_lost_is_no_second_address() -> None:
    """The create arrived, its answer did not: the pod has an address of the slice, and the Lease goes."""
    world = World(1, PLAIN)
    node = world.nodes[0]
    run = world.add(node, world.api.put_pod("pod"), "c1")
    while run in node.runs:
        node.step(run, "away after")
    assert len(world.api.leases) == 1
    world.do_chores(node)
    (attachment,) = node.book.attachments()
    assert [str(one) for one in attachment.addresses] == ["192.0.2.8/28"]
    assert [one.address for one in world.api.leases.values()] == list(attachment.addresses)


def test_an_address_that_another_machine_has_is_dropped() -> None:
    """Two machines have one node name, or the slices were changed: the Lease decides."""
    world = World(1, PLAIN)
    node = world.nodes[0]
    given(world, node, world.api.put_pod("pod"), "c1")
    (row,) = node.book.reservations()
    node.begin("restore", repair.restore(node.here(), row))
    world.finish(node)
    name, lease = next(iter(world.api.leases.items()))
    world.api.leases[name] = replace(lease, owner=replace(lease.owner, uid="another"), uid="lease-x")
    world.live.clear()
    node.lose_store()
    node.slices = True  # nobody has noticed
    given(world, node, world.api.put_pod("pod-2"), "c2")
    world.live.clear()
    world.do_chores(node)
    assert [one.lease_uid for one in node.book.reservations() if one.owner.uid != "another"] == []
