from __future__ import annotations

from dataclasses import replace

import pytest

from nodenet.core.persistent_ips.cni import CniError
from nodenet.core.persistent_ips.model import State
from nodenet.core.persistent_ips.repair import attached_pods, is_settled, owner_pod
from persistent_ips_story import added, step_until, vm
from persistent_ips_world import World, network


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


def test_whom_the_status_should_name() -> None:
    world = World(1)
    node = world.nodes[0]
    added(world, node, vm(world), "c1")
    claim = world.api.claims["vms", "vm"]
    assert attached_pods(node.book, claim) == ["vm-1"]
    assert owner_pod(node.book, replace(claim, owner_pod="elsewhere")) == "elsewhere"
    assert owner_pod(node.book, replace(claim, owner_pod="")) == "vm-1"


def test_when_nothing_is_to_do() -> None:
    world = World(1)
    node = world.nodes[0]
    added(world, node, vm(world), "c1")
    claim = world.api.claims["vms", "vm"]
    assert is_settled(node.book, claim)
    for change in ({"ips": ()}, {"ips": ("192.0.2.200/29",)}, {"owner_pod": ""}):
        assert not is_settled(node.book, replace(claim, **change)), change
    assert is_settled(node.book, replace(claim, owner_pod="elsewhere"))
    assert is_settled(node.book, replace(claim, uid="of another node", ips=()))


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
