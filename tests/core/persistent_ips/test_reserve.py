from __future__ import annotations

from dataclasses import replace

import pytest

from nodenet.core.persistent_ips import pod as pods
from nodenet.core.persistent_ips.cni import CniError
from nodenet.core.persistent_ips.model import Forbidden
from nodenet.core.persistent_ips.pod import reference
from nodenet.core.persistent_ips.reserve import Asked, check_configuration, may_reference
from persistent_ips_story import added, vm
from persistent_ips_world import World, network


def test_two_services_never_give_one_address() -> None:
    world = World(3, network(subnets="192.0.2.0/26"))
    given = [added(world, world.nodes[number % 3], vm(world, f"vm{number}"))[0] for number in range(62)]
    assert len(set(given)) == 62
    world.end()


def test_after_some_collisions_all_leases_are_listed_once() -> None:
    world = World(2, network(subnets="192.0.2.0/26"))
    for number in range(61):
        added(world, world.nodes[0], world.api.put_pod(f"p{number}"))
    world.api.requests.clear()
    added(world, world.nodes[1], world.api.put_pod("late"))
    asked = world.api.requests
    assert asked.count("ListLeases") <= 1
    assert asked.count("CreateLease") <= 4
    assert len(asked) <= 10


def test_an_interrupted_allocation_finds_its_own_lease() -> None:
    world = World(2)
    node = world.nodes[0]
    pod = vm(world)
    run = world.add(node, pod, "c1")
    while world.api.requests.count("CreateLease") == 0:
        node.step(run)
    node.kill()
    (address,) = added(world, world.nodes[1], pod, "c2")
    assert [str(one.address) for one in world.api.leases.values()] == [address]


def test_an_orphan_is_reclaimed_when_a_subnet_is_full() -> None:
    """A node does not come back, and its claims are deleted; after ten minutes their addresses are given again."""
    world = World(2, network(subnets="192.0.2.0/30"))
    for number in range(2):
        added(world, world.nodes[0], vm(world, f"vm{number}"))
    world.live.clear()
    world.api.pods.clear()
    for key in list(world.api.claims):
        world.api.delete_claim(key)
    world.nodes[1].watch()
    late = world.api.put_pod("late")
    for _ in range(2):
        run = world.add(world.nodes[1], late)
        world.finish(world.nodes[1])
        assert not any(key[0] == "node-1" for key in world.live)
        world.uptime += 300
    world.uptime += 300
    assert added(world, world.nodes[1], late)
    assert run not in world.nodes[1].runs


def test_without_the_right_to_read_definitions_nothing_more_is_allowed_or_forgotten() -> None:
    """The cluster may have no such kind."""
    world = World(1)
    node = world.nodes[0]
    added(world, node, vm(world), "c1")
    asked = Asked("c2", "net1", "/run/netns/c2", None, network(allowPersistentIPs=False))
    read = reference(pods.parse(world.api.pods["vms", "vm-1"]), "net1", "blue", "p")
    steps = may_reference(node.here(), asked, read)
    next(steps)
    with pytest.raises(CniError, match="does not allow persistent IPs"):
        steps.throw(Forbidden("not allowed"))
    other = World(1)
    pod = other.api.put_pod("x")
    found = reference(pods.parse(other.api.pods["vms", "x"]), "net1", "blue", pod.uid)
    changed = check_configuration(node.here(), asked, replace(found, source="vms/green"))
    next(changed)
    with pytest.raises(CniError, match="in different ways"):
        changed.throw(Forbidden("not allowed"))
