"""ADD step by step: what is asked, what is answered, and what is there after a kill at any step."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from nodenet.core.persistent_ips.cni import CniError, Code
from nodenet.core.persistent_ips.effects import Announce, Save, Sync, WriteStatus
from nodenet.core.persistent_ips.model import PodName, State
from nodenet.core.persistent_ips.repair import adopt
from persistent_ips_story import added, length, step_until, vm
from persistent_ips_world import Node, Run, World, network


def test_a_new_claim_takes_three_requests() -> None:
    world = World(1)
    node = world.nodes[0]
    pod = vm(world)
    node.watch()
    (address,) = added(world, node, pod)
    assert world.api.requests == ["ReadPod", "CreateLease", "WriteStatus"]
    claim = world.api.claims["vms", "vm"]
    assert (claim.ips, claim.owner_pod) == ((address,), "vm-1")
    assert claim.conditions == (("IPsAllocated", "True", "SuccessfulAllocation"),)
    assert [row.state for row in node.book.reservations()] == [State.REPORTED]


def test_a_reservation_is_durable_before_the_status_names_it_and_a_known_one_is_not_written_first() -> None:
    world = World(1)
    node = world.nodes[0]
    vm(world)
    node.watch()

    def order(pod: PodName) -> list[str]:
        run, found = world.add(node, pod), []
        while run in node.runs:
            effect = run.effect
            waits = (
                f" {'waits' if effect.wait else 'soon' if effect.soon else 'later'}" if isinstance(effect, Save) else ""
            )
            found.append(type(effect).__name__ + waits)
            node.step(run)
        node.watch()
        return found

    assert order(world.api.put_pod("vm-2", "vm", "vm")) == [
        *("ReadPod", "Hold", "CreateLease", "Save waits", "WriteStatus", "Sync", "Save later")
    ]
    assert order(world.api.put_pod("vm-3", "vm", "vm")) == [
        *("ReadPod", "Hold", "Save soon", "WriteStatus", "Sync", "Save later")
    ]


def test_a_full_disk_while_the_status_is_written_leaves_nothing_attached() -> None:
    world = World(1)
    node = world.nodes[0]
    added(world, node, vm(world), "c1")
    run = world.add(node, world.api.put_pod("vm-2", "vm", "vm"), "c2")
    while run in node.runs:
        node.step(run, "disk full" if isinstance(run.effect, Sync) else "")
    assert isinstance(run.outcome, CniError)
    assert run.outcome.code is Code.IO
    assert [one.key for one in node.book.attachments()] == [("c1", "net1")]
    world.check()


def test_a_pod_without_a_reference_takes_two_requests() -> None:
    world = World(1)
    added(world, world.nodes[0], world.api.put_pod("plain"))
    assert world.api.requests == ["ReadPod", "CreateLease"]


def test_one_address_of_each_subnet() -> None:
    world = World(1, network(subnets="192.0.2.0/24,2001:db8::/64"))
    addresses = added(world, world.nodes[0], vm(world))
    assert [one.rpartition("/")[2] for one in addresses] == ["24", "64"]
    assert world.api.claims["vms", "vm"].ips == addresses


def test_stop_start_and_migration_keep_the_address() -> None:
    world = World(2)
    first, second = world.nodes
    before = added(world, first, vm(world), "c1")
    world.delete(first, ("c1", "net1"))
    world.finish(first)
    assert added(world, first, vm(world, number=2), "c2") == before
    assert added(world, second, vm(world, number=3), "c3") == before
    assert world.api.claims["vms", "vm"].owner_pod == "vm-3"
    assert len(world.api.leases) == 1
    world.delete(first, ("c2", "net1"))
    world.finish(first)
    world.do_chores(first)
    assert world.api.claims["vms", "vm"].owner_pod == "vm-3"
    world.check()


def test_a_repeated_add_asks_nothing() -> None:
    world = World(1)
    before = added(world, world.nodes[0], vm(world), "c1")
    pod = PodName("vms", "vm-1", "pod-3")
    world.api.requests.clear()
    assert added(world, world.nodes[0], pod, "c1") == before
    assert world.api.requests == []


def test_a_repeated_add_that_fails_keeps_what_the_first_one_attached() -> None:
    """The claim was deleted by hand, and the service killed before its last record was on the disk."""
    world = World(1)
    node, pod = world.nodes[0], vm(world)
    added(world, node, pod, "c1")
    node.kill()
    world.api.delete_claim(("vms", "vm"))
    node.watch()
    with pytest.raises(CniError, match="does not exist"):
        added(world, node, pod, "c1")
    world.do_chores(node)
    world.check()
    assert node.book.attachment(("c1", "net1")) is not None


def test_a_repeated_add_that_fails_keeps_what_a_repair_recorded_meanwhile() -> None:
    """The store was lost, and the claim deleted by hand."""
    world = World(1)
    node, pod = world.nodes[0], vm(world)
    added(world, node, pod, "c1")
    (lease,) = world.api.leases.values()
    node.lose_store()
    world.api.delete_claim(("vms", "vm"))
    node.watch()
    adopting = node.begin("adopt", adopt(node.here(), lease))
    while not adopting.holds:
        node.step(adopting)
    run = world.add(node, pod, "c1")
    while node.ready(run):
        node.step(run)
    world.finish(node)
    assert isinstance(run.outcome, CniError)
    assert node.book.attachment(("c1", "net1")) is not None
    world.do_chores(node)
    world.check()


def failure(world: World, pod: PodName, **changes: Any) -> CniError:
    with pytest.raises(CniError) as caught:
        added(world, world.nodes[0], pod, **changes)
    world.check()
    return caught.value


def test_a_reference_where_the_network_does_not_allow_it() -> None:
    world = World(1, network(allowPersistentIPs=False))
    error = failure(world, vm(world))
    assert error.code is Code.CONFIGURATION
    assert error.text == ("Pod vms/vm-1 references IPAMClaim vm on network blue, which does not allow persistent IPs")
    assert world.api.leases == {}


def test_a_list_allows_references_at_its_top_level_as_the_controller_reads_it() -> None:
    """A runtime passes the plugin its own part of the list only."""
    world = World(1, network(allowPersistentIPs=False))
    pod = vm(world)
    world.api.definitions["vms", "blue"] = '{"plugins": [{"type": "bridge"}], "allowPersistentIPs": true}'
    assert added(world, world.nodes[0], pod) == world.api.claims["vms", "vm"].ips


def test_a_machine_without_a_claim_is_said() -> None:
    """The controller reads allowPersistentIPs at the top level only: it makes no claim for a part of a list."""
    world = World(1)
    node = world.nodes[0]
    run = world.add(node, world.api.put_pod("vm-1", machine="vm"))
    said = []
    while run in node.runs:
        said += [run.effect.text] if isinstance(run.effect, Announce) else []
        node.step(run)
    (text,) = said
    assert text == (
        "Pod vms/vm-1 of a virtual machine references no IPAMClaim on network blue: its address changes with its next "
        "start. Set allowPersistentIPs at the top level of the configuration"
    )


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"ipam": {"gateway": "192.0.2.1"}}, "which is a gateway of network blue"),
        ({"isGateway": True}, "which is a gateway of network blue"),
        ({"excludeSubnets": "192.0.2.0/31"}, "which excludeSubnets of network blue excludes"),
    ],
)
def test_a_claim_does_not_keep_a_gateway_or_what_is_excluded(changes: dict[str, Any], why: str) -> None:
    """The configuration was changed while its machine was stopped, or another program wrote the status."""
    world = World(1)
    node = world.nodes[0]
    world.foreign = {"vm", "other"}
    assert added(world, node, vm(world, ips=("192.0.2.1/29",)), "c1") == ("192.0.2.1/29",)
    world.delete(node, ("c1", "net1"))
    world.finish(node)
    world.network = network(**changes)
    error = failure(world, vm(world, number=2))
    assert (error.code, error.text) == (Code.CONFIGURATION, f"IPAMClaim vms/vm has 192.0.2.1/29, {why}")
    other = failure(world, vm(world, "other", ips=("192.0.2.1/29",)))
    assert other.text == f"IPAMClaim vms/other has 192.0.2.1/29, {why}"


def wishing(world: World, name: str, *ips: object) -> PodName:
    pod = world.api.put_pod(name)
    networks = json.dumps([{"name": "blue", "interface": "net1", "ips": ips}])
    world.api.pods["vms", name]["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"] = networks
    return pod


def test_a_pod_gets_the_addresses_that_it_asks_for() -> None:
    world = World(2, network(subnets="192.0.2.0/29,2001:db8::/64"))
    pod = wishing(world, "web", "192.0.2.5/29")
    address, other = added(world, world.nodes[0], pod, "c1")
    assert address == "192.0.2.5/29"
    assert other.endswith("/64")
    assert added(world, world.nodes[0], pod, "c2") == (address, other)
    second = wishing(world, "second", "2001:db8::5", "192.0.2.6")
    assert added(world, world.nodes[1], second) == ("192.0.2.6/29", "2001:db8::5/64")
    world.end()


def test_a_wish_that_cannot_be_fulfilled_is_refused() -> None:
    world = World(1, network(excludeSubnets="192.0.2.4/31"))
    world.foreign = {"vm"}
    added(world, world.nodes[0], vm(world, ips=("192.0.2.2/29",)))
    added(world, world.nodes[0], wishing(world, "first", "192.0.2.3"))
    for number, (ips, code, text) in enumerate(
        [
            (
                ["198.51.100.1"],
                7,
                "asks for 198.51.100.1 (ips of its annotation), which is in no subnet",
            ),
            (["192.0.2.4"], 7, "asks for 192.0.2.4 (ips of its annotation), which excludeSubnets of network blue"),
            (["192.0.2.6", "192.0.2.1"], 7, "asks for two addresses of 192.0.2.0/29 (ips of its annotation)"),
            (["blue"], 7, "ips of interface net1 has 'blue', which is not an address"),
            (["192.0.2.2"], 11, "asks for 192.0.2.2/29 (ips of its annotation), which another claim or pod has"),
            (["192.0.2.3"], 11, "asks for 192.0.2.3/29 (ips of its annotation), which another claim or pod has"),
        ]
    ):
        error = failure(world, wishing(world, f"late-{number}", *ips))
        assert error.code == code
        assert text in error.text
    world.api.leases.clear()  # lost, and not yet made again
    world.live.clear()
    assert failure(world, wishing(world, "again", "192.0.2.3")).code == 11
    world.live.clear()


def test_a_reference_is_ignored_where_that_is_set() -> None:
    world = World(1, network(allowPersistentIPs=False))
    node = world.nodes[0]
    here = node.here
    node.here = lambda: replace(here(), ignore_not_allowed=True)  # type: ignore[method-assign]
    added(world, node, vm(world), "c1")
    world.delete(node, ("c1", "net1"))
    world.finish(node)
    world.do_chores(node)
    assert world.api.leases == {}


def test_a_full_subnet_is_said_at_the_claim() -> None:
    world = World(1, network(subnets="192.0.2.0/30"))
    for number in range(2):
        added(world, world.nodes[0], vm(world, f"vm{number}"))
    error = failure(world, vm(world, "late"))
    assert (error.code, error.text) == (Code.TRY_AGAIN, "Network blue has no free address in 192.0.2.0/30")
    late = world.api.claims["vms", "late"]
    assert (late.ips, late.conditions) == ((), (("IPsAllocated", "False", "SubnetExhausted"),))
    world.end()


def test_the_second_subnet_is_full_and_the_first_address_is_given_back() -> None:
    world = World(1, network(subnets="192.0.2.0/24,198.51.100.0/30"))
    for number in range(2):
        added(world, world.nodes[0], vm(world, f"vm{number}"))
    failure(world, vm(world, "late"))
    assert len(world.api.leases) == 4


def test_a_status_of_another_program_is_kept_or_refused() -> None:
    world = World(1)
    world.foreign = {"vm", "thief", "strange", "nonsense"}
    assert added(world, world.nodes[0], vm(world, ips=("192.0.2.3/29",))) == ("192.0.2.3/29",)
    error = failure(world, vm(world, "thief", ips=("192.0.2.3/29",)))
    assert error.text == "claim vms/thief has 192.0.2.3/29 in its status, which is reserved for claim vms/vm"
    assert world.api.claims["vms", "thief"].conditions == (("IPsAllocated", "False", "IPAddressConflict"),)
    strange = failure(world, vm(world, "strange", ips=("198.51.100.1/24",)))
    assert strange.text == "IPAMClaim vms/strange has 198.51.100.1/24, which is in no subnet of network blue"
    nonsense = failure(world, vm(world, "nonsense", ips=("blue",)))
    assert nonsense.text == ("IPAMClaim vms/nonsense cannot be used: status.ips has 'blue', which is not an address")


def test_two_configurations_of_one_network_name_both_definitions() -> None:
    world = World(1)
    added(world, world.nodes[0], vm(world))
    other = vm(world, "other")
    element = world.api.pods["vms", "other-1"]["metadata"]["annotations"]
    element["k8s.v1.cni.cncf.io/networks"] = element["k8s.v1.cni.cncf.io/networks"].replace('"blue"', '"green"')
    world.network = network(subnets="192.0.2.0/28")
    assert failure(world, other).text == (
        "NetworkAttachmentDefinitions vms/blue and vms/green configure network blue in different ways, "
        "and pod vms/vm-1 of this node has the first"
    )
    # One definition may be changed: the subnet is larger now.
    assert added(world, world.nodes[0], vm(world, "vm", 2)) == world.api.claims["vms", "vm"].ips


def test_a_definition_that_is_gone_configures_nothing_any_more() -> None:
    """It was renamed, and its subnets changed, while pods of the old one run."""
    world = World(1)
    added(world, world.nodes[0], vm(world))
    other = vm(world, "other")
    element = world.api.pods["vms", "other-1"]["metadata"]["annotations"]
    element["k8s.v1.cni.cncf.io/networks"] = element["k8s.v1.cni.cncf.io/networks"].replace('"blue"', '"green"')
    del world.api.definitions["vms", "blue"]
    world.network = network(subnets="192.0.2.0/28")
    assert added(world, world.nodes[0], other)


def test_two_networks_on_one_link_do_not_have_the_same_subnet() -> None:
    """Their Leases have two names, so each address would be given twice."""
    world = World(1, network(bridge="br-a"))
    node = world.nodes[0]
    added(world, node, world.api.put_pod("first"), "c1")
    world.live.clear()  # what is compared is of one network
    world.network = network("green", bridge="br-a", subnets="192.0.2.0/28")
    assert failure(world, world.api.put_pod("second")).text == (
        "Networks blue and green have 192.0.2.0/28 on the same link br-a, "
        "and pod vms/first of this node has an address of blue"
    )
    world.network = network("green", bridge="br-a", vlan=7)
    assert added(world, node, world.api.put_pod("third"), "c3")
    world.delete(node, ("c1", "net1"))
    world.finish(node)
    world.network = network("green", bridge="br-a")
    world.live.clear()
    assert added(world, node, world.api.put_pod("fourth"), "c4")


def test_another_network_in_the_same_interface_is_refused() -> None:
    world = World(1)
    pod = vm(world)
    added(world, world.nodes[0], pod, "c1")
    world.network = network("red")
    with pytest.raises(CniError) as caught:
        added(world, world.nodes[0], pod, "c1")
    assert caught.value.text == "Interface net1 of container c1 is attached to network blue already"


def test_containers_of_one_id_on_two_nodes_have_two_addresses() -> None:
    """Without Kubernetes: tools derive the id from the path of the network namespace."""
    world = World(2)
    assert added(world, world.nodes[0], None, "c1") != added(world, world.nodes[1], None, "c1")


def test_a_container_of_the_same_id_after_a_reboot_is_another_one() -> None:
    """What the earlier boot left is released meanwhile."""
    world = World(1)
    node = world.nodes[0]
    pod = world.api.put_pod("plain")
    added(world, node, None, "c1")
    added(world, node, pod, "c2")
    world.reboot(node)
    given = {*added(world, node, None, "c1"), *added(world, node, pod, "c2")}
    for _ in range(2):
        world.do_chores(node)
    assert {str(one.address) for one in world.api.leases.values()} == given
    world.check()


def test_what_was_read_from_a_lease_is_no_answer() -> None:
    """A kill between the Leases of two subnets, and a runtime that asks again for the same container."""
    world = World(1, network(subnets="192.0.2.0/29,2001:db8::/125"))
    node = world.nodes[0]
    pod = world.api.put_pod("plain")
    run = world.add(node, pod, "c1")
    while not world.api.leases:
        node.step(run)
    node.kill()
    world.do_chores(node)
    assert [len(one.addresses) for one in node.book.attachments()] == [1]
    assert len(added(world, node, pod, "c1")) == 2
    world.end()


def test_an_old_watch_gives_a_pod_of_the_same_name_nothing_of_a_deleted_claim() -> None:
    """The claim was deleted and its address given to another one while this node heard nothing."""
    world = World(2)
    here, other = world.nodes
    for number, node in enumerate((here, other)):
        added(world, node, vm(world), f"c{number}")
        world.delete(node, (f"c{number}", "net1"))
        world.finish(node)
        world.api.change_claim(world.api.claims["vms", "vm"], owner_pod="vm-1")  # its cleaning is not done yet
        world.do_chores(here) if node is here else None
    here.watch()
    other.watch()
    (address,) = world.api.claims["vms", "vm"].ips
    world.api.delete_claim(("vms", "vm"))
    world.do_chores(other)
    assert world.api.leases == {}
    world.foreign = {"new"}
    assert added(world, other, vm(world, "new", ips=(address,)), "c2") == (address,)
    with pytest.raises(CniError, match="does not exist yet"):
        added(world, here, world.api.put_pod("vm-1", "vm", machine="vm"), "c3")
    world.check()


CASES = ("new claim", "known claim", "plain", "two subnets")


def begun(case: str) -> tuple[World, Node, Run, PodName]:
    world = World(2, network(subnets="192.0.2.0/29,2001:db8::/125") if case == "two subnets" else None)
    node = world.nodes[0]
    if case == "known claim":
        added(world, world.nodes[1], vm(world, number=7), "c0")
        world.delete(world.nodes[1], ("c0", "net1"))
        world.finish(world.nodes[1])
    pod = world.api.put_pod("plain") if case == "plain" else vm(world)
    return world, node, world.add(node, pod, "c1"), pod


STEPS = [(case, number) for case in CASES for number in range(length(lambda case=case: begun(case)[:3]) + 1)]  # type: ignore[misc]


@pytest.mark.parametrize(("case", "number"), STEPS)
@pytest.mark.parametrize("fault", ["kill", "power cut", "away before", "away after", "disk full", "store lost"])
def test_a_fault_at_each_step(case: str, number: int, fault: str) -> None:
    """The promises hold at once, a repeated ADD succeeds, and nothing is left at the end."""
    world, node, run, pod = begun(case)
    step_until(node, run, number)
    if fault == "kill":
        node.flush()
        node.kill()
    elif fault == "power cut":
        world.reboot(node)
    elif fault == "store lost":
        node.lose_store()
    elif run in node.runs:
        node.step(run, fault)
        world.finish(node)
    world.check()
    (again, *_) = added(world, node, pod, "c2")
    assert again.startswith("192.0.2.")
    world.do_chores(node)
    world.check()
    if case != "plain":
        assert world.api.claims["vms", "vm"].ips[0] == again
    world.end()


@pytest.mark.parametrize("killed", [False, True])
def test_a_lease_that_an_add_has_only_moved_is_not_given_back(*, killed: bool) -> None:
    """A person clears the status and sets another address, while the ADD of another node has just moved the Lease."""
    world = World(2)
    first, second = world.nodes
    world.foreign = {"vm"}
    (before,) = added(world, first, vm(world), "c1")
    other = next(f"192.0.2.{one}/29" for one in (5, 6) if f"192.0.2.{one}/29" != before)
    world.api.change_claim(world.api.claims["vms", "vm"], ips=())
    run = world.add(second, vm(world, number=2), "c2")
    while not isinstance(run.effect, WriteStatus):
        second.step(run)
    world.api.change_claim(world.api.claims["vms", "vm"], ips=(other,))
    if killed:
        second.kill()
        world.do_chores(second)
        run = world.add(second, vm(world, number=2), "c2")
    world.finish(second)
    assert tuple(map(str, run.outcome)) == (other,)
    for node in (second, first):
        world.do_chores(node)
    assert {str(one.address) for one in world.api.leases.values()} == {before, other}
    world.end()
