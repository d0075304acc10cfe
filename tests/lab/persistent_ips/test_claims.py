"""Does a claim decide about its address, whatever else happens to pods, networks and other claims?"""

from __future__ import annotations

import ipaddress

from harness import eventually
from harness.kube_client import Document
from ipam_node import NodeMaker
from ipam_site import Network, Site, Space, duplicates, element, freed

OWNER = {"apiVersion": "apps/v1", "kind": "StatefulSet", "controller": True}


def condition(space: Space, claim: str) -> Document:
    """Return the condition IPsAllocated of a claim."""
    return next((one for one in space.status(claim).get("conditions", []) if one["type"] == "IPsAllocated"), {})


def test_several_networks_several_subnets_both_families(site: Site, space: Space, node: NodeMaker) -> None:
    """One address from each subnet, none of what is excluded, for each network of the pod."""
    first = site.network("10.71.0.0/28,10.72.0.0/24,fd71::/120", exclude="10.71.0.0/29,fd71::/121")
    second = site.network()
    for name, network in (("vm.first", first), ("vm.second", second)):
        space.claim(name, network)
    pod = space.pod("one", element(first, "vm.first", "net1"), element(second, "vm.second", "net2"))
    worker = node()
    got = [ipaddress.ip_interface(one).ip for one in worker.ask("ADD", first, pod).ips]
    wanted = [ipaddress.ip_network(one) for one in ("10.71.0.8/29", "10.72.0.0/24", "fd71::80/121")]
    assert [address in network for address, network in zip(got, wanted, strict=True)] == [True] * 3
    assert len(worker.ask("ADD", second, pod, "net2").ips) == 1
    assert len(site.leases(first)) == 3
    for name in ("vm.first", "vm.second"):
        space.admin.delete(space.claim_path(name))
    for interface, network in (("net1", first), ("net2", second)):
        worker.ask("DEL", network, pod, interface)
        freed(site, network)


def test_elements_without_an_interface_are_numbered(site: Site, space: Space, node: NodeMaker) -> None:
    """net1, net2 … in the annotation's order."""
    networks = [site.network(), site.network()]
    elements = []
    for number, network in enumerate(networks):
        space.claim(f"vm.n{number}", network)
        elements.append(element(network, f"vm.n{number}"))
        del elements[-1]["interface"]
    pod = space.pod("one", *elements)
    worker = node()
    for number, network in enumerate(networks):
        assert worker.ask("ADD", network, pod, f"net{number + 1}").ips == space.ips(f"vm.n{number}")


def test_a_claim_that_is_made_after_its_pod(site: Site, space: Space, node: NodeMaker) -> None:
    """Code 11 until it is there; the runtime tries again."""
    network = site.network()
    worker = node()
    pod = space.pod("one", element(network, "late"))
    assert worker.ask("ADD", network, pod).code == 11
    assert site.leases(network) == []
    space.claim("late", network)
    assert worker.ask("ADD", network, pod).ips == space.ips("late")


def test_a_claim_deleted_and_made_again(site: Site, space: Space, node: NodeMaker) -> None:
    """The same name with another UID is another claim: nothing of the old one is left."""
    network = site.network()
    worker = node()
    space.claim("vm", network)
    pod = space.pod("one", element(network, "vm"))
    assert worker.ask("ADD", network, pod).exit == 0
    worker.ask("DEL", network, pod)
    space.remove_pod(pod)
    space.admin.delete(space.claim_path("vm"))
    space.claim("vm", network)
    again = space.pod("again", element(network, "vm"))
    fresh = worker.ask("ADD", network, again).ips
    assert space.ips("vm") == fresh
    freed(site, network, left=1)


def test_a_pod_without_a_reference_gives_its_address_back(site: Site, space: Space, node: NodeMaker) -> None:
    """It is an ordinary IPAM plugin for everybody else, from the same pool."""
    network = site.network("10.73.0.0/29")
    worker = node()
    space.claim("vm", network)
    held = worker.ask("ADD", network, space.pod("claimed", element(network, "vm"))).ips
    for number in range(12):
        pod = space.pod(f"pod-{number}", element(network))
        assert worker.ask("ADD", network, pod).ips != held
        assert worker.ask("DEL", network, pod).exit == 0
    freed(site, network, left=1)


def test_a_reference_where_the_network_allows_none(site: Site, space: Space, node: NodeMaker) -> None:
    """Code 7 names the key; with the option `ignore` the address is an ordinary one."""
    network = site.network(persistent=False)
    space.claim("vm", network)
    worker = node()
    refused = worker.ask("ADD", network, space.pod("one", element(network, "vm")))
    assert refused.code == 7
    assert "allowPersistentIPs" in refused.text
    worker.stop()
    worker.set('[ipam]\nclaim_not_allowed = "ignore"\n')
    worker.start()
    pod = space.pod("two", element(network, "vm"))
    assert worker.ask("ADD", network, pod).exit == 0
    assert space.ips("vm") == []
    worker.ask("DEL", network, pod)
    freed(site, network)


def test_ips_and_a_reference_together(site: Site, space: Space, node: NodeMaker) -> None:
    """The specification of the annotation forbids it."""
    network = site.network()
    space.claim("vm", network)
    pod = space.pod("one", element(network, "vm", ips=["10.0.0.9/24"]))
    refused = node().ask("ADD", network, pod)
    assert (refused.exit, site.leases(network)) == (1, [])
    assert "ips" in refused.text


def test_a_foreign_status_is_not_overwritten(site: Site, space: Space, node: NodeMaker) -> None:
    """Another IPAM wrote an address: it is served where it can be, and never changed."""
    network = site.network("10.74.0.0/24")
    worker = node()
    cases = {
        "inside": ["10.74.0.77/24"],
        "outside": ["192.0.2.7/24"],
        "nonsense": ["banana"],
        "wrong": ["10.74.0.0/24"],
    }
    for name, ips in cases.items():
        space.claim(name, network)
        space.admin.patch(f"{space.claim_path(name)}/status", {"status": {"ips": ips}})
        answer = worker.ask("ADD", network, space.pod(name, element(network, name)))
        assert space.ips(name) == ips
        assert (answer.ips if name == "inside" else answer.exit) == (ips if name == "inside" else 1), name
    assert len(site.leases(network)) == 1


def test_two_claims_with_one_foreign_address(site: Site, space: Space, node: NodeMaker) -> None:
    """The second one is refused: IPAddressConflict."""
    network = site.network("10.75.0.0/24")
    worker = node()
    codes = []
    for name in ("first", "second"):
        space.claim(name, network)
        space.admin.patch(f"{space.claim_path(name)}/status", {"status": {"ips": ["10.75.0.9/24"]}})
        codes.append(worker.ask("ADD", network, space.pod(name, element(network, name))).exit)
    assert codes == [0, 1]
    eventually(lambda: condition(space, "second").get("reason") == "IPAddressConflict", "the condition")


def test_unrelated_pods_do_not_share_a_claim(site: Site, space: Space, node: NodeMaker) -> None:
    """Two pods of one virtual machine may, as in a migration; a third one of a StatefulSet waits."""
    network = site.network()
    worker = node()
    space.claim("vm", network)

    source, target = (space.pod(name, element(network, "vm")) for name in ("source", "target"))
    owner = {**OWNER, "name": "set", "uid": "b"}
    stranger = space.pod("stranger", element(network, "vm"), labels={}, ownerReferences=[owner])
    address = worker.ask("ADD", network, source).ips
    assert worker.ask("ADD", network, target).ips == address
    assert worker.ask("ADD", network, stranger).code == 11
    for one in (source, target):
        worker.ask("DEL", network, one)
        space.remove_pod(one)
    assert worker.ask("ADD", network, stranger).ips == address


def test_statuses_conditions_and_events(site: Site, space: Space, node: NodeMaker) -> None:
    """What people see: IPsAllocated with its reason, ownerPod, and an Event when the subnet is full."""
    network = site.network("10.76.0.0/30")
    worker = node()
    answers = []
    for number in range(3):
        space.claim(f"vm-{number}", network)
        answers.append(worker.ask("ADD", network, space.pod(f"pod-{number}", element(network, f"vm-{number}"))))
    assert answers[0].exit == 0
    assert (condition(space, "vm-0")["status"], condition(space, "vm-0")["reason"]) == ("True", "SuccessfulAllocation")
    assert space.status("vm-0")["ownerPod"] == {"name": "pod-0"}
    assert answers[2].code == 11
    eventually(lambda: condition(space, "vm-2").get("reason") == "SubnetExhausted", "the condition")
    assert condition(space, "vm-2")["status"] == "False"
    assert space.ips("vm-2") == []
    events = eventually(lambda: space.events("Exhausted"), "an Event")
    assert {event["involvedObject"]["name"] for event in events} & {"vm-2", "pod-2"}


def test_networks_of_one_name_that_differ(site: Site, space: Space, node: NodeMaker) -> None:
    """Two definitions of one name are refused, with both named; one definition may be changed."""
    network = site.network("10.77.0.0/24")
    other = Network(network.name, "10.77.0.0/24,10.78.0.0/24")
    worker = node()
    pod = space.pod("one", element(network))
    definition = {
        "apiVersion": "k8s.cni.cncf.io/v1",
        "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": network.name, "namespace": "default"},
        "spec": {"config": network.conflist()},
    }
    space.admin.apply(definition)
    address = worker.ask("ADD", network, pod).ips
    refused = worker.ask("ADD", other, space.pod("two", element(network, namespace="elsewhere")))
    assert refused.code == 7
    assert f"default/{network.name} and elsewhere/{network.name}" in refused.text
    assert worker.ask("ADD", network, pod).ips == address
    assert len(worker.ask("ADD", other, space.pod("three", element(network))).ips) == 2
    space.admin.delete(f"/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions/{network.name}")
    assert worker.ask("ADD", network, space.pod("four", element(network, namespace="elsewhere"))).exit == 0


def test_a_claim_of_another_namespace_or_network(site: Site, space: Space, node: NodeMaker) -> None:
    """A claim is looked for in the pod's namespace only, and is for one network."""
    network, second = site.network(), site.network()
    elsewhere = site.space()
    elsewhere.claim("vm", network)
    worker = node()
    assert worker.ask("ADD", network, space.pod("one", element(network, "vm"))).code == 11
    space.claim("other", second)
    assert worker.ask("ADD", network, space.pod("two", element(network, "other"))).exit == 1
    assert (site.leases(network), elsewhere.ips("vm"), space.ips("other")) == ([], [], [])


def test_a_deleted_claim_frees_its_address(site: Site, space: Space, node: NodeMaker) -> None:
    """Only its deletion does; no pod of it runs any more."""
    network = site.network()
    worker = node()
    space.claim("vm", network)
    pod = space.pod("one", element(network, "vm"))
    worker.ask("ADD", network, pod)
    worker.ask("DEL", network, pod)
    assert len(site.leases(network)) == 1
    space.admin.delete(space.claim_path("vm"))
    freed(site, network)
    assert duplicates(space.admin.get(space.claim_path())["items"]) == {}
