"""What takes the place of the addresses and definitions of whereabouts?"""

from __future__ import annotations

import json
from typing import Any

import pytest

from nodenet.core.persistent_ips.model import Owner, OwnerKind
from nodenet.core.persistent_ips.whereabouts import (
    STATUS,
    Given,
    NotTaken,
    addresses_of_claims,
    contradictions,
    definition,
    given,
    lease_of,
)

BOOT = "0f4e1cd5-52a5-4a0f-a3c0-6c0b6c2d7a11"


def document(
    ipam: dict[str, Any] | None = None, name: str = "blue", network: str = "", **config: Any
) -> dict[str, Any]:
    """Return a definition as the API sends it."""
    asked = {"type": "whereabouts", **(ipam if ipam is not None else {"range": "192.0.2.0/24"})}
    config |= {"name": network} if network else {}
    text = json.dumps({"cniVersion": "1.0.0", "type": "macvlan", "master": "eth1", "ipam": asked, **config})
    return {"metadata": {"namespace": "default", "name": name, "resourceVersion": "7"}, "spec": {"config": text}}


def pool(allocations: dict[str, Any], range_: str = "192.0.2.0/24", name: str = "192.0.2.0-24") -> dict[str, Any]:
    """Return a pool as the API sends it."""
    return {
        "metadata": {"namespace": "kube-system", "name": name},
        "spec": {"range": range_, "allocations": allocations},
    }


def pod(**more: Any) -> dict[str, Any]:
    """Return a pod as the API sends it."""
    metadata = {"namespace": "default", "name": "web", "uid": "u1", **more.pop("metadata", {})}
    return {"metadata": metadata, "spec": {"nodeName": "worker-0"}, "status": {"phase": "Running"}, **more}


def allocation(ref: str = "default/web", ifname: str = "net1", **more: Any) -> dict[str, Any]:
    return {"id": "c1", "podref": ref, "ifname": ifname, **more}


@pytest.mark.parametrize(
    ("ipam", "subnets", "excluded", "pools"),
    [
        ({"range": "192.0.2.0/24"}, "192.0.2.0/24", "", ("192.0.2.0-24",)),
        ({"range": "192.0.2.9/24", "exclude": ["192.0.2.8/29"]}, "192.0.2.0/24", "192.0.2.8/29", ("192.0.2.0-24",)),
        (
            {"range": "192.0.2.4-192.0.2.247/24", "network_name": "tenant"},
            "192.0.2.0/24",
            "192.0.2.0/30,192.0.2.248/29",
            ("tenant-192.0.2.0-24",),
        ),
        (
            {"range": "192.0.2.0/29", "range_start": "192.0.2.2", "range_end": "192.0.2.3"},
            "192.0.2.0/29",
            "192.0.2.0/31,192.0.2.4/30",
            ("192.0.2.0-29",),
        ),
        (
            {"ipRanges": [{"range": "192.0.2.0/24"}, {"range": "2001:db8::/64"}]},
            "192.0.2.0/24,2001:db8::/64",
            "",
            ("192.0.2.0-24", "2001-db8---64"),
        ),
    ],
)
def test_a_definition(ipam: dict[str, Any], subnets: str, excluded: str, pools: tuple[str, ...]) -> None:
    """It is the same network, and what whereabouts does not give is excluded."""
    made = definition(document(ipam))
    assert made is not None
    config = json.loads(made.configuration)
    assert (config["subnets"], config.get("excludeSubnets", "")) == (subnets, excluded)
    assert (config["type"], config["master"], config["ipam"]) == ("macvlan", "eth1", {"type": "nodenet-ipam"})
    assert (config["name"], made.network.name, made.pools, made.version) == ("blue", "blue", pools, "7")


def test_a_list_of_plugins_keeps_the_others() -> None:
    """Name and allowPersistentIPs stay at the top level, where the controller of claims reads them."""
    asked = {"type": "whereabouts", "range": "192.0.2.0/24", "gateway": "192.0.2.1", "log_level": "debug"}
    plugins = [{"type": "bridge", "bridge": "b0", "ipam": asked}, {"type": "tuning", "mtu": 1400}]
    whole = {"cniVersion": "1.0.0", "name": "green", "allowPersistentIPs": True, "plugins": plugins}
    made = definition({"metadata": {"namespace": "default", "name": "x"}, "spec": {"config": json.dumps(whole)}})
    assert made is not None
    bridge = {"type": "bridge", "bridge": "b0", "subnets": "192.0.2.0/24"}
    bridge_ = {**bridge, "ipam": {"type": "nodenet-ipam", "gateway": "192.0.2.1"}}
    assert json.loads(made.configuration) == {**whole, "plugins": [bridge_, plugins[1]]}
    assert made.network.persistent


@pytest.mark.parametrize(
    ("ipam", "cause"),
    [
        ({"range": "192.0.2.0/24", "node_slice_size": "/28"}, "node_slice_size"),
        ({"range": "192.0.2.0/24", "etcd_host": "http://192.0.2.9:2379"}, "etcd"),
        ({}, "no range"),
        ({"range": "192.0.2.0"}, "/32"),
        ({"range": "nonsense"}, "nonsense"),
        ({"range": "192.0.2.0/24", "range_start": "198.51.100.1"}, "outside"),
        ({"range": "192.0.2.0/24", "range_start": "2001:db8::1"}, "outside"),
        ({"range": "192.0.2.0/24", "gateway": "198.51.100.1"}, "gateway"),
        ({"range": ["192.0.2.0/24"]}, "''"),
    ],
)
def test_a_definition_that_cannot_be_taken_over(ipam: dict[str, Any], cause: str) -> None:
    """It is named with the reason, and stays as it is."""
    with pytest.raises(NotTaken, match="default/blue") as refused:
        definition(document(ipam))
    assert cause in str(refused.value)


@pytest.mark.parametrize("config", ["", "[", "[]", '{"ipam": {"type": "host-local"}}', '{"plugins": [1, {"ipam": 2}]}'])
def test_definitions_of_others(config: str) -> None:
    assert definition({"metadata": {"name": "x"}, "spec": {"config": config}}) is None


def contradicting(*documents: dict[str, Any]) -> list[str]:
    found = [definition(one) for one in documents]
    return list(contradictions([one for one in found if one is not None]))


@pytest.mark.parametrize(
    ("one", "other", "cause"),
    [
        (document(name="blue"), document(name="green"), "names differ"),
        (document(name="blue"), document({"range": "192.0.0.0/16"}, "green"), "names differ"),
        (
            document(name="blue"),
            document({"range": "192.0.2.0/24", "exclude": ["192.0.2.8/29"]}),
            "different addresses",
        ),
        (document(name="blue"), document({"range": "198.51.100.0/24"}), "different addresses"),
    ],
)
def test_definitions_that_contradict_one_another(one: dict[str, Any], other: dict[str, Any], cause: str) -> None:
    """Under two names an address would be given twice, and one name has one configuration."""
    (problem,) = contradicting(one, other)
    assert cause in problem


def test_definitions_that_go_together() -> None:
    """Several of one network, apart by `network_name`, or with ranges that whereabouts lets overlap."""
    tenant = {"range": "192.0.2.0/24", "network_name": "tenant"}
    alone = {"range": "192.0.0.0/16", "enable_overlapping_ranges": False}
    assert not contradicting(document(name="blue", network="one"), document(name="green", network="one"))
    assert not contradicting(document(name="blue"), document(tenant, "green"), document(alone, "red"))


def test_a_pool() -> None:
    """An offset counts from the address that stands in the range."""
    found, problems = given(pool({"9": allocation(), "5": allocation("a/b", "", ipamclaimref="a/vm.blue")}))
    assert [(str(one.address), str(one.pod), one.ifname, one.claim) for one in found] == [
        ("192.0.2.5/24", "a/b", "", "vm.blue"),
        ("192.0.2.9/24", "default/web", "net1", ""),
    ]
    assert problems == []


@pytest.mark.parametrize(
    ("offset", "one"),
    [
        ("-1", allocation()),
        ("٣", allocation()),
        ("9" * 39, allocation()),
        ("256", allocation()),
        ("1", allocation("default")),
        ("1", allocation("default/Web\n")),
        ("1", allocation(ifname="a/b")),
        ("1", {**allocation(), "id": "../x"}),
        ("1", "text"),
    ],
)
def test_a_pool_with_nonsense(offset: str, one: Any) -> None:
    """What cannot be read is named, and the rest is taken over."""
    found, problems = given(pool({offset: one, "7": allocation()}))
    assert [str(one.address.ip) for one in found] == ["192.0.2.7"]
    (problem,) = problems
    assert "192.0.2.0-24" in problem
    assert given(pool({}, range_="x"))[1]


def taken(one: Given, found: dict[str, Any], *claims: dict[str, Any], **config: Any) -> Any:
    made = definition(document(**config))
    assert made is not None
    return lease_of(one, made.network, found, BOOT, claims)


def first(**more: Any) -> Given:
    (found,) = given(pool({"7": allocation(**more)}))[0]
    return found


def test_the_lease_of_a_pod() -> None:
    """It names the sandbox, so that its node takes the pod over as after the loss of its store."""
    lease = taken(first(), pod())
    assert lease.owner == Owner(OwnerKind.POD, "default", "web", "u1/net1")
    assert (lease.node, lease.boot_id, lease.container_id, lease.ifname) == ("worker-0", BOOT, "c1", "net1")
    assert (str(lease.address), str(lease.pod), lease.pod.uid) == ("192.0.2.7/24", "default/web", "u1")
    assert taken(first(), pod(status={"phase": "Succeeded"})) is None


def test_a_pool_of_an_old_release_names_no_interface() -> None:
    """Then the pod's annotation does."""
    status = json.dumps([{"interface": "net3", "ips": ["192.0.2.7"]}, 1])
    annotated = pod(metadata={"annotations": {STATUS: status}})
    assert taken(first(ifname=""), annotated).ifname == "net3"
    with pytest.raises(NotTaken, match="no interface"):
        taken(first(ifname=""), pod())


def claim(name: str, owner: str = "vm-a") -> dict[str, Any]:
    identity = {"namespace": "default", "name": name, "uid": f"uid-{name}", "resourceVersion": "1"}
    owners = [{"kind": "VirtualMachine", "name": owner}]
    return {"metadata": {**identity, "ownerReferences": owners}, "spec": {"network": "blue"}}


def test_the_claim_of_a_machine() -> None:
    """It keeps the address if its network allows that: the referenced one, else the only one of the machine."""
    said = json.dumps([{"interface": "net1", "ips": ["192.0.2.7"]}])
    metadata = {"labels": {"vm.kubevirt.io/name": "vm-a"}, "annotations": {STATUS: said}}
    machine = pod(metadata=metadata)
    lease = taken(first(), machine, claim("a"), claim("b", "vm-b"), allowPersistentIPs=True)
    assert lease.owner == Owner(OwnerKind.CLAIM, "default", "a", "uid-a")
    assert [owner.name for owner, _ in addresses_of_claims([lease])] == ["a"]
    assert taken(first(), machine, claim("a")).owner.kind is OwnerKind.POD
    unsaid = pod(metadata={"labels": {"vm.kubevirt.io/name": "vm-a"}})
    assert taken(first(), unsaid, claim("a"), allowPersistentIPs=True).owner.kind is OwnerKind.POD
    assert taken(first(), machine, claim("b", "vm-b"), allowPersistentIPs=True).owner.kind is OwnerKind.POD
    with pytest.raises(NotTaken, match="2 claims"):
        taken(first(), machine, claim("a"), claim("c"), allowPersistentIPs=True)
    referenced = first(ipamclaimref="default/c")
    assert taken(referenced, machine, claim("a"), claim("c"), allowPersistentIPs=True).owner.name == "c"


def test_an_address_that_no_pod_may_have_here() -> None:
    """A gateway, or an excluded address, that whereabouts gave is named."""
    with pytest.raises(NotTaken, match="gateway"):
        taken(first(), pod(), ipam={"range": "192.0.2.0/24", "gateway": "192.0.2.7"})
    with pytest.raises(NotTaken, match="node of pod"):
        taken(first(), pod(spec={}))
