"""Which claims have lost their network; in doubt none."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from nodenet.core.persistent_ips.unplug import FINALIZER, Machine, Unplugged, machine, unplugged

VM = {
    "metadata": {"namespace": "team", "name": "vm-a", "uid": "v1"},
    "spec": {
        "template": {
            "spec": {
                "networks": [{"name": "default"}, {"name": "Blue_Net"}],
                "domain": {"devices": {"interfaces": [{"name": "default"}, {"name": "Blue_Net"}]}},
            }
        }
    },
}
CLAIM: dict[str, Any] = {
    "metadata": {
        "namespace": "team",
        "name": "vm-a.red",
        "uid": "c1",
        "resourceVersion": "5",
        "labels": {"kubevirt.io/vm": "vm-a"},
        "finalizers": [FINALIZER],
        "ownerReferences": [
            {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": "vm-a", "uid": "v1", "controller": True}
        ],
    },
    "status": {"ips": ["192.0.2.7/24"], "ownerPod": {"name": "virt-launcher-vm-a"}},
}
MACHINE = Machine("team", "vm-a", "v1", deleting=False, networks=frozenset({"default", "Blue_Net"}))


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    made = copy.deepcopy(CLAIM)
    change(made)
    return made


def test_a_machine() -> None:
    assert machine(VM) == MACHINE


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        {},
        {"metadata": VM["metadata"], "spec": {}},
        {"metadata": VM["metadata"], "spec": {"template": {"spec": {"networks": "x"}}}},
    ],
)
def test_a_machine_that_cannot_be_understood_is_left_out(document: object) -> None:
    """Its claims have no known machine then, and stay."""
    assert machine(document) is None


def test_an_interface_that_is_still_there_counts_as_its_network() -> None:
    document = copy.deepcopy(VM)
    document["spec"]["template"]["spec"]["networks"] = [{"name": "default"}]  # type: ignore[index]
    found = machine(document)
    assert found is not None
    assert "Blue_Net" in found.networks


def test_a_claim_without_its_network() -> None:
    assert list(unplugged([CLAIM], [MACHINE])) == [
        Unplugged("team", "vm-a.red", "c1", "5", "virt-launcher-vm-a", (FINALIZER,))
    ]


STAYS: dict[str, Callable[[dict[str, Any]], object]] = {
    "the network is there": lambda claim: claim["metadata"].update(name="vm-a.blue.net"),
    "the network is there under another spelling": lambda claim: claim["metadata"].update(name="vm-a.blue-net"),
    "no owner": lambda claim: claim["metadata"].pop("ownerReferences"),
    "the owner is no machine": lambda claim: claim["metadata"]["ownerReferences"][0].update(
        kind="VirtualMachineInstance"
    ),
    "the owner is of another group": lambda claim: claim["metadata"]["ownerReferences"][0].update(apiVersion="x/v1"),
    "the owner does not control it": lambda claim: claim["metadata"]["ownerReferences"][0].update(controller=False),
    "the machine is not known": lambda claim: claim["metadata"]["ownerReferences"][0].update(uid="v2"),
    "it is being deleted": lambda claim: claim["metadata"].update(deletionTimestamp="now"),
    "another namespace": lambda claim: claim["metadata"].update(namespace="other"),
    "not made by the controller: no label": lambda claim: claim["metadata"].pop("labels"),
    "not made by the controller: its name": lambda claim: claim["metadata"].update(name="my-claim"),
    "no version": lambda claim: claim["metadata"].pop("resourceVersion"),
    "nonsense": lambda claim: claim.update(metadata=[]),
}


@pytest.mark.parametrize("change", STAYS.values(), ids=STAYS)
def test_in_doubt_a_claim_stays(change: Callable[[dict[str, Any]], object]) -> None:
    assert list(unplugged([changed(change)], [MACHINE])) == []


def test_a_machine_that_is_being_deleted_takes_its_claims_with_it() -> None:
    deleting = Machine("team", "vm-a", "v1", deleting=True, networks=frozenset())
    assert list(unplugged([CLAIM], [deleting])) == []


def test_a_name_that_was_cut_is_compared_as_far_as_it_goes() -> None:
    network = "n" * 300
    name = f"vm-a.{network}"[:253]
    long = Machine("team", "vm-a", "v1", deleting=False, networks=frozenset({network}))
    assert list(unplugged([changed(lambda claim: claim["metadata"].update(name=name))], [long])) == []
    assert len(list(unplugged([CLAIM], [long]))) == 1


def test_a_claim_without_status_and_finalizers() -> None:
    bare = changed(lambda claim: (claim.pop("status"), claim["metadata"].pop("finalizers")))
    (found,) = unplugged([bare], [MACHINE])
    assert (found.pod, found.finalizers) == ("", ())
