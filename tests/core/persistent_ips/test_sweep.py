from __future__ import annotations

from nodenet.core.persistent_ips import release
from nodenet.core.persistent_ips.cni import CniError
from nodenet.core.persistent_ips.release import MOST_AT_ONCE, suspects
from persistent_ips_story import added, vm
from persistent_ips_world import Node, World, network


def left_behind() -> tuple[World, Node]:
    """Node 0 does not come back; the claim that it served was deleted."""
    world = World(2)
    added(world, world.nodes[0], vm(world), "c1")
    world.live.clear()
    world.sandboxes.clear()
    world.nodes[1].watch()
    world.api.delete_claim(("vms", "vm"))
    return world, world.nodes[1]


def swept(world: World, node: Node) -> bool:
    found: list[bool] = []
    for lease in suspects(node.here(), world.api.leases.values()):
        run = node.begin("sweep", release.sweep(node.here(), lease), found.append)
        while run in node.runs:
            node.step(run)
    return any(found)


def test_an_orphan_is_deleted_after_some_time_and_not_while_its_pod_is_there() -> None:
    world, node = left_behind()
    assert not swept(world, node)  # the watch has not reported the change
    node.watch()
    assert not swept(world, node)  # its pod is there
    world.uptime += 1000
    assert not swept(world, node)
    del world.api.pods["vms", "vm-1"]
    assert not swept(world, node)  # for the first time
    world.uptime += 599
    assert not swept(world, node)
    world.uptime += 1
    assert swept(world, node)
    assert world.api.leases == {}


def test_the_own_leases_and_those_of_living_claims_are_no_suspects() -> None:
    world = World(2)
    added(world, world.nodes[0], vm(world), "c1")
    first, second = world.nodes
    first.watch()
    second.watch()
    world.api.delete_claim(("vms", "vm"))
    assert suspects(second.here(), world.api.leases.values()) == ()
    first.watch()
    assert suspects(first.here(), world.api.leases.values()) == ()
    second.watch()
    assert len(suspects(second.here(), world.api.leases.values())) == 1


def test_a_claim_that_only_the_watch_has_lost_keeps_its_address() -> None:
    world = World(2)
    added(world, world.nodes[0], vm(world), "c1")
    node = world.nodes[1]
    world.live.clear()
    world.api.pods.clear()  # the machine is stopped
    node.watch()
    node.book.claims.remove(world.api.claims["vms", "vm"])
    world.uptime += 1000
    assert not swept(world, node)
    world.uptime += 1000
    assert not swept(world, node)
    world.check()


def test_the_lease_of_another_nodes_pod_is_never_a_suspect() -> None:
    """The cluster lets only its node change it."""
    world = World(2)
    added(world, world.nodes[0], world.api.put_pod("plain"))
    world.live.clear()
    world.api.pods.clear()
    world.nodes[1].watch()
    assert suspects(world.nodes[1].here(), world.api.leases.values()) == ()


def test_orphans_have_their_turn_though_many_are_looked_at() -> None:
    """A claim's pod may run for long after the claim is gone; behind many of these, one is free."""
    world = World(2, network(subnets="192.0.2.0/26"))
    first, second = world.nodes
    for number in range(62):
        added(world, first, vm(world, f"vm{number}"))
    last = list(world.api.leases.values())[MOST_AT_ONCE + 20]
    assert last.pod is not None
    del world.api.pods["vms", last.pod.name]
    world.live.clear()
    for key in list(world.api.claims):
        world.api.delete_claim(key)
    second.watch()
    late = world.api.put_pod("late")
    for _ in range(80):
        run = world.add(second, late)
        world.finish(second)
        if not isinstance(run.outcome, CniError):
            break
        world.uptime += 12.517
    assert run.outcome == (last.address,)
