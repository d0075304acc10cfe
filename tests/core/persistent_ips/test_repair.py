from __future__ import annotations

import json
from dataclasses import replace

import pytest

from nodenet.core.persistent_ips import pod as pods
from nodenet.core.persistent_ips import repair
from nodenet.core.persistent_ips.cni import CniError
from nodenet.core.persistent_ips.lease import name_of
from nodenet.core.persistent_ips.model import Owner, PodName
from persistent_ips_story import added, vm
from persistent_ips_world import Node, World


def prepared() -> tuple[World, Node]:
    world = World(2)
    node = world.nodes[0]
    added(world, node, vm(world), "c1")
    added(world, node, world.api.put_pod("plain"), "c2")
    return world, node


def test_a_lost_store_is_made_again_from_leases_and_claims() -> None:
    world, node = prepared()
    before = {(row.owner, row.address) for row in node.book.reservations()}
    node.lose_store()
    world.do_chores(node)
    assert {(row.owner, row.address) for row in node.book.reservations()} == before
    assert sorted(one.key for one in node.book.attachments()) == [("c1", "net1"), ("c2", "net1")]
    world.check()
    for key in (("c1", "net1"), ("c2", "net1")):
        world.delete(node, key)
        world.finish(node)
    world.do_chores(node)
    assert [one.owner.kind for one in world.api.leases.values()] == ["claim"]


@pytest.mark.parametrize("before_the_repair", [True, False], ids=["before", "after"])
def test_a_claim_that_is_deleted_after_a_lost_store_frees_nothing_that_a_pod_has(*, before_the_repair: bool) -> None:
    world, node = prepared()
    node.lose_store()
    if not before_the_repair:
        world.do_chores(node)
    world.api.delete_claim(("vms", "vm"))
    for _ in range(2):
        world.do_chores(node)
        world.check()
    assert len(world.api.leases) == 2
    world.delete(node, ("c1", "net1"))
    world.finish(node)
    del world.api.pods["vms", "vm-1"]
    world.do_chores(node)
    assert [one.owner.kind for one in world.api.leases.values()] == ["pod"]


def test_after_a_lost_store_the_sandbox_is_known_that_has_the_address_now() -> None:
    """The Lease was made for an earlier sandbox of the claim."""
    world, node = prepared()
    world.delete(node, ("c1", "net1"))
    world.finish(node)
    del world.api.pods["vms", "vm-1"]
    added(world, node, vm(world), "c3")
    world.do_chores(node)
    node.lose_store()
    world.do_chores(node)
    assert ("c3", "net1") in {one.key for one in node.book.attachments()}
    assert ("c1", "net1") not in {one.key for one in node.book.attachments()}


def test_after_a_lost_store_a_pod_of_another_workload_does_not_get_the_claim() -> None:
    """What was read of the attached pod is lost too."""
    world, node = prepared()
    node.lose_store()
    world.do_chores(node)
    thief = world.api.put_pod("thief", "vm", machine="other")
    with pytest.raises(CniError, match="is used by pod vms/vm-1, which is not of the same virtual machine"):
        added(world, node, thief, "c3")
    added(world, node, vm(world, number=2), "c4")


def test_after_a_lost_store_a_pod_that_the_status_does_not_name_is_asked_about_too() -> None:
    """A migration's source, whose target is named."""
    world, node = prepared()
    (claim,) = world.api.claims.values()
    world.api.change_claim(claim, owner_pod="gone")
    node.lose_store()
    world.do_chores(node)
    with pytest.raises(CniError, match="is used by pod vms/vm-1, which is not of the same virtual machine"):
        added(world, node, world.api.put_pod("thief", "vm", machine="other"), "c3")


@pytest.mark.parametrize("unplugged", [True, False])
def test_after_a_lost_store_an_unplugged_interface_does_not_keep_another_one_from_its_claim(*, unplugged: bool) -> None:
    """Its DEL came before the repair, which takes it for attached as long as the pod exists."""
    world, node = prepared()
    pod = PodName("vms", "vm-1", world.api.pods["vms", "vm-1"]["metadata"]["uid"])
    node.lose_store()
    world.delete(node, ("c1", "net1"))
    world.do_chores(node)
    elements = [{"name": "blue", "interface": name, pods.REFERENCE: "vm"} for name in ("net2", "net1")]
    annotations = world.api.pods["vms", "vm-1"]["metadata"]["annotations"]
    annotations[pods.NETWORKS] = json.dumps(elements[:1] if unplugged else elements)
    if unplugged:
        assert added(world, node, pod, "c1", "net2") == world.api.claims["vms", "vm"].ips
        return
    with pytest.raises(CniError, match="Interface net1 of pod vms/vm-1 has IPAMClaim vm already"):
        added(world, node, pod, "c1", "net2")


@pytest.mark.parametrize("ips", [(), ("192.0.2.6/29",)], ids=["lost", "edited"])
def test_after_a_lost_store_a_claim_keeps_what_the_status_does_not_name(ips: tuple[str, ...]) -> None:
    """A pod of another node may have it too. What a status has lost and a pod has is written to it again."""
    world, node = prepared()
    (claim,) = world.api.claims.values()
    assert claim.ips != ips
    world.foreign.add("vm")
    world.api.change_claim(claim, ips=ips)
    node.lose_store()
    for _ in range(2):
        world.do_chores(node)
        world.check()
    assert ("c1", "net1") in {one.key for one in node.book.attachments()}
    assert world.api.claims["vms", "vm"].ips == (ips or claim.ips)
    world.delete(node, ("c1", "net1"))
    world.finish(node)
    world.do_chores(node)
    assert "claim" in {one.owner.kind for one in world.api.leases.values()}
    world.end()


def test_after_a_lost_store_a_claim_that_no_pod_has_is_free_when_it_is_deleted() -> None:
    """Its Lease was deleted by hand and made again, so it names no sandbox."""
    world, node = prepared()
    world.delete(node, ("c1", "net1"))
    world.finish(node)
    (row,) = [one for one in node.book.reservations() if one.owner.kind == "claim"]
    world.foreign.add("vm")
    del world.api.leases[name_of(row.network, row.address)]
    world.do_chores(node)
    node.lose_store()
    world.do_chores(node)
    assert [one.key for one in node.book.attachments()] == [("c2", "net1")]
    world.api.delete_claim(("vms", "vm"))
    world.do_chores(node)
    assert [one.owner.kind for one in world.api.leases.values()] == ["pod"]


def test_a_lost_store_and_a_reboot_keep_what_a_pod_has_that_is_there() -> None:
    """The runtime starts it again, perhaps before the repair."""
    world, node = prepared()
    world.reboot(node)
    node.lose_store()
    world.do_chores(node)
    assert sorted(one.owner.kind for one in world.api.leases.values()) == ["claim", "pod"]
    del world.api.pods["vms", "plain"]
    world.do_chores(node)
    world.do_chores(node)
    assert [one.owner.kind for one in world.api.leases.values()] == ["claim"]


def test_what_another_machine_with_the_same_node_name_has_made() -> None:
    world, node = prepared()
    leases = [replace(one, uid=f"new-{one.uid}", boot_id="other") for one in world.api.leases.values()]
    assert repair.of_a_namesake(node.book, leases, (), node.boot_id) == tuple(leases)
    assert repair.of_a_namesake(node.book, leases, {leases[0].uid}, node.boot_id) == (leases[1],)
    assert repair.of_a_namesake(node.book, leases, (), "other") == ()
    assert repair.of_a_namesake(node.book, world.api.leases.values(), (), "other") == ()


def test_a_second_machine_of_the_same_name_frees_nothing_that_a_pod_has() -> None:
    world, node = prepared()
    node.boots += 1  # another machine, with a store of its own
    node.lose_store()
    world.do_chores(node)
    world.do_chores(node)
    world.check()


def test_a_static_pod_keeps_its_address_over_a_lost_store() -> None:
    world = World(1)
    node = world.nodes[0]
    pod = world.api.put_pod("static")
    world.api.pods["vms", "static"]["metadata"]["annotations"]["kubernetes.io/config.mirror"] = "hash"
    added(world, node, replace(pod, uid="hash"), "c1")
    node.lose_store()
    world.do_chores(node)
    world.check()


def test_without_kubernetes_the_boot_decides() -> None:
    world = World(1)
    node = world.nodes[0]
    added(world, node, None, "c1")
    node.lose_store()
    world.do_chores(node)
    assert [one.key for one in node.book.attachments()] == [("c1", "net1")]
    world.reboot(node)
    node.lose_store()
    world.do_chores(node)
    assert world.api.leases == {}


def test_a_lease_that_was_made_again_says_whose_sandbox_has_it() -> None:
    world, node = prepared()
    before = {one.address: one for one in world.api.leases.values()}
    world.live.clear()
    world.api.leases.clear()
    for row in list(node.book.reservations()):
        run = node.begin("restore", repair.restore(node.here(), row))
        while run in node.runs:
            node.step(run)
    for one in world.api.leases.values():
        assert replace(one, uid="", version="") == replace(before[one.address], uid="", version="")


def test_a_reboot_ends_every_sandbox() -> None:
    world, node = prepared()
    world.reboot(node)
    assert {one.key for one in repair.dead_sandboxes(node.book, node.boot_id)} == {("c1", "net1"), ("c2", "net1")}
    world.do_chores(node)
    world.do_chores(node)
    assert [one.owner.kind for one in node.book.reservations()] == ["claim"]
    assert list(node.book.attachments()) == []
    assert world.api.claims["vms", "vm"].owner_pod == ""


def test_a_lease_that_was_deleted_by_hand_is_made_again() -> None:
    world, node = prepared()
    world.live.clear()
    world.api.leases.clear()
    world.api.claims["vms", "vm"] = replace(world.api.claims["vms", "vm"])
    for row in list(node.book.reservations()):
        run = node.begin("restore", repair.restore(node.here(), row))
        while run in node.runs:
            node.step(run)
    assert {one.uid for one in world.api.leases.values()} == {row.lease_uid for row in node.book.reservations()}
    assert len(world.api.leases) == 2


def test_a_lease_that_was_made_again_is_kept_though_its_record_was_not_written() -> None:
    """The service is killed between both: at the next start the Lease is one that no record has."""
    world, node = prepared()
    (plain,) = [row for row in node.book.reservations() if row.owner.kind == "pod"]
    (old,) = [one for one in world.api.leases.values() if one.uid == plain.lease_uid]
    del world.api.leases[old.name]
    run = node.begin("restore", repair.restore(node.here(), plain))
    while old.name not in world.api.leases:
        node.step(run)
    node.kill()
    made = world.api.leases[old.name]
    world.do_chores(node)
    assert made in world.api.leases.values()
    (attachment,) = [one for one in node.book.attachments() if one.owner.kind == "pod"]
    assert attachment.addresses == (plain.address,)
    assert [row.lease_uid for row in node.book.reservations() if row.owner == plain.owner] == [made.uid]


def test_of_two_leases_of_one_sandbox_both_are_kept_after_a_lost_store() -> None:
    """A container has its id again while its last address is on its way back: nothing says which one it has."""
    world = World(1)
    node = world.nodes[0]
    for _ in range(2):
        added(world, node, None, "c1")
        if len(world.api.leases) == 1:
            world.delete(node, ("c1", "net1"))
            world.finish(node)
    assert len(world.api.leases) == 2
    node.lose_store()
    world.do_chores(node)
    world.check()
    world.end()


def test_an_address_that_another_owner_has_by_now_is_dropped() -> None:
    """An old copy of the store came back."""
    world, node = prepared()
    world.live.clear()
    (plain,) = [row for row in node.book.reservations() if row.owner.kind == "pod"]
    for name, lease in list(world.api.leases.items()):
        if lease.uid == plain.lease_uid:
            owner = Owner(plain.owner.kind, "vms", "new", "new/net1")
            world.api.leases[name] = replace(lease, owner=owner, uid="lease-new", node="node-1")
    run = node.begin("restore", repair.restore(node.here(), plain))
    while run in node.runs:
        node.step(run)
    assert plain in list(node.book.reservations())  # its sandbox may run
    world.delete(node, ("c2", "net1"))
    world.finish(node)
    world.do_chores(node)
    assert plain.address not in [one.address for one in node.book.reservations()]
    assert any(one.owner.uid == "new/net1" for one in world.api.leases.values())


def test_a_lease_of_an_older_list_is_read_again() -> None:
    world, node = prepared()
    (old,) = [one for one in world.api.leases.values() if one.owner.kind == "claim"]
    world.live.clear()
    node.lose_store()
    owner = Owner(old.owner.kind, "vms", "new", "new")
    world.api.leases[old.name] = replace(old, owner=owner, uid="lease-new")  # it was freed and given again
    run = node.begin("adopt", repair.adopt(node.here(), old))
    while run in node.runs:
        node.step(run)
    assert old.name in world.api.leases
    assert list(node.book.reservations()) == []


def test_what_there_is_to_repair() -> None:
    world, node = prepared()
    leases = list(world.api.leases.values())
    assert repair.unknown_leases(node.book, leases) == ()
    assert repair.lost_leases(node.book, leases) == ()
    assert len(repair.lost_leases(node.book, [])) == 2
    assert repair.pending_owners(node.book) == repair.idle_pods(node.book) == ()
    assert repair.gone_pods(node.book) == ()
    assert repair.absent_claims(node.book) == ()  # the claims were not listed yet
    node.watch()
    world.api.delete_claim(("vms", "vm"))
    node.watch()
    assert [one.name for one in repair.absent_claims(node.book)] == ["vm"]
