"""What does a restart have to repair: Leases without a record, records without a Lease, sandboxes of another boot?"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from nodenet.core.persistent_ips import pod as pods
from nodenet.core.persistent_ips import repair
from nodenet.core.persistent_ips.cni import CniError
from nodenet.core.persistent_ips.lease import name_of
from nodenet.core.persistent_ips.model import Owner, PodName, State
from persistent_ips_story import added, step_until, vm
from persistent_ips_world import Node, World, network


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


def test_the_owner_pod_is_true_over_stop_start_and_a_failed_migration() -> None:
    world = World(2)
    first, second = world.nodes
    added(world, first, vm(world), "c1")
    added(world, second, vm(world, number=2), "c2")
    world.delete(second, ("c2", "net1"))  # the migration failed
    world.finish(second)
    del world.api.pods["vms", "vm-2"]
    for node in (second, first):
        world.do_chores(node)
        assert world.api.claims["vms", "vm"].owner_pod == "vm-1"
    world.delete(first, ("c1", "net1"))
    world.finish(first)
    world.do_chores(first)
    assert world.api.claims["vms", "vm"].owner_pod == ""


def test_after_a_failed_migration_no_other_workload_gets_the_claim() -> None:
    """The target ends while its source runs on: the status names the source again, before the source's node sees it."""
    world = World(3)
    source, target, third = world.nodes
    added(world, source, vm(world), "c1")
    added(world, target, vm(world, number=2), "c2")
    world.do_chores(target)
    world.delete(target, ("c2", "net1"))
    world.finish(target)
    del world.api.pods["vms", "vm-2"]
    world.do_chores(target)
    assert world.api.claims["vms", "vm"].owner_pod == "vm-1"
    with pytest.raises(CniError, match="is used by pod vms/vm-1"):
        added(world, third, world.api.put_pod("other", "vm", machine="other"), "c3")


@pytest.mark.parametrize("gone", [True, False], ids=["deleted", "ended"])
def test_after_a_migration_the_status_does_not_name_the_source_again(*, gone: bool) -> None:
    world = World(2)
    source, target = world.nodes
    added(world, source, vm(world), "c1")
    added(world, target, vm(world, number=2), "c2")
    world.delete(source, ("c1", "net1"))
    world.finish(source)
    if gone:
        del world.api.pods["vms", "vm-1"]
    else:
        world.api.pods["vms", "vm-1"]["status"]["phase"] = "Succeeded"
    world.do_chores(target)
    world.delete(target, ("c2", "net1"))
    world.finish(target)
    world.do_chores(target)
    assert world.api.claims["vms", "vm"].owner_pod == ""


def test_a_lost_status_is_written_again() -> None:
    world = World(1)
    node = world.nodes[0]
    before = added(world, node, vm(world))
    world.api.change_claim(world.api.claims["vms", "vm"], ips=(), owner_pod="")
    world.do_chores(node)
    claim = world.api.claims["vms", "vm"]
    assert (claim.ips, claim.owner_pod) == (before, "vm-1")


@pytest.mark.parametrize("attached", [True, False])
def test_a_lost_status_names_one_address_of_each_subnet(*, attached: bool) -> None:
    """Those that a pod has; else the last ones. With two of one subnet no pod could use the claim."""
    world = World(1, network(subnets="192.0.2.0/29,2001:db8::/125"))
    node = world.nodes[0]
    world.foreign = {"vm"}
    first = added(world, node, vm(world), "c1")
    world.wall += 60
    edited = ("192.0.2.6/29", "2001:db8::6/125")
    assert not set(edited) & set(first)
    world.api.change_claim(world.api.claims["vms", "vm"], ips=edited)
    assert added(world, node, vm(world, number=2), "c2") == edited
    ended = "c2" if attached else "c1"
    world.delete(node, (ended, "net1"))
    world.finish(node)
    world.api.change_claim(world.api.claims["vms", "vm"], ips=(), owner_pod="")
    world.do_chores(node)
    wanted = first if attached else edited
    assert world.api.claims["vms", "vm"].ips == wanted
    assert added(world, node, vm(world, number=3), "c3") == wanted


def test_a_surplus_reservation_is_given_back() -> None:
    """Another node was faster: what stands in the status is kept, ours goes."""
    world = World(1)
    node = world.nodes[0]
    run = world.add(node, vm(world), "c1")
    while not list(node.book.reservations()):
        node.step(run)
    node.kill()
    world.api.change_claim(world.api.claims["vms", "vm"], ips=("192.0.2.6/29",))
    lease = next(iter(world.api.leases.values()))
    if str(lease.address) != "192.0.2.6/29":
        other = replace(lease, address=type(lease.address)("192.0.2.6/29"), uid="lease-x")
        world.api.leases[other.name] = other
    assert added(world, node, vm(world), "c2") == ("192.0.2.6/29",)
    world.delete(node, ("c1", "net1"))
    world.finish(node)
    world.do_chores(node)
    assert [str(one.address) for one in world.api.leases.values()] == ["192.0.2.6/29"]


def test_what_is_attached_is_not_given_back() -> None:
    """A person edited the status while a pod has the address."""
    world = World(1)
    node = world.nodes[0]
    (before,) = added(world, node, vm(world), "c1")
    world.foreign = {"vm"}
    other = "192.0.2.6/29" if before != "192.0.2.6/29" else "192.0.2.5/29"
    world.api.change_claim(world.api.claims["vms", "vm"], ips=(other,))
    world.do_chores(node)
    assert [str(one.address) for one in world.api.leases.values()] == [before]
    world.check()


def test_an_interrupted_report_is_followed() -> None:
    world = World(1)
    node = world.nodes[0]
    run = world.add(node, vm(world), "c1")
    while "WriteStatus" not in world.api.requests:
        node.step(run)
    node.kill()
    assert [row.state for row in node.book.reservations()] == [State.RESERVED]
    world.do_chores(node)
    assert [row.state for row in node.book.reservations()] == [State.REPORTED]


@pytest.mark.parametrize("text", ["2001:DB8::3/125", "2001:0db8:0:0::3/125"])
def test_an_address_is_known_however_another_program_writes_it(text: str) -> None:
    """Of a stopped machine, too, and after its store was lost."""
    world = World(1, network(subnets="2001:db8::/125"))
    node = world.nodes[0]
    world.foreign = {"vm"}  # it has no Lease before its first pod
    assert added(world, node, vm(world, ips=(text,)), "c1") == ("2001:db8::3/125",)
    world.foreign = set()
    world.delete(node, ("c1", "net1"))
    world.finish(node)
    world.do_chores(node)
    world.check()
    node.lose_store()
    world.do_chores(node)
    world.check()
    assert [row.state for row in node.book.reservations()] == [State.REPORTED]


@pytest.mark.parametrize("status", [("192.0.2.2/29",), ("nonsense",)])
def test_what_was_reported_once_stays_with_the_claim(status: tuple[str, ...]) -> None:
    """A person edited the status while the machine was stopped; only the deletion of the claim frees its address."""
    world = World(1)
    node = world.nodes[0]
    (before,) = added(world, node, vm(world), "c1")
    world.delete(node, ("c1", "net1"))
    world.finish(node)
    world.foreign = {"vm"}
    assert before != "192.0.2.2/29"
    world.api.change_claim(world.api.claims["vms", "vm"], ips=status)
    world.do_chores(node)
    assert [str(one.address) for one in world.api.leases.values()] == [before]
    world.api.delete_claim(("vms", "vm"))
    world.do_chores(node)
    assert world.api.leases == {}


def test_two_nodes_agree_on_a_pod_whose_name_comes_again() -> None:
    """The node of the earlier pod does not take the name of the later one out of the status."""
    world = World(2)
    first, second = world.nodes
    added(world, first, vm(world), "c1")
    world.delete(first, ("c1", "net1"))
    world.finish(first)
    added(world, second, vm(world), "c2")  # the same name, another UID
    for node in (first, second, first):
        world.do_chores(node)
        assert world.api.claims["vms", "vm"].owner_pod == "vm-1"
    world.api.requests.clear()
    world.do_chores(first)
    assert "WriteStatus" not in world.api.requests


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("killed", [False, True])
def test_a_status_that_another_program_spells_otherwise_in_the_middle_of_an_add(number: int, killed: bool) -> None:  # noqa: FBT001
    """It has restored the claim from a backup, with the address that this node has reserved for it."""
    world = World(1, network(subnets="2001:db8::/125"))
    node = world.nodes[0]
    run = world.add(node, vm(world), "c1")
    while not world.api.leases:
        node.step(run)
    step_until(node, run, number)
    (lease,) = world.api.leases.values()
    world.api.change_claim(world.api.claims["vms", "vm"], ips=(str(lease.address).upper(),))
    if killed:
        node.kill()
        world.delete(node, ("c1", "net1"))
        world.finish(node)
        world.do_chores(node)
    world.finish(node)  # at each step, the address in the status has its Lease
    assert [one.uid for one in world.api.leases.values()] == [lease.uid]
